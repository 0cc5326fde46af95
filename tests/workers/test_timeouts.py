"""A handler that takes too long has failed, and others go on in its place."""

from __future__ import annotations

from datetime import timedelta

from duerow import Message, fixed, limited
from duerow.errors import TimedOut
from duerow.testing.worker_harness import Gate, Workshop, eventually
from duerow.worker.attempt import Attempt, current

TIMEOUT = timedelta(milliseconds=50)
ONCE = limited(1, fixed(timedelta(0)))


def test_its_handler_is_told_and_what_it_still_does_is_dropped(shop: Workshop) -> None:
    pushed = shop.queue.push("hangs")
    attempts: list[Attempt | None] = []
    gate, ended = Gate(), Gate()

    async def handle(message: Message) -> None:
        attempts.append(current())
        try:
            await gate.passed()
        finally:
            ended.open()

    running = shop.start(handle, timeout=TIMEOUT, retry=ONCE)
    eventually(lambda: shop.queue.count("dead") == 1)
    (attempt,) = attempts
    assert attempt is not None
    assert isinstance(attempt.error, TimedOut)
    token = shop.queue.get(pushed.id).token  # type: ignore[union-attr]
    gate.open()
    ended.block()  # an async one ended by itself: it was cancelled
    running.stop()
    running.join()
    message = shop.queue.get(pushed.id)
    assert message is not None
    assert (message.status, message.token) == ("dead", token)


def test_an_async_handler_is_cancelled(shop: Workshop) -> None:
    if not shop.is_async:
        return
    shop.queue.push("hangs")
    never, cleaned_up = Gate(), Gate()

    async def handle(message: Message) -> None:
        try:
            await never.passed()
        finally:
            cleaned_up.open()

    shop.work(handle, "empty", timeout=TIMEOUT, retry=ONCE)
    cleaned_up.block()


def test_each_attempt_has_the_whole_time(shop: Workshop) -> None:
    shop.queue.push("hangs")
    never = Gate()
    tries: list[int] = []

    async def handle(message: Message) -> None:
        tries.append(message.attempts)
        await never.passed()

    shop.work(handle, "empty", timeout=TIMEOUT, retry=limited(3, fixed(timedelta(0))))
    assert tries == [1, 2, 3]
    assert shop.queue.count("dead") == 1
    never.open()
