"""A pop removes a message from the queue: at most once."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import duerow
from duerow import Database, Draft, Queue
from duerow.errors import ConfigurationError, InvalidMessage
from duerow.testing.clock import MovableClock, hours, microseconds, minutes, seconds
from duerow.testing.conformance.fixtures import Place
from duerow.testing.contents import everything, take_all


def test_a_popped_message_is_gone_and_counts_as_one_attempt(db: Database, queue: Queue, clock: MovableClock) -> None:
    pushed = queue.push({"n": 1}, key="m-1", headers={"a": 1}, delay=minutes(1))
    clock.advance(minutes(2))
    message = queue.pop()
    assert message is not None
    assert (message.id, message.payload, message.key, message.headers) == (pushed.id, {"n": 1}, "m-1", {"a": 1})
    assert (message.attempts, message.status) == (1, "new")
    assert everything(db) == []
    assert queue.pop() is None


def test_nothing_is_popped_from_an_empty_queue(queue: Queue) -> None:
    assert queue.pop() is None
    assert queue.pop_many(10) == []


def test_messages_are_popped_oldest_due_first_and_by_id_among_equals(queue: Queue, clock: MovableClock) -> None:
    delays = [3, 1, 2, 1, 3]
    queue.push_many([Draft(place, delay=seconds(delay)) for place, delay in enumerate(delays)])
    clock.advance(minutes(1))
    assert take_all(queue) == [1, 3, 2, 0, 4]


def test_at_most_as_many_are_popped_as_were_asked_for(queue: Queue) -> None:
    queue.push_many([Draft(place) for place in range(5)])
    assert [message.payload for message in queue.pop_many(3)] == [0, 1, 2]
    assert [message.payload for message in queue.pop_many(3)] == [3, 4]


def test_a_delayed_message_is_not_popped_before_its_time(queue: Queue, clock: MovableClock) -> None:
    queue.push("later", delay=hours(1))
    clock.advance(hours(1) - microseconds(1))
    assert queue.pop() is None
    clock.advance(microseconds(1))
    assert queue.pop() is not None


def test_a_leased_message_is_not_popped_until_its_lease_ends(queue: Queue, clock: MovableClock) -> None:
    queue.push("hello")
    queue.reserve(lease=minutes(1))
    assert queue.pop() is None
    clock.advance(minutes(1))
    message = queue.pop()
    assert message is not None
    assert message.attempts == 2


def test_a_pop_with_a_timeout_gives_up_when_nothing_comes(queue: Queue) -> None:
    queue.push("later", delay=hours(1))
    assert queue.pop(timeout=seconds(0.05)) is None


def test_a_pop_with_a_timeout_takes_what_is_there_at_once(queue: Queue) -> None:
    queue.push("hello")
    message = queue.pop(timeout=hours(1))
    assert message is not None


def test_a_pop_that_waits_takes_what_another_handle_pushes(queue: Queue, place: Place, clock: MovableClock) -> None:
    def push() -> None:
        with duerow.connect(place.url, clock=clock, **place.settings) as another:
            another.queue("mail").push("hello")

    pushing = threading.Timer(0.1, push)
    pushing.start()
    try:
        message = queue.pop(timeout=seconds(60))
    finally:
        pushing.join()
    assert message is not None
    assert message.payload == "hello"


def test_a_pop_that_would_wait_within_a_transaction_is_refused(db: Database, queue: Queue) -> None:
    queue.push("hello")
    with pytest.raises(ConfigurationError, match="timeout"):
        queue.pop(timeout=seconds(1), within=object())
    with pytest.raises(InvalidMessage, match="timeout"):
        db.queue("empty").pop(timeout=seconds(-1))
    assert queue.count() == 1


def test_how_many_to_take_is_a_positive_integer(queue: Queue) -> None:
    queue.push("hello")
    numbers: list[Any] = [0, -1, 1.5, "3", None, True]
    for n in numbers:
        for take in (queue.pop_many, queue.reserve_many, queue.peek):
            with pytest.raises(ConfigurationError, match="integer of at least 1"):
                take(n)
    assert [message.attempts for message in queue.find()] == [0]
