"""A worker for jobs and tests ends by itself: when nothing is due, or when nothing will be."""

from __future__ import annotations

from datetime import timedelta

import pytest

from duerow import Draft, Message, fixed
from duerow.errors import ConfigurationError
from duerow.testing.worker_harness import Gate, Workshop, eventually

HOUR = timedelta(hours=1)
SOON = timedelta(milliseconds=10)


def test_until_idle_ends_at_once_on_an_empty_queue(shop: Workshop) -> None:
    async def handle(message: Message) -> None:
        raise AssertionError("there is nothing to handle")

    shop.work(handle, "idle")


@pytest.mark.parametrize("batch", [1, 10])
def test_until_idle_leaves_what_is_not_due_yet(timeless: Workshop, batch: int) -> None:
    timeless.queue.push_many([Draft("now"), Draft("later", delay=HOUR)])
    seen: list[str] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    timeless.work(handle, "idle", batch=batch)
    assert seen == ["now"]
    assert timeless.queue.count() == 1


@pytest.mark.parametrize("batch", [1, 10])
def test_until_idle_waits_for_what_is_in_hand_since_it_may_be_due_again(shop: Workshop, batch: int) -> None:
    shop.queue.push_many([Draft("first"), Draft("second")])
    begun, gate = Gate(), Gate()
    seen: list[tuple[str, int]] = []

    async def handle(message: Message) -> None:
        seen.append((message.payload, message.attempts))
        if (message.payload, message.attempts) == ("first", 1):
            begun.open()
            await gate.passed()
            raise ValueError("again")

    running = shop.start(handle, "idle", batch=batch, concurrency=2, retry=fixed(timedelta(0)))
    begun.block()
    eventually(lambda: len(seen) == 2)
    gate.open()
    running.join()
    assert sorted(seen) == [("first", 1), ("first", 2), ("second", 1)]
    assert shop.queue.count() == 0


@pytest.mark.parametrize("batch", [1, 10])
def test_until_empty_waits_for_delayed_messages(timeless: Workshop, batch: int) -> None:
    timeless.queue.push_many([Draft("now"), Draft("later", delay=HOUR)])
    seen: list[str] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    running = timeless.start(handle, "empty", batch=batch, poll=SOON)
    eventually(lambda: timeless.queue.count() == 1)
    timeless.settings["clock"].advance(HOUR)
    running.join()
    assert seen == ["now", "later"]


def test_until_empty_waits_for_what_another_consumer_has(timeless: Workshop) -> None:
    timeless.queue.push("hello")
    taken = timeless.queue.reserve()
    seen: list[int] = []

    async def handle(message: Message) -> None:
        seen.append(message.attempts)

    assert taken is not None
    running = timeless.start(handle, "empty", poll=SOON)
    timeless.queue.extend(taken, HOUR)
    timeless.settings["clock"].advance(HOUR)
    running.join()
    assert seen == [2]


def test_until_empty_leaves_the_dead_alone(shop: Workshop) -> None:
    shop.queue.push("hello")
    taken = shop.queue.reserve()
    assert taken is not None
    shop.queue.bury(taken, "no use")

    async def handle(message: Message) -> None:
        raise AssertionError("it is dead")

    shop.work(handle, "empty")
    assert shop.queue.count("dead") == 1


def test_what_is_due_again_at_once_is_handled_before_the_worker_is_idle(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number) for number in range(30)])

    async def handle(message: Message) -> None:
        if message.attempts < 4:
            raise ValueError("again")

    shop.work(handle, "idle", retry=fixed(timedelta(0)), batch=10, concurrency=4)
    assert shop.queue.count() == 0


def test_no_other_end_is_known(shop: Workshop) -> None:
    async def handle(message: Message) -> None: ...

    with pytest.raises(ConfigurationError, match="'idle'"):
        shop.work(handle, "done")
