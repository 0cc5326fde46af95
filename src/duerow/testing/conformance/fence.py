"""The token alone decides whether a write is still allowed, never the clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from duerow import Bury, Commit, Database, Draft, Move, Queue, Release, Reservation, Rollback
from duerow.errors import ConfigurationError, LeaseLost
from duerow.testing.clock import MovableClock, hours, minutes
from duerow.testing.conformance.fixtures import OpenDatabase
from duerow.testing.contents import empty, everything, lost
from duerow.testing.faces import Face

ENDINGS: dict[str, Callable[[Queue, Reservation], object]] = {
    "commit": lambda queue, mine: queue.commit(mine),
    "rollback": lambda queue, mine: queue.rollback(mine, delay=minutes(1), error="failed"),
    "bury": lambda queue, mine: queue.bury(mine, "no use"),
    "release": lambda queue, mine: queue.release(mine),
    "extend": lambda queue, mine: queue.extend(mine, minutes(1)),
    "move": lambda queue, mine: queue.move(mine, "billing"),
}
THROUGH_ITSELF: dict[str, Callable[[Reservation], object]] = {
    "commit": lambda mine: mine.commit(),
    "rollback": lambda mine: mine.rollback(delay=minutes(1), error="failed"),
    "bury": lambda mine: mine.bury("no use"),
    "release": lambda mine: mine.release(),
    "extend": lambda mine: mine.extend(minutes(1)),
    "move": lambda mine: mine.move("billing"),
}
LOSSES: dict[str, Callable[[Queue, Reservation, MovableClock], object]] = {
    "taken by another": lambda queue, mine, clock: (clock.advance(hours(1)), queue.reserve()),
    "popped by another": lambda queue, mine, clock: (clock.advance(hours(1)), queue.pop()),
    "replaced": lambda queue, mine, clock: queue.push("new", key="m-1", on_duplicate="replace"),
    "removed": lambda queue, mine, clock: queue.remove(mine.message.id, even_if_leased=True),
    "committed": lambda queue, mine, clock: queue.commit(mine),
    "rolled back": lambda queue, mine, clock: queue.rollback(mine, delay=minutes(1)),
    "buried": lambda queue, mine, clock: queue.bury(mine, "no use"),
    "released": lambda queue, mine, clock: queue.release(mine),
    "released and lent again": lambda queue, mine, clock: (queue.release_many([mine]), queue.reserve()),
    "moved": lambda queue, mine, clock: queue.move(mine, "elsewhere"),
    "moved within the queue": lambda queue, mine, clock: queue.move(mine, "mail"),
}


def lend(queue: Queue) -> Reservation:
    queue.push("hello", key="m-1")
    reservation = queue.reserve(lease=minutes(1))
    assert reservation is not None
    return reservation


def test_a_late_settlement_succeeds_if_nobody_took_the_message(db: Database, queue: Queue, clock: MovableClock) -> None:
    for ending, settle in ENDINGS.items():
        empty(db)
        reservation = lend(queue)
        clock.advance(hours(1000))
        settle(queue, reservation)
        assert [record.leased_by is None for record in everything(db)] in ([], [ending != "extend"])


def test_a_reservation_settles_itself(db: Database, queue: Queue) -> None:
    for ending, settle in THROUGH_ITSELF.items():
        empty(db)
        reservation = lend(queue)
        settle(reservation)
        if ending != "extend":
            with pytest.raises(LeaseLost):
                settle(reservation)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_message_that_is_no_longer_ours_is_not_changed(
    db: Database, queue: Queue, clock: MovableClock, loss: str
) -> None:
    reservation = lend(queue)
    LOSSES[loss](queue, reservation, clock)
    before = everything(db)
    for ending, settle in ENDINGS.items():
        with pytest.raises(LeaseLost, match=f"message {reservation.message.id} is no longer yours") as refused:
            settle(queue, reservation)
        assert (refused.value.message_id, refused.value.until) == (reservation.message.id, reservation.until)
        assert everything(db) == before, f"a refused {ending} changed something"


@pytest.mark.parametrize(
    "ending", [Commit(), Rollback(minutes(1)), Bury("no use"), Release(), Move("billing")], ids=repr
)
def test_of_many_only_those_still_ours_are_settled_and_the_others_named(
    db: Database, queue: Queue, ending: Commit | Rollback | Bury | Release | Move
) -> None:
    queue.push_many([Draft(place) for place in range(4)])
    reservations = queue.reserve_many(4)
    stolen = [reservations[0], reservations[2]]
    queue.release_many(stolen)
    theirs = queue.reserve_many(2)
    kept = [record for record in everything(db) if record.id in {one.message.id for one in theirs}]
    refused = queue.settle([(one, ending) for one in reservations])
    assert lost(refused) == {one.message.id for one in stolen}
    assert {one.receipt for one in refused} == {one.receipt for one in stolen}
    assert [record for record in everything(db) if record.id in lost(refused)] == kept
    assert queue.commit_many(theirs) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_queue_settles_nothing_that_another_one_lent(db: Database, queue: Queue, other: Queue, ending: str) -> None:
    queue.push("mine")
    mine, theirs = lend(queue), lend(other)
    before = everything(db)
    with pytest.raises(ConfigurationError, match=f"message {theirs.message.id} was reserved from queue 'billing'"):
        ENDINGS[ending](queue, theirs)
    for many in (queue.commit_many, queue.release_many, queue.rollback_many, queue.extend_many):
        with pytest.raises(ConfigurationError, match="was reserved from queue 'billing'"):
            many([mine, theirs])
    assert everything(db) == before
    ENDINGS[ending](db.queue("mail"), mine)  # another handle of the same queue


def test_a_queue_settles_nothing_that_one_of_its_name_in_another_database_lent(
    face: Face, open_database: OpenDatabase
) -> None:
    with face.connect("memory://") as elsewhere:
        stranger, mine = lend(elsewhere.queue("mail")), lend(open_database().queue("mail"))
        again = open_database().queue("mail")
        with pytest.raises(ConfigurationError, match="of a different database"):
            again.commit(stranger)
        with pytest.raises(ConfigurationError, match="of a different database"):
            again.commit_many([mine, stranger])
        assert again.commit_many([mine]) == []  # another connection to the same database
        elsewhere.queue("mail").commit(stranger)


def test_a_key_pushed_anew_is_not_the_message_of_before(queue: Queue, clock: MovableClock) -> None:
    reservation = lend(queue)
    queue.remove(key="m-1", even_if_leased=True)
    queue.push("anew", key="m-1")
    with pytest.raises(LeaseLost):
        queue.commit(reservation)
    assert queue.contains("m-1")
