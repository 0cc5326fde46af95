"""A release gives back a message that was not started, unchanged."""

from __future__ import annotations

import pytest

from duerow import Draft, Queue
from duerow.errors import LeaseLost
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.contents import lost, stored


def test_a_released_message_has_its_due_time_and_attempts_of_before(queue: Queue, clock: MovableClock) -> None:
    pushed = queue.push("hello", delay=seconds(3))
    due_at = clock.now() + seconds(3)
    clock.advance(minutes(1))
    reservation = queue.reserve()
    assert reservation is not None
    clock.advance(seconds(1))
    queue.release(reservation)
    message = stored(queue, pushed.id)
    assert (message.due_at, message.first_due_at, message.attempts, message.token) == (due_at, due_at, 0, 2)
    assert (message.status, message.leased_by, message.leased_until) == ("new", None, None)


def test_a_released_message_keeps_its_place_in_line(queue: Queue, clock: MovableClock) -> None:
    queue.push_many([Draft(place, delay=seconds(place)) for place in range(4)])
    clock.advance(minutes(1))
    reservations = queue.reserve_many(3)
    clock.advance(minutes(1))
    queue.release(reservations[2])
    queue.release(reservations[0])
    queue.release(reservations[1])
    assert [one.message.payload for one in queue.reserve_many(4)] == [0, 1, 2, 3]


def test_a_message_released_after_an_extension_has_its_place_too(queue: Queue, clock: MovableClock) -> None:
    pushed = queue.push("hello")
    due_at = clock.now()
    reservation = queue.reserve()
    assert reservation is not None
    clock.advance(seconds(1))
    extended = queue.extend(reservation, hours(1))
    queue.release(extended)
    assert stored(queue, pushed.id).due_at == due_at
    assert queue.reserve() is not None


def test_a_released_message_that_failed_before_still_says_so(queue: Queue, clock: MovableClock) -> None:
    pushed = queue.push("hello")
    first = queue.reserve()
    assert first is not None
    queue.rollback(first, delay=minutes(1), error="no line")
    failed = stored(queue, pushed.id)
    clock.advance(minutes(5))
    second = queue.reserve()
    assert second is not None
    queue.release(second)
    message = stored(queue, pushed.id)
    assert (message.status, message.attempts, message.due_at) == ("error", 1, failed.due_at)
    assert message.last_error == failed.last_error


def test_releasing_again_and_again_uses_up_no_attempts(queue: Queue, scale: int) -> None:
    pushed = queue.push("hello")
    for turn in range(12 * scale):
        reservation = queue.reserve()
        assert reservation is not None
        assert reservation.attempt == 1
        assert reservation.receipt.token == 2 * turn + 1
        queue.release(reservation)
    assert stored(queue, pushed.id).attempts == 0


def test_a_lease_given_back_is_over_for_its_holder(queue: Queue) -> None:
    queue.push("hello")
    reservation = queue.reserve()
    assert reservation is not None
    queue.release(reservation)
    with pytest.raises(LeaseLost):
        queue.commit(reservation)


def test_many_are_released_at_once_and_the_lost_ones_named(queue: Queue) -> None:
    queue.push_many([Draft(place) for place in range(4)])
    reservations = queue.reserve_many(4)
    queue.commit(reservations[3])
    assert lost(queue.release_many(reservations)) == {reservations[3].message.id}
    assert [one.message.payload for one in queue.reserve_many(4)] == [0, 1, 2]
