"""If a lease ends while another message of the group goes first, the turn is lost, and its receipt is invalid."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from duerow import Bury, Commit, Database, Draft, Move, Queue, Release, Rollback, fixed, limited
from duerow.errors import LeaseLost, NotSupported
from duerow.reservation import BareReservation
from duerow.settlement import Settlement
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.conformance.fixtures import OpenDatabase
from duerow.testing.contents import stored

LEASE = minutes(1)

ENDS = [
    Commit(),
    Rollback(seconds(0)),
    Bury("no use"),
    Release(),
    Move("billing"),
    Move("billing", key="k"),
    Move("billing", group="h"),
]

TOGETHER = [Commit(then=(Draft("next", queue="billing"),)), Move("billing", key="k", on_duplicate="replace")]
"""Ends that change other messages in the same transaction."""


def kept(db: Database, history: bool) -> Queue:
    """Return a queue that keeps a history if asked."""
    return db.queue("mail", lease=LEASE, history=timedelta(days=1) if history else None)


def reserved(queue: Queue) -> Any:
    """Reserve the next message."""
    reservation = queue.reserve()
    assert reservation is not None
    return reservation


def overtaking(queue: Queue) -> BareReservation[Any]:
    """Lend the second message of a group, and bring the first back before it; return the second's reservation."""
    queue.push("first", group="g")
    queue.push("second", group="g")
    reserved(queue).bury("no line")
    second = reserved(queue)
    assert second.message.payload == "second"
    assert queue.requeue(where="status = 'dead'").count == 1
    return second  # type: ignore[no-any-return]


def overtaken(queue: Queue, clock: MovableClock) -> tuple[BareReservation[Any], Any]:
    """Like `overtaking`, until the lease has ended and the first message is lent; return both reservations."""
    second = overtaking(queue)
    clock.advance(LEASE)
    first = reserved(queue)
    assert first.message.payload == "first"
    return second, first


@pytest.mark.parametrize("history", [False, True], ids=["plain", "history"])
def test_who_lost_the_turn_in_a_group_cannot_extend_the_lease(db: Database, clock: MovableClock, history: bool) -> None:
    queue = kept(db, history)
    second, first = overtaken(queue, clock)
    with pytest.raises(LeaseLost):
        queue.extend(second)
    queue.commit(first)
    again = reserved(queue)
    assert (again.message.payload, again.attempt) == ("second", 2)
    queue.commit(again)
    assert queue.find() == []


@pytest.mark.parametrize("history", [False, True], ids=["plain", "history"])
@pytest.mark.parametrize("end", [*ENDS, *TOGETHER], ids=lambda end: type(end).__name__)
def test_who_lost_the_turn_in_a_group_ends_it_in_no_way(
    db: Database, clock: MovableClock, end: Settlement, history: bool
) -> None:
    if end in TOGETHER and not db.store.capabilities.transactions:
        with pytest.raises(NotSupported):
            settle_lost(db, clock, end, history)
        return
    settle_lost(db, clock, end, history)


def settle_lost(db: Database, clock: MovableClock, end: Settlement, history: bool) -> None:
    """Settle a turn that was lost, and check that it has no effect."""
    queue = kept(db, history)
    second, first = overtaken(queue, clock)
    (before,) = queue.find("payload = 'second'")
    (refused,) = queue.settle([(second, end)])
    assert isinstance(refused.error, LeaseLost)
    assert queue.find("payload = 'second'") == [before]
    assert db.queue("billing").find() == []
    queue.commit(first)
    assert reserved(queue).message.payload == "second"


def test_each_turn_of_a_group_is_in_its_history_once(db: Database, clock: MovableClock) -> None:
    queue = kept(db, history=True)
    second, first = overtaken(queue, clock)
    with pytest.raises(LeaseLost):
        queue.extend(second)
    with pytest.raises(LeaseLost):
        queue.commit(second)
    queue.commit(first)
    queue.commit(reserved(queue))
    turns = [(event.payload, event.outcome, event.attempts) for event in reversed(queue.history())]
    assert sorted(turns) == [
        ("first", "dead", 1),
        ("first", "done", 1),
        ("second", "done", 2),
        ("second", "failed", 1),
    ]
    assert len({(event.id, event.token) for event in queue.history()}) == 4


def test_a_lease_of_a_group_that_is_extended_in_time_holds_although_another_would_be_first(
    db: Database, clock: MovableClock
) -> None:
    queue = kept(db, history=False)
    second = overtaking(queue)
    clock.advance(LEASE)
    extended = queue.extend(second, lease=hours(1))
    assert extended.until == clock.now() + hours(1)
    for _ in range(2):
        clock.advance(minutes(29))
        assert queue.reserve() is None
        assert queue.pop() is None
    queue.commit(extended)
    assert reserved(queue).message.payload == "first"


def test_what_waits_again_after_its_lease_ended_can_be_changed_by_whoever_reads_it_then(
    db: Database, clock: MovableClock
) -> None:
    queue = kept(db, history=False)
    second, first = overtaken(queue, clock)
    id_ = second.message.id
    assert queue.edit(id_, payload="changed").count == 1
    assert queue.reschedule(id_, due=None).count == 1
    queue.commit(first)
    assert queue.reserve() is None
    assert queue.reschedule(id_, delay=seconds(0)).count == 1
    assert reserved(queue).message.payload == "changed"


def test_a_push_that_meets_what_lost_its_turn_finds_it_with_nobody(db: Database, clock: MovableClock) -> None:
    queue = kept(db, history=False)
    queue.push("first", group="g")
    pushed = queue.push("second", group="g", key="k")
    reserved(queue).bury("no line")
    reserved(queue)
    assert queue.requeue(where="status = 'dead'").count == 1
    clock.advance(LEASE)
    first = reserved(queue)
    early = clock.now() - hours(1)
    assert queue.push("second", key="k", group="g", due=early, on_duplicate="earliest").outcome == "updated"
    assert queue.push("new", key="k", group="g", on_duplicate="replace").outcome == "updated"
    assert queue.reserve() is None
    queue.commit(first)
    again = reserved(queue)
    assert (again.message.id, again.message.payload, again.attempt) == (pushed.id, "new", 1)


def test_a_message_moved_in_before_one_whose_lease_has_ended_takes_its_turn(
    queue: Queue, other: Queue, clock: MovableClock
) -> None:
    queue.push("older", group="g")
    older = reserved(queue)
    other.push("lent", group="g")
    newer = reserved(other)
    older.move("billing")
    clock.advance(LEASE)
    first = reserved(other)
    assert first.message.payload == "older"
    with pytest.raises(LeaseLost):
        newer.extend()
    with pytest.raises(LeaseLost):
        newer.rollback()
    other.commit(first)
    again = reserved(other)
    assert again.message.payload == "lent"
    other.commit(again)


@pytest.mark.parametrize("history", [False, True], ids=["plain", "history"])
def test_who_lost_the_turn_in_a_group_by_a_pop_has_lost_it_as_well(
    db: Database, clock: MovableClock, history: bool
) -> None:
    queue = kept(db, history)
    second = overtaking(queue)
    clock.advance(LEASE)
    popped = queue.pop()
    assert popped is not None
    assert popped.payload == "first"
    with pytest.raises(LeaseLost):
        queue.extend(second)
    with pytest.raises(LeaseLost):
        queue.commit(second)
    assert reserved(queue).message.payload == "second"


def test_who_only_waits_in_a_group_keeps_the_token_by_which_it_was_read(queue: Queue) -> None:
    queue.push("first", group="g")
    second = queue.push("second", group="g")
    before = stored(queue, second.id)
    first = reserved(queue)
    assert queue.reserve() is None
    assert stored(queue, second.id).token == before.token
    first.commit()


def test_a_dead_message_of_a_group_that_is_redriven_takes_the_turn_of_a_lease_that_ended(
    db: Database, clock: MovableClock
) -> None:
    queue = db.queue("mail", lease=LEASE, dead_letter="letters")
    queue.push("first", group="g")
    queue.push("second", group="g")
    reserved(queue).bury("no line")
    second = reserved(queue)
    assert queue.redrive().count == 1
    clock.advance(LEASE)
    first = reserved(queue)
    assert first.message.payload == "first"
    with pytest.raises(LeaseLost):
        queue.extend(second)
    with pytest.raises(LeaseLost):
        queue.move(second, to="billing")
    queue.commit(first)
    assert reserved(queue).message.payload == "second"


class _HurriedClock(MovableClock):
    """A clock that advances by two seconds whenever it is read."""

    def now(self) -> datetime:
        """Return the time."""
        return self.advance(seconds(2))


@pytest.mark.parametrize("history", [None, hours(1)], ids=["no history", "history"])
def test_a_claim_that_takes_longer_than_its_lease_names_each_message_once(
    open_database: OpenDatabase, clock: MovableClock, history: timedelta | None
) -> None:
    queue = open_database().queue("mail", history=history)
    queue.push_many([Draft(number) for number in range(4)])
    queue.reserve_many(2, lease=seconds(1))
    clock.advance(minutes(1))
    hurried = open_database(clock=_HurriedClock(clock.now()), migrate=False)
    hasty = hurried.queue("mail", history=history, retry=limited(1, fixed(seconds(0))))
    reservations = hasty.reserve_many(3, lease=seconds(1))
    ids = [one.message.id for one in reservations]
    assert len(set(ids)) == len(ids)
    assert hasty.commit_many(reservations) == []
