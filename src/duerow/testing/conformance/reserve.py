"""A reserve leases the oldest due messages to one consumer until now + lease, and counts the attempt."""

from __future__ import annotations

import os
import re
import socket
from typing import Any

import pytest

from duerow import Database, Draft, Queue
from duerow.errors import InvalidMessage, NotSupported
from duerow.testing.clock import MovableClock, hours, microseconds, minutes, seconds
from duerow.testing.conformance.fixtures import OpenDatabase
from duerow.testing.contents import everything, stored


def test_a_reserved_message_says_what_it_is_and_until_when_it_is_lent(queue: Queue, clock: MovableClock) -> None:
    pushed = queue.push({"to": "me"}, key="m-1", headers={"a": 1}, delay=minutes(1))
    place_in_line = clock.now() + minutes(1)
    clock.advance(minutes(2))
    reservation = queue.reserve(lease=seconds(30))
    assert reservation is not None
    message = reservation.message
    assert (message.id, message.payload, message.key, message.headers) == (pushed.id, {"to": "me"}, "m-1", {"a": 1})
    assert (message.status, message.attempts, message.token) == ("new", 1, 1)
    assert (message.due_at, message.first_due_at) == (place_in_line, place_in_line)
    assert message.last_attempt_at == clock.now()
    assert reservation.until == message.leased_until == clock.now() + seconds(30)
    assert (reservation.attempt, reservation.receipt.id, reservation.receipt.token) == (1, pushed.id, 1)


def test_the_store_shows_who_has_a_message_and_until_when(queue: Queue, clock: MovableClock) -> None:
    pushed = queue.push("hello")
    reservation = queue.reserve(lease=seconds(30))
    assert reservation is not None
    message = stored(queue, pushed.id)
    assert message.leased_by == reservation.message.leased_by
    assert message.leased_until == clock.now() + seconds(30)
    assert (message.attempts, message.token, message.last_attempt_at) == (1, 1, clock.now())


def test_a_lease_is_a_minute_unless_the_queue_or_the_call_says_otherwise(db: Database, clock: MovableClock) -> None:
    db.queue("mail").push_many([Draft(1), Draft(2), Draft(3)])
    by_default = db.queue("mail").reserve()
    by_queue = db.queue("mail", lease=minutes(5)).reserve()
    by_call = db.queue("mail", lease=minutes(5)).reserve(lease=seconds(1))
    leases = [one.until - clock.now() for one in (by_default, by_queue, by_call) if one is not None]
    assert leases == [minutes(1), minutes(5), seconds(1)]


def test_nothing_is_reserved_from_an_empty_queue(queue: Queue) -> None:
    assert queue.reserve() is None
    assert queue.reserve_many(10) == []


def test_messages_are_lent_oldest_due_first_and_by_id_among_equals(queue: Queue, clock: MovableClock) -> None:
    delays = [3, 1, 2, 1, 3, 0]
    queue.push_many([Draft(place, delay=seconds(delay)) for place, delay in enumerate(delays)])
    clock.advance(minutes(1))
    first = queue.reserve_many(3)
    rest = queue.reserve_many(10)
    assert [one.message.payload for one in first + rest] == [5, 1, 3, 2, 0, 4]


def test_the_order_is_by_due_time_and_not_by_id_nor_by_key_nor_by_payload(queue: Queue, clock: MovableClock) -> None:
    queue.push("a", key="a", delay=seconds(2))
    queue.push("b", key="c", delay=seconds(1))
    queue.push("c", key="b", delay=seconds(1) + microseconds(1))
    clock.advance(seconds(2))
    assert [one.message.payload for one in queue.reserve_many(3)] == ["b", "c", "a"]


def test_at_most_as_many_are_lent_as_were_asked_for(queue: Queue) -> None:
    queue.push_many([Draft(place) for place in range(5)])
    assert [one.message.payload for one in queue.reserve_many(3)] == [0, 1, 2]
    assert [one.message.payload for one in queue.reserve_many(3)] == [3, 4]


def test_a_message_becomes_due_by_the_passing_of_time_alone(queue: Queue, clock: MovableClock) -> None:
    queue.push("later", delay=hours(1))
    clock.advance(hours(1) - microseconds(1))
    assert queue.reserve() is None
    clock.advance(microseconds(1))
    assert queue.reserve() is not None


def test_a_clock_set_back_delays_and_never_doubles(queue: Queue, clock: MovableClock) -> None:
    queue.push_many([Draft("taken"), Draft("waiting")])
    taken = queue.reserve()
    clock.advance(hours(-1))
    assert queue.reserve() is None
    clock.advance(hours(1))
    waiting = queue.reserve()
    assert taken is not None
    assert waiting is not None
    assert (taken.message.payload, waiting.message.payload) == ("taken", "waiting")
    assert queue.commit_many([taken, waiting]) == []


def test_a_message_is_lent_to_one_consumer_alone(queue: Queue, open_database: OpenDatabase) -> None:
    queue.push_many([Draft(place) for place in range(20)])
    handles = [queue, open_database().queue("mail"), open_database().queue("mail")]
    lent = [one.message.id for _ in range(4) for handle in handles for one in handle.reserve_many(2)]
    assert len(lent) == len(set(lent)) == 20


def test_only_messages_of_this_queue_are_lent(queue: Queue, other: Queue) -> None:
    other.push("another's")
    queue.push("mine")
    assert [one.message.payload for one in queue.reserve_many(10)] == ["mine"]


def test_each_call_has_a_claim_of_its_own_that_names_host_and_process(queue: Queue) -> None:
    queue.push_many([Draft(place) for place in range(4)])
    first, second = queue.reserve_many(2), queue.reserve_many(2)
    claims = [one.message.leased_by for one in first + second]
    assert claims[0] == claims[1] != claims[2] == claims[3]
    expected = rf"{re.escape(socket.gethostname())}:{os.getpid()}:[^/]*/\w+"
    assert all(re.fullmatch(expected, claim or "") for claim in claims)


def test_a_consumer_may_give_its_own_name(queue: Queue) -> None:
    pushed = queue.push("hello")
    queue.reserve_many(1, consumer="here:1:spark/abc")
    assert stored(queue, pushed.id).leased_by == "here:1:spark/abc"


def test_a_large_batch_is_lent_in_order(queue: Queue, crowd: int) -> None:
    queue.push_many(Draft(place) for place in range(crowd))
    lent = queue.reserve_many(crowd)
    assert [one.message.payload for one in lent] == list(range(crowd))
    assert queue.reserve() is None
    assert queue.commit_many(lent) == []
    assert queue.count() == 0


def test_a_lease_that_is_none_is_refused_and_nothing_is_lent(db: Database, queue: Queue) -> None:
    queue.push("hello")
    before = everything(db)
    leases: list[Any] = [seconds(0), seconds(-1), microseconds(1), 60, "1 minute"]
    for lease in leases:
        with pytest.raises(InvalidMessage, match="lease"):
            queue.reserve(lease=lease)
        with pytest.raises(InvalidMessage, match="lease"):
            db.queue("mail", lease=lease)
    assert everything(db) == before


def test_a_reserve_within_a_transaction_is_refused(db: Database, queue: Queue) -> None:
    queue.push("hello")
    before = everything(db)
    with pytest.raises(NotSupported, match=r"pop\(within"):
        queue.reserve(within=object())
    assert everything(db) == before
