"""What a worker has in hand: what waits, what is handled together, and who ends an attempt."""

from __future__ import annotations

import pytest

import duerow
from duerow import Commit, Release
from duerow.errors import LeaseLost
from duerow.worker.attempt import Attempt
from duerow.worker.in_flight import Ended, InFlight, Slot, by_queue
from duerow.worker.prefetch import Prefetch

MINUTE = 60.0


@pytest.fixture
def in_flight() -> InFlight:
    return InFlight(Prefetch(batch=10, concurrency=2, lease=MINUTE))


def taken(in_flight: InFlight, *queues: str) -> list[Attempt]:
    """Take in a message of each of these queues, in this order, and let them wait."""
    with duerow.connect("memory://") as database:
        handles = {name: database.queue(name) for name in queues}
        for name in queues:
            handles[name].push(name)
        reservations = [handles[name].reserve() for name in queues]
    attempts = in_flight.take_in([one for one in reservations if one is not None], 7.0)
    in_flight.waiting.extend(attempts)
    return attempts


def test_what_is_taken_in_is_held_since_its_claim_and_its_lease_must_be_extended(in_flight: InFlight) -> None:
    one, other = taken(in_flight, "mail", "mail")
    assert (one.claimed_at, one.extended_at) == (7.0, 7.0)
    assert {*in_flight.ours()} == in_flight.held == {one, other}
    other.tell(LeaseLost(2))
    assert [*in_flight.ours()] == [one]


def test_messages_start_in_the_order_in_which_they_came(in_flight: InFlight) -> None:
    one, other = taken(in_flight, "mail", "mail")
    assert [in_flight.next(), in_flight.next(), in_flight.next()] == [one, other, None]


def test_messages_that_start_together_are_of_one_queue_and_no_more_than_asked_for(in_flight: InFlight) -> None:
    first, second, third, other = taken(in_flight, "mail", "mail", "mail", "orders")
    assert in_flight.next_batch(2) == [first, second]
    assert in_flight.next_batch(2) == [third]
    assert [*in_flight.waiting] == [other]
    assert in_flight.next_batch(2) == [other]
    assert in_flight.next_batch(2) == []


def test_decided_turns_are_settled_in_order_and_stay_in_hand_until_they_are_let_go(in_flight: InFlight) -> None:
    attempts = taken(in_flight, "mail", "mail", "mail")
    in_flight.end(attempts[0], Release())
    in_flight.end_all([Ended(attempt, Commit()) for attempt in attempts[1:]])
    assert all(attempt.finished for attempt in attempts)
    ended = in_flight.take_ended(2)
    assert [(one.attempt, one.settlement) for one in ended] == [(attempts[0], Release()), (attempts[1], Commit())]
    assert [one.attempt for one in in_flight.take_ended(2)] == [attempts[2]]
    assert len(in_flight.held) == 3
    in_flight.let_go(attempts[:2])
    assert in_flight.held == {attempts[2]}


def test_a_message_that_is_let_go_tells_nobody_any_more(in_flight: InFlight) -> None:
    told: list[Exception] = []
    [attempt] = taken(in_flight, "mail")
    attempt.when_over(told.append)
    in_flight.let_go([attempt])
    attempt.tell(LeaseLost(1))
    assert told == []


def test_a_message_that_has_not_begun_is_withdrawn_once(in_flight: InFlight) -> None:
    one, other = taken(in_flight, "mail", "mail")
    assert in_flight.withdraw(one)
    assert not in_flight.withdraw(one)
    assert [*in_flight.waiting] == [other]


def test_messages_to_be_handled_apart_leave_no_room_and_are_alone_once_all_others_have_gone(
    in_flight: InFlight,
) -> None:
    assert (in_flight.room(), in_flight.wanted(), in_flight.alone) == (2, True, False)
    suspect, other = taken(in_flight, "mail", "mail")
    in_flight.apart.add(suspect)
    assert (in_flight.room(), in_flight.wanted(), in_flight.alone) == (0, False, False)
    in_flight.let_go([other])
    assert (in_flight.room(), in_flight.wanted(), in_flight.alone) == (0, True, True)
    in_flight.let_go([suspect])
    assert (in_flight.room(), in_flight.wanted(), in_flight.alone) == (2, True, False)


def test_decided_turns_are_separated_by_their_queues(in_flight: InFlight) -> None:
    attempts = taken(in_flight, "mail", "orders", "mail")
    parts = by_queue(Ended(attempt, Commit()) for attempt in attempts)
    assert [[one.attempt for one in part] for part in parts] == [[attempts[0], attempts[2]], [attempts[1]]]


def test_the_time_of_a_handler_counts_from_its_beginning(in_flight: InFlight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duerow.worker.in_flight.monotonic", lambda: 100.0)
    one, other = taken(in_flight, "mail", "mail")
    slot = Slot()
    slot.prepare(one, other)
    assert slot.started > 100_000
    assert (slot.attempt, [*slot.batch]) == (one, [one, other])
    slot.begin_batch([other, one])
    assert (slot.started, slot.attempt, [*slot.batch]) == (100.0, other, [other, one])
    slot.prepare(one)
    assert (slot.attempt, [*slot.batch]) == (one, [])
    slot.begin(one)
    assert slot.started == 100.0


def test_either_the_handler_or_who_gives_up_on_it_decides_a_turn(in_flight: InFlight) -> None:
    one, other = taken(in_flight, "mail", "mail")
    slot = Slot()
    slot.begin(one)
    assert not slot.abandon(other)
    assert slot.end()
    assert not slot.abandon(one)
    assert slot.attempt is None
    slot.begin(other)
    assert slot.abandon(other)
    assert (slot.attempt, slot.abandoned) == (None, True)
    assert not slot.end()
