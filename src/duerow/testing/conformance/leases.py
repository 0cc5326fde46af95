"""A lease ends after its time; until then nobody else gets the message, and the lease can be extended."""

from __future__ import annotations

from typing import Any

import pytest

from duerow import Database, Draft, Queue
from duerow.errors import InvalidMessage, LeaseLost
from duerow.testing.clock import MovableClock, hours, microseconds, minutes, seconds
from duerow.testing.contents import everything, lost, stored


def test_when_the_lease_ends_the_message_is_due_again(queue: Queue, clock: MovableClock) -> None:
    queue.push("hello")
    first = queue.reserve(lease=minutes(1))
    clock.advance(minutes(1))
    second = queue.reserve(lease=minutes(1))
    assert first is not None
    assert second is not None
    assert (second.message.id, second.attempt) == (first.message.id, 2)
    with pytest.raises(LeaseLost):
        queue.commit(first)
    queue.commit(second)


def test_until_the_lease_ends_nobody_else_gets_the_message(queue: Queue, clock: MovableClock) -> None:
    queue.push("hello")
    queue.reserve(lease=minutes(1))
    clock.advance(minutes(1) - microseconds(1))
    assert queue.reserve() is None


def test_a_message_whose_lease_ended_stands_in_line_at_the_end_of_that_lease(queue: Queue, clock: MovableClock) -> None:
    queue.push("lost")
    queue.reserve(lease=minutes(1))
    queue.push("before", delay=minutes(1) - microseconds(1))
    queue.push("after", delay=minutes(1) + microseconds(1))
    clock.advance(hours(1))
    reservations = queue.reserve_many(3)
    assert [one.message.payload for one in reservations] == ["before", "lost", "after"]
    assert reservations[1].message.due_at == clock.now() - hours(1) + minutes(1)


def test_an_ended_lease_is_recorded_when_the_message_is_lent_again(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail")
    queue.push("hello")
    first = queue.reserve(lease=minutes(1))
    assert first is not None
    clock.advance(hours(1))
    second = queue.reserve()
    assert second is not None
    error = second.message.last_error
    assert error is not None
    assert error.type == "LeaseEnded"
    ended = f"{first.until:%Y-%m-%d %H:%M:%S}"
    assert (
        error.message
        == f"was in hand when its worker died: lease of {first.message.leased_by} ended at {ended} UTC, attempt 1 of 20"
    )
    assert stored(queue, second.message.id).last_error == error
    assert second.message.status == "new"


def test_a_settled_turn_leaves_no_ended_lease_behind(queue: Queue, clock: MovableClock) -> None:
    queue.push("hello")
    first = queue.reserve(lease=minutes(1))
    assert first is not None
    queue.rollback(first, delay=seconds(1), error="no line")
    clock.advance(hours(1))
    second = queue.reserve()
    assert second is not None
    assert second.message.last_error is not None
    assert "no line" in second.message.last_error.message


def test_extending_lets_the_lease_run_from_now_under_the_same_token(queue: Queue, clock: MovableClock) -> None:
    queue.push("hello")
    first = queue.reserve(lease=minutes(1))
    assert first is not None
    clock.advance(seconds(40))
    extended = queue.extend(first, minutes(2))
    assert extended.until == clock.now() + minutes(2)
    assert extended.receipt == first.receipt
    assert stored(queue, first.message.id).leased_until == extended.until
    clock.advance(minutes(2) - microseconds(1))
    assert queue.reserve() is None
    clock.advance(microseconds(1))
    assert queue.reserve() is not None


def test_extending_without_a_span_takes_the_queues_lease(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", lease=minutes(7))
    queue.push("hello")
    reservation = queue.reserve()
    assert reservation is not None
    clock.advance(minutes(1))
    assert queue.extend(reservation).until == clock.now() + minutes(7)


def test_an_extension_may_shorten_a_lease(queue: Queue, clock: MovableClock) -> None:
    queue.push("hello")
    reservation = queue.reserve(lease=hours(1))
    assert reservation is not None
    assert queue.extend(reservation, seconds(1)).until == clock.now() + seconds(1)
    clock.advance(seconds(1))
    assert queue.reserve() is not None


def test_after_an_extension_the_reservation_of_before_still_settles(queue: Queue, clock: MovableClock) -> None:
    queue.push("hello")
    reservation = queue.reserve(lease=minutes(1))
    assert reservation is not None
    queue.extend(reservation, hours(1))
    clock.advance(minutes(2))
    queue.commit(reservation)
    assert queue.count() == 0


def test_an_extension_counts_no_attempt(queue: Queue) -> None:
    pushed = queue.push("hello")
    reservation = queue.reserve()
    assert reservation is not None
    queue.extend(reservation)
    assert (stored(queue, pushed.id).attempts, stored(queue, pushed.id).token) == (1, 1)


def test_many_leases_are_extended_and_the_lost_ones_named(queue: Queue, clock: MovableClock) -> None:
    queue.push_many([Draft(place) for place in range(4)])
    reservations = queue.reserve_many(4, lease=minutes(1))
    queue.commit(reservations[1])
    queue.remove(reservations[2].message.id, even_if_leased=True)
    refused = queue.extend_many(reservations, hours(1))
    assert lost(refused) == {reservations[1].message.id, reservations[2].message.id}
    clock.advance(hours(1) - microseconds(1))
    assert queue.reserve() is None
    clock.advance(microseconds(1))
    assert len(queue.reserve_many(4)) == 2


def test_an_extension_by_what_is_no_span_is_refused(db: Database, queue: Queue) -> None:
    queue.push("hello")
    reservation = queue.reserve()
    assert reservation is not None
    before = everything(db)
    leases: list[Any] = [seconds(0), seconds(-1), 60]
    for lease in leases:
        with pytest.raises(InvalidMessage, match="lease"):
            queue.extend(reservation, lease)
    assert everything(db) == before
