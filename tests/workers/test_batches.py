"""A handler of whole batches is given many messages at once, and each ends in its own way."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from duerow import Bury, Commit, Draft, Message, Retry, current, fixed, limited
from duerow.errors import ConfigurationError, DuerowError
from duerow.testing.worker_harness import Gate, Workshop
from duerow.worker.attempt import Attempt

AT_ONCE = fixed(timedelta(0))
ONCE = limited(1, AT_ONCE)


@pytest.mark.parametrize("raised", [ValueError("all of them"), Bury("all of them"), Retry(timedelta(0))])
def test_what_is_raised_is_the_outcome_of_every_message(shop: Workshop, raised: Exception) -> None:
    shop.queue.push_many([Draft(number) for number in range(5)])

    async def handle(messages: list[Message]) -> None:
        raise raised

    shop.work(handle, whole_batch=True, retry=ONCE)
    left = shop.queue.find()
    assert [(one.payload, one.status, one.attempts) for one in left] == [(number, "dead", 1) for number in range(5)]


NONSENSE: dict[str, tuple[Any, str]] = {
    "too few entries": ([None] * 4, "batch of 5 returned 4 outcomes"),
    "too many entries": ([None] * 6, "batch of 5 returned 6 outcomes"),
    "no list": (True, "batch of 5 returned True"),
    "a settlement for all": (Commit(), "batch of 5 returned Commit"),
    "entries by id": ({1: None}, r"batch of 5 returned \{1: None\}"),
    "entries that are none": ([True, "done", 7, [1], object], "gave .* as its outcome"),
}


@pytest.mark.parametrize("what", NONSENSE)
def test_nonsense_is_a_failed_attempt_that_says_what_was_returned(shop: Workshop, what: str) -> None:
    outcome, text = NONSENSE[what]
    shop.queue.push_many([Draft(number) for number in range(5)])

    async def handle(messages: list[Message]) -> Any:
        return outcome

    shop.work(handle, whole_batch=True, retry=ONCE)
    left = shop.queue.find()
    assert [(one.payload, one.status) for one in left] == [(number, "dead") for number in range(5)]
    for message in left:
        assert message.last_error is not None
        assert message.last_error.type == "InvalidOutcome"
        with pytest.raises(AssertionError, match=text):
            raise AssertionError(message.last_error.message)


def test_nonsense_for_one_message_fails_that_one_alone(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number) for number in range(5)])

    async def handle(messages: list[Message]) -> list[Any]:
        return ["done" if message.payload == 3 else None for message in messages]

    shop.work(handle, whole_batch=True, retry=ONCE)
    assert [(one.payload, one.status) for one in shop.queue.find()] == [(3, "dead")]


def test_a_handler_asks_for_the_attempt_of_each_message(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number) for number in range(5)])
    asked: list[Any] = []

    async def handle(messages: list[Message]) -> None:
        asked.extend((message, current(message)) for message in messages)
        with pytest.raises(ConfigurationError, match=r"batch of 5.*current\(message\)"):
            current()

    shop.work(handle, whole_batch=True)
    assert len(asked) == 5
    for message, attempt in asked:
        assert isinstance(attempt, Attempt)
        assert attempt.message is message
    assert current(asked[0][0]) is None


def test_a_batch_that_takes_too_long_has_failed_whole_and_each_attempt_is_told(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number) for number in range(5)])
    told: list[Attempt | None] = []
    gate = Gate()

    async def handle(messages: list[Message]) -> None:
        told.extend(current(message) for message in messages)
        await gate.passed()

    shop.work(handle, "empty", whole_batch=True, timeout=timedelta(milliseconds=50), retry=ONCE)
    gate.open()
    left = shop.queue.find()
    assert [(one.payload, one.status) for one in left] == [(number, "dead") for number in range(5)]
    assert {one.last_error.type for one in left if one.last_error} == {"TimedOut"}
    assert [attempt.over for attempt in told if attempt] == [True] * 5


@pytest.mark.parametrize(
    ("terms", "name"),
    [({"whole_batch": "yes"}, "whole_batch"), ({"whole_batch": True, "batch": 0}, "batch")],
)
def test_settings_that_make_no_sense_are_refused(shop: Workshop, terms: dict[str, Any], name: str) -> None:
    async def handle(messages: list[Message]) -> None:
        raise AssertionError("nothing is begun")

    with pytest.raises(DuerowError, match=name):
        shop.work(handle, **terms)
