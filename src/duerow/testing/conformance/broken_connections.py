"""After a broken connection, the outcome is determined or reported as unknown; a lost transaction is repeated."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from duerow import Database, Draft, Queue, Reservation
from duerow.errors import Conflict, LeaseLost, NotSupported, StoreUnavailable
from duerow.store import Entry
from duerow.testing.clock import minutes
from duerow.testing.conformance.fixtures import OpenDatabase
from duerow.testing.contents import empty, everything, payloads
from duerow.testing.faces import unwrapped
from duerow.testing.faults import Hook, fail_at, watch

ENDINGS: dict[str, Callable[[Queue, Reservation], object]] = {
    "commit": lambda queue, mine: queue.commit(mine),
    "rollback": lambda queue, mine: queue.rollback(mine, delay=minutes(1)),
    "bury": lambda queue, mine: queue.bury(mine, "no use"),
    "release": lambda queue, mine: queue.release(mine),
    "move": lambda queue, mine: queue.move(mine, "billing"),
    "commit_many": lambda queue, mine: queue.commit_many([mine]),
}


def faulty(open_database: OpenDatabase, hook: Hook) -> Queue:
    """Return the queue of this test, from a handle with faults."""
    db = open_database()
    watch(unwrapped(db), hook)
    return db.queue("mail")


def lend(queue: Queue) -> Reservation:
    queue.push("hello", key="m-1")
    reservation = queue.reserve()
    assert reservation is not None
    return reservation


def test_a_settlement_that_broke_before_it_was_written_is_written_again(
    db: Database, open_database: OpenDatabase
) -> None:
    for ending, settle in ENDINGS.items():
        empty(db)
        queue = faulty(open_database, fail_at("settle: before", StoreUnavailable("gone", outcome="unknown")))
        reservation = lend(queue)
        before = everything(db)
        settle(queue, reservation)
        assert everything(db) != before, ending
        with pytest.raises(LeaseLost):
            queue.commit(reservation)


def test_a_settlement_whose_answer_was_lost_is_unknown_and_never_a_lost_lease(
    db: Database, open_database: OpenDatabase
) -> None:
    for settle in ENDINGS.values():
        empty(db)
        queue = faulty(open_database, fail_at("settle: committed", StoreUnavailable("gone", outcome="unknown")))
        reservation = lend(queue)
        with pytest.raises(StoreUnavailable, match=f"message.*{reservation.message.id}.*'mail'") as unsure:
            settle(queue, reservation)
        assert unsure.value.outcome == "unknown"
        assert not [record for record in everything(db) if record.leased_by is not None]


def test_what_is_lent_is_handed_over_although_the_connection_broke_over_another_message(
    db: Database, open_database: OpenDatabase
) -> None:
    queue = faulty(open_database, fail_at("settle: before", StoreUnavailable("gone"), times=10))
    queue.push("good")
    odd = Entry("mail", None, "invoice", "1", None, None, None)  # of an unknown kind, so it must be buried
    db.run(lambda: db.store.messages.push([odd], "ignore"))
    assert [one.message.payload for one in queue.reserve_many(2)] == ["good"]


def test_of_many_whose_answer_was_lost_those_still_ours_are_settled(db: Database, open_database: OpenDatabase) -> None:
    queue = faulty(open_database, fail_at("settle: before", StoreUnavailable("gone", outcome="unknown")))
    queue.push_many([Draft(number) for number in range(3)])
    reservations = queue.reserve_many(3)
    db.queue("mail").commit(reservations[1])
    with pytest.raises(StoreUnavailable, match=str(reservations[1].message.id)):
        queue.commit_many(reservations)
    assert everything(db) == []


def test_a_settlement_that_breaks_twice_is_given_up(db: Database, open_database: OpenDatabase) -> None:
    queue = faulty(open_database, fail_at("settle: before", StoreUnavailable("gone", outcome="unknown"), times=2))
    reservation = lend(queue)
    before = everything(db)
    with pytest.raises(StoreUnavailable):
        queue.commit(reservation)
    assert everything(db) == before
    queue.commit(reservation)


@pytest.mark.parametrize("point", ["settle: before", "settle: step 1", "settle: done"])
def test_a_transaction_that_lost_against_another_is_carried_out_again_and_once(
    db: Database, queue: Queue, open_database: OpenDatabase, point: str
) -> None:
    consuming = faulty(open_database, fail_at(point, Conflict("deadlock"), times=3))
    reservation = lend(consuming)
    then = [Draft("next", queue="mail", key="m-2"), Draft("other", queue="mail")]
    if not db.store.capabilities.transactions:
        with pytest.raises(NotSupported):
            consuming.commit(reservation, then=then)
        return
    if point != "settle: before" and not db.store.capabilities.interactive:
        with pytest.raises(LeaseLost):  # the transaction is over when its answer arrives, so it can no longer be lost
            consuming.commit(reservation, then=then)
    else:
        consuming.commit(reservation, then=then)
    assert payloads(queue) == ["next", "other"]


def test_a_transaction_that_loses_for_ever_says_so_and_changes_nothing(
    db: Database, open_database: OpenDatabase
) -> None:
    queue = faulty(open_database, fail_at("push: before", Conflict("deadlock"), times=1000))
    with pytest.raises(Conflict):
        queue.push("hello")
    assert everything(db) == []


@pytest.mark.parametrize("point", ["settle: step 1", "settle: done"])
def test_what_a_broken_transaction_wrote_is_undone(
    db: Database, queue: Queue, open_database: OpenDatabase, point: str
) -> None:
    consuming = faulty(open_database, fail_at(point, ConnectionAbortedError("gone")))
    reservation = lend(consuming)
    before = everything(db)
    transactions = db.store.capabilities.transactions
    with pytest.raises(ConnectionAbortedError if transactions else NotSupported):
        consuming.commit(reservation, then=[Draft("next", queue="mail")])
    if transactions and not db.store.capabilities.interactive:
        assert payloads(queue) == ["next"]  # the transaction was over when its answer arrived
        return
    assert everything(db) == before
    db.queue("mail").commit(reservation)
    assert everything(db) == []
