"""Many turns can end in one call, each in a different way."""

from __future__ import annotations

from duerow import Bury, Commit, Database, Draft, Move, Queue, Release, Reservation, Rollback
from duerow.errors import DuplicateKey, LeaseLost
from duerow.settlement import Settlement
from duerow.testing.clock import MovableClock, minutes
from duerow.testing.contents import everything, lost, stored


def test_each_turn_of_a_mixed_settlement_ends_in_its_own_way(
    db: Database, queue: Queue, other: Queue, clock: MovableClock
) -> None:
    queue.push_many([Draft(name, key=name) for name in ["done", "failed", "dead", "back", "moved", "kept"]])
    done, failed, dead, back, moved, kept = queue.reserve_many(6)
    endings: list[tuple[Reservation, Settlement]] = [
        (moved, Move("billing", {"price": 1})),
        (back, Release()),
        (dead, Bury("no use")),
        (failed, Rollback(minutes(1), "no line")),
        (done, Commit()),
    ]
    assert queue.settle(endings) == []
    assert queue.get(done.message.id) is None
    assert (stored(queue, failed.message.id).status, stored(queue, failed.message.id).attempts) == ("error", 1)
    assert stored(queue, dead.message.id).status == "dead"
    assert (stored(queue, back.message.id).status, stored(queue, back.message.id).attempts) == ("new", 0)
    assert stored(other, moved.message.id).payload == {"price": 1}
    assert stored(queue, kept.message.id).leased_until == kept.until
    assert {record.token for record in everything(db) if record.id != kept.message.id} == {2}


def test_the_refused_of_a_mixed_settlement_are_named_each_with_its_error(
    db: Database, queue: Queue, other: Queue
) -> None:
    other.push("held", key="moved")
    queue.push_many([Draft(name, key=name) for name in ["stolen", "moved", "odd", "done"]])
    stolen, moved, odd, done = queue.reserve_many(4)
    queue.release(stolen)
    refused = queue.settle([(stolen, Commit()), (moved, Move("billing")), (odd, Move("two words")), (done, Commit())])
    errors = {one.receipt: type(one.error).__name__ for one in refused}
    expected = {stolen.receipt: LeaseLost, moved.receipt: DuplicateKey}
    assert errors == {receipt: error.__name__ for receipt, error in expected.items()} | {odd.receipt: "InvalidMessage"}
    assert queue.get(done.message.id) is None
    assert queue.commit_many([moved, odd]) == []


def test_the_same_turn_given_twice_ends_once(db: Database, queue: Queue) -> None:
    queue.push_many([Draft(1), Draft(2)])
    one, two = queue.reserve_many(2)
    refused = queue.settle([(one, Rollback(minutes(1))), (two, Commit()), (one, Rollback(minutes(1)))])
    assert lost(refused) == {one.message.id}
    assert len(refused) == 1
    assert (stored(queue, one.message.id).status, stored(queue, one.message.id).token) == ("error", 2)


def test_a_reservation_that_is_committed_twice_in_one_call_is_refused_once(queue: Queue) -> None:
    queue.push_many([Draft(1), Draft(2)])
    one, two = queue.reserve_many(2)
    refused = queue.commit_many([one, two, one])
    assert [each.receipt for each in refused] == [one.receipt]
    assert queue.count() == 0


def test_a_large_mixed_settlement_ends_every_turn(queue: Queue, other: Queue, crowd: int) -> None:
    crowd = min(crowd, 20_000)  # no statement has more than a fifth of it, so more of them would show nothing
    queue.push_many(Draft(place) for place in range(crowd))
    ways: list[Settlement] = [Commit(), Rollback(minutes(1), "no line"), Bury("no use"), Release(), Move("billing")]
    reservations = queue.reserve_many(crowd)
    queue.release(reservations[7])
    endings = [(one, ways[place % 5]) for place, one in enumerate(reservations)]
    assert lost(queue.settle(endings)) == {reservations[7].message.id}
    counts = queue.count(by="status")
    share = crowd // 5
    assert (counts["error"], counts["dead"], counts["new"]) == (share, share - 1, share + 1)
    assert other.count() == share
