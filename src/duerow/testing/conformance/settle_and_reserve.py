"""A consumer of batches can end the turns of one batch and reserve the next in one call."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from duerow import Bury, Commit, Database, Draft, Move, Queue, Release, Reservation, Rollback, fixed, limited
from duerow.errors import ConfigurationError, DuplicateKey, InvalidMessage, LeaseLost
from duerow.settlement import Settlement
from duerow.testing.clock import MovableClock, minutes, seconds
from duerow.testing.contents import lost, stored

LEASE = minutes(1)


@dataclass
class Order:
    """A typed payload."""

    id: int


def payloads(reservations: list[Any]) -> list[Any]:
    """Return the payloads of reserved messages."""
    return [one.message.payload for one in reservations]


def test_a_batch_is_settled_and_the_next_one_reserved_in_one_call(queue: Queue) -> None:
    queue.push_many(Draft(number) for number in range(5))
    batch, seen = queue.reserve_many(2), []
    while batch:
        seen += payloads(batch)
        refused, batch = queue.settle_and_reserve([(one, Commit()) for one in batch], 2)
        assert refused == []
    assert seen == [0, 1, 2, 3, 4]
    assert queue.count() == 0


def test_each_turn_ends_in_its_own_way_before_the_next_messages_are_reserved(
    queue: Queue, other: Queue, clock: MovableClock
) -> None:
    queue.push_many(Draft(name) for name in ["done", "failed", "dead", "back", "moved", "next"])
    done, failed, dead, back, moved = queue.reserve_many(5)
    endings: list[tuple[Reservation[Any], Settlement]] = [
        (moved, Move("billing")),
        (back, Release()),
        (dead, Bury("no use")),
        (failed, Rollback(seconds(0), "no line")),
        (done, Commit()),
    ]
    refused, found = queue.settle_and_reserve(endings, 10)
    assert refused == []
    assert sorted(payloads(found)) == ["back", "failed", "next"]
    assert {one.message.payload: one.message.attempts for one in found} == {"back": 1, "failed": 2, "next": 1}
    assert stored(queue, dead.message.id).status == "dead"
    assert other.count() == 1
    assert queue.commit_many(found) == []


def test_the_new_reservations_hold_for_the_lease_that_was_asked_for(queue: Queue, clock: MovableClock) -> None:
    queue.push_many([Draft(1), Draft(2), Draft(3)])
    (first,) = queue.reserve_many(1)
    _, (second,) = queue.settle_and_reserve([(first, Commit())], 1, lease=minutes(7), consumer="host:1:anna/1")
    record = stored(queue, second.message.id)
    assert (record.leased_until, record.leased_by) == (second.until, "host:1:anna/1")
    assert second.until == clock.now() + minutes(7)
    _, (third,) = queue.settle_and_reserve([(second, Commit())], 1)
    assert third.until == clock.now() + queue.lease


@pytest.mark.parametrize(("taken", "more"), [(1, 0), (1, 3), (2, 0), (2, 3)])
def test_a_message_that_is_settled_after_its_lease_has_ended_is_not_handed_out_again(
    queue: Queue, clock: MovableClock, taken: int, more: int
) -> None:
    queue.push_many(Draft(number) for number in range(taken + more))
    batch = queue.reserve_many(taken, lease=LEASE)
    clock.advance(LEASE)
    refused, found = queue.settle_and_reserve([(one, Commit()) for one in batch], 10)
    assert refused == []
    assert payloads(found) == list(range(taken, taken + more))
    assert queue.count() == more


def test_a_turn_that_was_lost_is_refused_and_the_others_end(queue: Queue, clock: MovableClock) -> None:
    queue.push_many(Draft(name) for name in ["taken", "ours", "next"])
    taken, ours = queue.reserve_many(2, lease=LEASE)
    queue.release(taken)
    (again,) = queue.reserve_many(1)
    refused, found = queue.settle_and_reserve([(taken, Commit()), (ours, Commit())], 5)
    assert lost(refused) == {taken.message.id}
    assert payloads(found) == ["next"]
    assert stored(queue, again.message.id).leased_until == again.until
    assert queue.get(ours.message.id) is None


def test_a_single_turn_that_was_lost_is_refused_and_the_next_message_is_reserved(queue: Queue) -> None:
    queue.push_many([Draft("taken"), Draft("next")])
    (taken,) = queue.reserve_many(1)
    queue.release(taken)
    (again,) = queue.reserve_many(1)
    refused, found = queue.settle_and_reserve([(taken, Commit())], 5)
    assert lost(refused) == {taken.message.id}
    assert payloads(found) == ["next"]
    assert stored(queue, again.message.id).leased_until == again.until


def test_a_settlement_that_cannot_be_carried_out_is_refused_and_holds_up_no_claim(queue: Queue, other: Queue) -> None:
    other.push("held", key="k")
    queue.push_many([Draft(1, key="k"), Draft(2), Draft(3)])
    one, two = queue.reserve_many(2)
    refused, found = queue.settle_and_reserve([(one, Move("billing")), (two, Commit())], 5)
    assert [type(each.error) for each in refused] == [DuplicateKey]
    assert payloads(found) == [3]
    assert stored(queue, one.message.id).leased_until == one.until


def test_the_same_turn_given_twice_with_a_claim_ends_once(queue: Queue) -> None:
    queue.push_many([Draft(1), Draft(2)])
    (one,) = queue.reserve_many(1)
    refused, found = queue.settle_and_reserve([(one, Commit()), (one, Commit())], 1)
    assert [type(each.error) for each in refused] == [LeaseLost]
    assert payloads(found) == [2]


def test_without_turns_it_only_reserves_and_without_messages_it_only_settles(queue: Queue) -> None:
    queue.push("only")
    refused, found = queue.settle_and_reserve([], 5)
    assert (refused, payloads(found)) == ([], ["only"])
    assert queue.settle_and_reserve([(found[0], Commit())], 5) == ([], [])
    assert queue.count() == 0


def test_wrong_arguments_are_told_before_anything_is_settled(db: Database, queue: Queue, other: Queue) -> None:
    queue.push("ours")
    other.push("theirs")
    (ours,), (theirs,) = queue.reserve_many(1), other.reserve_many(1)
    wrong: list[tuple[list[Any], int, dict[str, Any]]] = [
        ([(ours, Commit())], 0, {}),
        ([(ours, Commit())], 1, {"lease": timedelta(0)}),
        ([(ours, Commit())], 1, {"consumer": ""}),
        ([(ours, Commit()), (theirs, Commit())], 1, {}),
    ]
    for pairs, n, named in wrong:
        with pytest.raises((ConfigurationError, InvalidMessage)):
            queue.settle_and_reserve(pairs, n, **named)
    assert stored(queue, ours.message.id).leased_until == ours.until
    assert stored(other, theirs.message.id).leased_until == theirs.until


def test_the_next_of_a_group_follows_in_the_call_that_ends_its_predecessor(queue: Queue) -> None:
    queue.push_many([Draft("a1", group="a"), Draft("a2", group="a"), Draft("b1", group="b"), Draft("a3", group="a")])
    batch, seen = queue.reserve_many(5), []
    while batch:
        seen.append(sorted(payloads(batch)))
        _, batch = queue.settle_and_reserve([(one, Commit()) for one in batch], 5)
    assert seen == [["a1", "b1"], ["a2"], ["a3"]]


def test_lower_priorities_are_reserved_first_in_such_a_call_too(queue: Queue) -> None:
    queue.push_many([Draft("first"), Draft("later", priority=5), Draft("soon", priority=-5), Draft("next")])
    (soon,) = queue.reserve_many(1)
    _, found = queue.settle_and_reserve([(soon, Commit())], 2)
    assert payloads(found) == ["first", "next"]
    _, found = queue.settle_and_reserve([(one, Commit()) for one in found], 2)
    assert payloads(found) == ["later"]


def test_a_paused_queue_settles_and_hands_nothing_out(queue: Queue) -> None:
    queue.push_many([Draft(1), Draft(2)])
    (one,) = queue.reserve_many(1)
    queue.pause()
    assert queue.settle_and_reserve([(one, Commit())], 5) == ([], [])
    assert queue.count() == 1


def test_a_message_whose_attempts_are_used_up_is_buried_by_the_claim(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", lease=LEASE, retry=limited(1, fixed(seconds(0))))
    queue.push_many([Draft("tried"), Draft("done"), Draft("next")])
    tried, done = queue.reserve_many(2)
    clock.advance(LEASE)
    refused, found = queue.settle_and_reserve([(done, Commit())], 5)
    assert (refused, payloads(found)) == ([], ["next"])
    assert stored(queue, tried.message.id).status == "dead"


def test_dead_letters_of_the_claim_move_to_their_queue(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", lease=LEASE, retry=limited(1, fixed(seconds(0))), dead_letter="letters")
    queue.push_many([Draft("tried"), Draft("done"), Draft("next")])
    _, done = queue.reserve_many(2)
    clock.advance(LEASE)
    refused, found = queue.settle_and_reserve([(done, Commit())], 5)
    assert (refused, payloads(found)) == ([], ["next"])
    assert [one.payload for one in db.queue("letters").pop_many(5)] == ["tried"]


def test_the_history_and_remembered_keys_are_written_as_by_separate_calls(db: Database) -> None:
    queue = db.queue("mail", history=timedelta(days=1), remember_keys=timedelta(days=1))
    queue.push_many([Draft("done", key="k"), Draft("next")])
    (done,) = queue.reserve_many(1)
    _, found = queue.settle_and_reserve([(done, Commit())], 1)
    assert payloads(found) == ["next"]
    assert [turn.payload for turn in queue.history()] == ["done"]
    assert queue.push("again", key="k").outcome == "ignored"


def test_a_payload_of_the_claim_that_cannot_be_read_is_buried(db: Database) -> None:
    queue = db.queue("mail", payload=Order)
    queue.push_many([Draft(Order(1)), Draft(Order(2)), Draft(Order(3))])
    assert db.queue("mail").edit(where="payload.id = 2", patch={"id": "odd"}).count == 1
    (one,) = queue.reserve_many(1)
    refused, found = queue.settle_and_reserve([(one, Commit())], 5)
    assert (refused, payloads(found)) == ([], [Order(3)])
    assert queue.count(by="status")["dead"] == 1
