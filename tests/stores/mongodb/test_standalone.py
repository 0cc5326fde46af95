"""Without transactions, as on a standalone server: what changes one message works, all else is refused beforehand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from duerow import Commit, Database, Draft, Move, Queue, fixed, limited
from duerow.errors import DuplicateKey, LeaseLost, NotSupported
from duerow.testing.clock import MovableClock, minutes, seconds
from duerow.testing.conformance.fixtures import OpenDatabase, Place
from duerow.testing.contents import everything, payloads, take_all
from duerow.testing.faces import Face


@pytest.fixture
def place(place: Place) -> Place:
    """The queues of this test, on a server that is used as if it stood alone."""
    return Place(place.url, {**place.settings, "transactions": "off"})


def test_what_cannot_be_done_is_said(db: Database) -> None:
    can = db.store.capabilities
    assert (can.transactions, can.within, can.processes, can.hosts) == (False, False, True, True)


def test_pushes_meet_keys_in_every_mode(queue: Queue, clock: MovableClock) -> None:
    assert [one.outcome for one in queue.push_many([Draft(1, key="a"), Draft(2), Draft(3, key="a")])] == [
        "created",
        "created",
        "ignored",
    ]
    assert queue.push(4, key="a", on_duplicate="replace", delay=minutes(2)).outcome == "updated"
    assert queue.push(5, key="a", on_duplicate="earliest", delay=minutes(1)).outcome == "updated"
    with pytest.raises(DuplicateKey):
        queue.push_many([Draft(6, key="b"), Draft(7, key="a")], on_duplicate="reject")
    assert payloads(queue) == [4, 2]
    clock.advance(minutes(1))
    assert take_all(queue) == [2, 4]


def test_turns_end_in_every_way_and_a_stale_receipt_ends_none(
    db: Database, queue: Queue, other: Queue, letters: Queue, clock: MovableClock
) -> None:
    other.push("holds", key="k4")
    queue.push_many([Draft(number, key=f"k{number}") for number in range(7)])
    done, failed, dead, back, taken, moved, stale = queue.reserve_many(7)
    queue.remove(stale.message.id, even_if_leased=True)
    refused = queue.settle([(done, Commit()), (stale, Commit()), (taken, Move("billing")), (moved, Move("billing"))])
    assert {one.receipt.id: type(one.error) for one in refused} == {
        stale.message.id: LeaseLost,
        taken.message.id: DuplicateKey,
    }
    queue.rollback(failed, delay=minutes(1), error="no line")
    queue.bury(dead, "no use")
    queue.release(back)
    assert queue.move_many([taken], "billing", on_duplicate="ignore") == []
    assert payloads(other) == ["holds", 5]
    assert [(one.payload, one.status, one.attempts) for one in queue.find()] == [
        (1, "error", 1),
        (2, "dead", 1),
        (3, "new", 0),
    ]
    assert {one.receipt.id for one in queue.extend_many([done, failed], minutes(1))} == {
        done.message.id,
        failed.message.id,
    }
    assert queue.redrive().count == 1
    clock.advance(minutes(1))
    assert sorted(take_all(queue)) == [1, 2, 3]


def test_leases_that_end_are_handed_out_again_until_the_limit(
    db: Database, clock: MovableClock, letters: Queue
) -> None:
    mail = db.queue("mail", retry=limited(2, fixed(seconds(0))), dead_letter="mail-dead")
    mail.push("hello", key="k")
    for attempt in (1, 2):
        reservation = mail.reserve(lease=minutes(1))
        assert reservation is not None
        assert reservation.attempt == attempt
        clock.advance(minutes(1))
    assert mail.reserve() is None
    [letter] = letters.find()
    assert (letter.payload, letter.headers["dead-letter-key"]) == ("hello", "k")


def test_messages_are_changed_and_removed_by_condition(queue: Queue) -> None:
    queue.push_many([Draft({"n": number}, key=str(number)) for number in range(4)])
    leased = queue.reserve()
    assert leased is not None
    assert queue.edit(where="payload.n >= 2", patch={"m": 1}).count == 2
    assert queue.reschedule(where="payload.n < 2", delay=minutes(5)).skipped == 1
    assert queue.remove(where="payload.m = 1").count == 2
    assert queue.purge("mail") == 2


REFUSED: dict[str, Callable[[Database, Queue, Any], object]] = {
    "a push in a group": lambda db, queue, mine: queue.push("x", group="g"),
    "a push that is to remember keys": lambda db, queue, mine: db.queue("mail", remember_keys=minutes(1)).push("x"),
    "a commit that pushes": lambda db, queue, mine: queue.commit(mine, then=[Draft("x", queue="mail")]),
    "a commit into history": lambda db, queue, mine: db.queue("mail", history=timedelta(days=1)).commit(mine),
    "a move into a group": lambda db, queue, mine: queue.move(mine, "billing", group="g"),
    "a move that replaces": lambda db, queue, mine: queue.move(mine, "billing", key="k", on_duplicate="replace"),
    "a reservation that keeps history": lambda db, queue, mine: db.queue("mail", history=minutes(1)).reserve(),
    "a schedule": lambda db, queue, mine: db.schedule("nightly", every=minutes(1), queue="mail"),
}


@pytest.mark.parametrize("asked", REFUSED)
def test_what_needs_a_transaction_is_refused_before_anything_changes(db: Database, queue: Queue, asked: str) -> None:
    queue.push("hello", key="m-1")
    queue.push("due")
    mine = queue.reserve()
    before = everything(db)
    with pytest.raises(NotSupported, match=r"transaction.*replica set"):
        REFUSED[asked](db, queue, mine)
    assert everything(db) == before


def test_a_tick_of_a_schedule_that_is_there_is_refused_and_holds_up_nothing(
    face: Face, place: Place, db: Database, clock: MovableClock, queue: Queue
) -> None:
    with face.connect(place.url, clock=clock, **{**place.settings, "transactions": "on"}) as able:
        able.schedule("nightly", every=minutes(1), queue="mail")
    clock.advance(minutes(1))
    assert isinstance(db.maintain().failed["nightly"], NotSupported)
    assert queue.count() == 0
    assert db.unschedule("nightly")


def test_settings_hold_for_all_handles(open_database: OpenDatabase) -> None:
    assert not open_database().store.capabilities.transactions
