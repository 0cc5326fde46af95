"""A failed attempt is retried according to the retry policy, which may depend on the error."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from duerow import Draft, Message, Retry, bury, by_error, fixed, limited, on, snooze
from duerow.testing.conformance.worker_turns import WAYS
from duerow.testing.worker_harness import Workshop

AT_ONCE = fixed(timedelta(0))


@pytest.mark.parametrize("terms", WAYS)
def test_a_failed_attempt_is_tried_again_until_its_policy_gives_up(shop: Workshop, terms: dict[str, Any]) -> None:
    shop.queue.push_many([Draft(number) for number in range(20)])
    tries: Counter[int] = Counter()

    async def handle(message: Message) -> None:
        tries[message.payload] += 1
        if message.payload in (3, 11):
            raise ValueError(f"cannot handle {message.payload}")

    shop.work(handle, retry=limited(3, AT_ONCE), **terms)
    assert tries == {number: 3 if number in (3, 11) else 1 for number in range(20)}
    dead = shop.queue.find()
    assert [(one.payload, one.status, one.attempts) for one in dead] == [(3, "dead", 3), (11, "dead", 3)]
    assert dead[0].last_error is not None
    assert dead[0].last_error.message == "ValueError: cannot handle 3"
    assert "in handle" in (dead[0].last_error.traceback or "")


def test_the_error_of_a_message_chooses_its_policy(timeless: Workshop) -> None:
    errors = [ValueError("no"), ConnectionResetError("line"), BlockingIOError("not yet"), KeyError("other")]
    timeless.queue.push_many([Draft(number) for number in range(len(errors))])
    now = timeless.settings["clock"].now()

    async def handle(message: Message) -> None:
        raise errors[message.payload]

    minute, hour = timedelta(minutes=1), timedelta(hours=1)
    policy = by_error(
        on(ValueError, bury),
        on(ConnectionError, fixed(minute)),
        on(BlockingIOError, snooze(hour)),
        otherwise=limited(1, fixed(minute)),
    )
    timeless.work(handle, retry=policy)
    left = {one.payload: (one.status, one.due_at) for one in timeless.queue.find()}
    assert left == {0: ("dead", None), 1: ("dead", None), 2: ("error", now + hour), 3: ("dead", None)}


@pytest.mark.parametrize("way", ["returned", "raised"])
def test_retry_says_when_the_next_attempt_is_due(timeless: Workshop, way: str) -> None:
    pushed = timeless.queue.push("hello")

    async def handle(message: Message) -> Any:
        wish = Retry(after=timedelta(minutes=7))
        if way == "raised":
            raise wish
        return wish

    timeless.work(handle)
    message = timeless.queue.get(pushed.id)
    assert message is not None
    assert (message.status, message.attempts) == ("error", 1)
    assert message.due_at == timeless.settings["clock"].now() + timedelta(minutes=7)


def test_a_retry_that_does_not_count_outlasts_the_limit(shop: Workshop) -> None:
    shop.queue.push("hello")

    async def handle(message: Message) -> None:
        if message.attempts < 5:
            raise Retry(after=timedelta(0), counts=False)

    shop.work(handle, retry=limited(2, AT_ONCE))
    assert shop.queue.count() == 0
