"""What a handler can ask of its attempt."""

from __future__ import annotations

import pytest

import duerow
from duerow.errors import ConfigurationError, LeaseLost
from duerow.worker.attempt import CURRENT, Attempt, current


def attempts(count: int) -> list[Attempt]:
    """Return attempts at so many messages."""
    with duerow.connect("memory://") as database:
        queue = database.queue("mail")
        queue.push_many(duerow.Draft(number) for number in range(count))
        return [Attempt(reservation, 0.0, 0.0) for reservation in queue.reserve_many(count)]


def test_a_handler_of_one_message_has_an_attempt_at_this_message_and_no_other() -> None:
    one, other = attempts(2)
    assert current() is None
    assert current(one.message) is None
    token = CURRENT.set(one)
    try:
        assert current() is current(one.message) is one
        assert current(other.message) is None
    finally:
        CURRENT.reset(token)


def test_a_handler_of_a_batch_names_one_of_its_messages() -> None:
    one, other, stranger = attempts(3)
    token = CURRENT.set({attempt.message.id: attempt for attempt in (one, other)})
    try:
        assert current(one.message) is one
        assert current(other.message) is other
        assert current(stranger.message) is None
        with pytest.raises(ConfigurationError, match=r"batch of 2 messages, .* one of them: current\(message\)$"):
            current()
    finally:
        CURRENT.reset(token)


def test_a_function_that_fails_when_an_attempt_is_over_is_logged_and_the_others_are_called(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(error: Exception) -> None:
        raise ValueError("no such socket")

    [attempt] = attempts(1)
    told: list[Exception] = []
    attempt.when_over(fails)
    attempt.when_over(told.append)
    attempt.tell(LeaseLost(1))
    [record] = caplog.records
    assert record.getMessage() == "a function passed to when_over() failed: ValueError: no such socket"
    assert record.exc_info is not None
    assert [type(error) for error in told] == [LeaseLost]


def test_only_the_first_error_ends_an_attempt() -> None:
    [attempt] = attempts(1)
    told: list[Exception] = []
    attempt.when_over(told.append)
    attempt.tell(LeaseLost(1))
    attempt.tell(ValueError("later"))
    assert [type(error) for error in told] == [LeaseLost]
    with pytest.raises(LeaseLost):
        attempt.check()
