"""A rollback ends the turn as failed: the message is due again after a delay, with its error recorded."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from duerow import Database, Draft, Failure, Queue, fixed, limited
from duerow.errors import InvalidMessage
from duerow.testing.clock import MovableClock, hours, microseconds, minutes, seconds
from duerow.testing.contents import everything, lost, stored


def test_a_rolled_back_message_is_due_again_after_the_delay(queue: Queue, clock: MovableClock) -> None:
    pushed = queue.push("hello", key="m-1")
    reservation = queue.reserve()
    assert reservation is not None
    clock.advance(seconds(5))
    queue.rollback(reservation, delay=minutes(1), error="no line")
    message = stored(queue, pushed.id)
    assert (message.status, message.attempts, message.token) == ("error", 1, 2)
    assert (message.leased_by, message.leased_until) == (None, None)
    assert message.due_at == clock.now() + minutes(1)
    assert message.first_due_at == message.created_at
    clock.advance(minutes(1) - microseconds(1))
    assert queue.reserve() is None
    clock.advance(microseconds(1))
    again = queue.reserve()
    assert again is not None
    assert (again.message.id, again.attempt, again.message.status) == (pushed.id, 2, "error")


def test_a_message_rolled_back_without_delay_is_due_at_once(queue: Queue) -> None:
    queue.push("hello")
    reservation = queue.reserve()
    assert reservation is not None
    queue.rollback(reservation, delay=seconds(0))
    assert queue.reserve() is not None


def test_the_queues_policy_gives_the_delay(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", retry=lambda attempt, started_at, error: minutes(attempt * 10))
    queue.push("hello")
    for attempt in (1, 2, 3):
        reservation = queue.reserve()
        assert reservation is not None
        queue.rollback(reservation)
        due_at = stored(queue, reservation.message.id).due_at
        assert due_at == clock.now() + minutes(attempt * 10)
        clock.advance(hours(1))


def test_a_policy_knows_the_attempt_when_it_began_and_its_error(db: Database, clock: MovableClock) -> None:
    seen: list[tuple[object, ...]] = []

    def policy(*failed: object) -> timedelta:
        seen.append(failed)
        return seconds(0)

    queue = db.queue("mail", retry=policy)
    queue.push("hello")
    reservation = queue.reserve()
    assert reservation is not None
    began, error = clock.now(), ValueError("no line")
    clock.advance(seconds(5))
    queue.rollback(reservation, error=error)
    assert seen == [(1, began, error)]


def test_when_the_policy_gives_no_delay_the_message_is_dead(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", retry=limited(2, fixed(minutes(1))))
    pushed = queue.push("hello", key="m-1")
    for _ in range(2):
        reservation = queue.reserve()
        assert reservation is not None
        queue.rollback(reservation, error="no line")
        clock.advance(minutes(1))
    message = stored(queue, pushed.id)
    assert (message.status, message.due_at, message.attempts) == ("dead", None, 2)
    assert message.last_error is not None
    assert "no line" in message.last_error.message
    assert queue.reserve() is None
    assert not queue.contains("m-1")


def test_a_delay_given_by_hand_beyond_the_limit_lends_the_message_once_more(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", retry=limited(1, fixed(minutes(1))))
    queue.push("hello")
    reservation = queue.reserve()
    assert reservation is not None
    queue.rollback(reservation, delay=minutes(1))
    clock.advance(minutes(1))
    again = queue.reserve()
    assert again is not None
    assert again.attempt == 2


def test_the_error_names_its_type_and_the_whole_chain_of_causes(queue: Queue) -> None:
    queue.push("hello")
    reservation = queue.reserve()
    assert reservation is not None
    try:
        try:
            raise ConnectionError("gateway said no")
        except ConnectionError as cause:
            raise RuntimeError("cannot send") from cause
    except RuntimeError as error:
        queue.rollback(reservation, error=error)
    kept = stored(queue, reservation.message.id).last_error
    assert kept is not None
    assert kept.type == "RuntimeError"
    assert "cannot send" in kept.message
    assert "ConnectionError: gateway said no" in kept.message
    assert kept.traceback is not None
    assert "test_the_error_names_its_type" in kept.traceback


def test_an_endless_error_is_kept_up_to_a_bound(queue: Queue) -> None:
    queue.push("hello")
    reservation = queue.reserve()
    assert reservation is not None
    try:
        raise ValueError("x" * 10_000_000)
    except ValueError as error:
        queue.rollback(reservation, error=error)
    kept = stored(queue, reservation.message.id).last_error
    assert kept is not None
    assert len(kept.message) + len(kept.traceback or "") < 20_000


def test_whatever_the_errors_text_it_is_recorded(db: Database) -> None:
    queue = db.queue("mail", retry=fixed(seconds(0)))
    queue.push("hello")
    for text in ("no line", "a\0b", "\ud800", "", "€" * 5000, '"{}\\'):
        reservation = queue.reserve()
        assert reservation is not None
        queue.rollback(reservation, error=ValueError(text))
        kept = stored(queue, reservation.message.id).last_error
        assert kept is not None
        assert kept.type == "ValueError"
        assert queue.peek()[0].last_error == kept


def test_an_error_may_be_a_text_or_a_failure(queue: Queue) -> None:
    queue.push_many([Draft(1), Draft(2)])
    by_text, by_failure = queue.reserve_many(2)
    queue.rollback(by_text, error="no line")
    queue.rollback(by_failure, error=Failure("Busy", "no line", "line 1"))
    first = stored(queue, by_text.message.id).last_error
    assert first is not None
    assert first.message == "no line"
    assert stored(queue, by_failure.message.id).last_error == Failure("Busy", "no line", "line 1")


def test_many_are_rolled_back_at_once_each_by_its_own_attempts(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", retry=limited(2, fixed(minutes(1))))
    first = queue.push("first")
    one = queue.reserve()
    assert one is not None
    queue.rollback(one, delay=seconds(0))
    second = queue.push("second")
    assert queue.rollback_many(queue.reserve_many(2), error="no line") == []
    assert stored(queue, first.id).status == "dead"
    assert (stored(queue, second.id).status, stored(queue, second.id).due_at) == ("error", clock.now() + minutes(1))


def test_of_many_rolled_back_the_lost_ones_are_named(queue: Queue) -> None:
    queue.push_many([Draft(place) for place in range(3)])
    reservations = queue.reserve_many(3)
    queue.commit(reservations[1])
    assert lost(queue.rollback_many(reservations, delay=minutes(1))) == {reservations[1].message.id}
    assert queue.count("error") == 2


def test_a_rollback_by_what_is_no_delay_is_refused(db: Database, queue: Queue) -> None:
    queue.push("hello")
    reservation = queue.reserve()
    assert reservation is not None
    before = everything(db)
    delays: list[Any] = [seconds(-1), 60, "1 minute"]
    for delay in delays:
        with pytest.raises(InvalidMessage, match="delay"):
            queue.rollback(reservation, delay=delay)
    assert everything(db) == before
    queue.commit(reservation)
