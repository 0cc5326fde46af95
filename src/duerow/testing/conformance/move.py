"""A move ends the turn by sending the message to another queue, in one write."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from duerow import Bury, Commit, Database, Draft, Move, Queue
from duerow.errors import CodecError, DuplicateKey, InvalidMessage, LeaseLost, NotSupported
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.contents import duplicates, everything, lost, payloads, stored


def lend(queue: Queue, payload: Any = "hello", **named: Any) -> Any:
    queue.push(payload, **named)
    reservation = queue.reserve()
    assert reservation is not None
    return reservation


# What changes and what stays.


def test_a_moved_message_is_new_in_the_other_queue_and_due_at_once(
    queue: Queue, other: Queue, clock: MovableClock
) -> None:
    created_at = clock.now()
    failed = lend(queue, {"n": 1}, key="m-1", headers={"a": 1})
    queue.rollback(failed, delay=minutes(1), error="no line")
    clock.advance(hours(1))
    reservation = queue.reserve()
    assert reservation is not None
    clock.advance(seconds(1))
    queue.move(reservation, "billing")
    assert queue.get(failed.message.id) is None
    message = stored(other, failed.message.id)
    assert (message.queue, message.payload, message.key, message.created_at) == ("billing", {"n": 1}, "m-1", created_at)
    assert (message.status, message.attempts, message.last_error) == ("new", 0, None)
    assert (message.leased_by, message.leased_until) == (None, None)
    assert message.due_at == message.first_due_at == clock.now()
    assert message.token == reservation.message.token + 1
    assert message.headers == {"a": 1, "hops": 1}


def test_each_move_counts_a_hop(db: Database, queue: Queue) -> None:
    queue.push("hello")
    for hop, (source, target) in enumerate([("mail", "a"), ("a", "b"), ("b", "mail")], start=1):
        reservation = db.queue(source).reserve()
        assert reservation is not None
        db.queue(source).move(reservation, target)
        assert db.queue(target).find()[0].headers["hops"] == hop


def test_a_moved_message_is_handed_out_there_as_its_first_attempt(queue: Queue, other: Queue) -> None:
    reservation = lend(queue)
    queue.move(reservation, "billing")
    again = other.reserve()
    assert again is not None
    assert (again.message.id, again.attempt) == (reservation.message.id, 1)
    with pytest.raises(LeaseLost):
        queue.commit(reservation)
    other.commit(again)


def test_a_move_may_change_the_payload_and_its_kind(queue: Queue, other: Queue) -> None:
    payloads: list[Any] = [None, {"price": 1.0}, b"\0", False, []]
    for payload in payloads:
        queue.move(lend(queue), "billing", payload)
    found = [(message.payload, message.kind) for message in other.find()]
    assert found == [(payload, "bytes" if isinstance(payload, bytes) else "json") for payload in payloads]


def test_a_move_without_a_payload_keeps_bytes_as_bytes(queue: Queue, other: Queue) -> None:
    queue.move(lend(queue, b"\0\xff"), "billing")
    message = other.pop()
    assert message is not None
    assert (message.payload, message.kind) == (b"\0\xff", "bytes")


def test_a_move_may_patch_the_payload_as_json_merge_patch_says(queue: Queue, other: Queue) -> None:
    reservation = lend(queue, {"a": 1, "b": {"c": 2, "d": 3}, "e": [1]})
    queue.move(reservation, "billing", patch={"a": None, "b": {"c": 4}, "e": [2], "f": {"g": None}})
    message = other.pop()
    assert message is not None
    assert message.payload == {"b": {"c": 4, "d": 3}, "e": [2], "f": {}}


def test_a_move_may_set_when_the_message_is_due(queue: Queue, other: Queue, clock: MovableClock) -> None:
    by_due, by_delay = lend(queue), lend(queue)
    queue.move(by_due, "billing", due=clock.now() + hours(1))
    queue.move(by_delay, "billing", delay=hours(2))
    found = other.find()
    assert [message.due_at for message in found] == [clock.now() + hours(1), clock.now() + hours(2)]
    assert [message.first_due_at for message in found] == [message.due_at for message in found]
    assert other.reserve() is None


def test_a_move_may_change_or_take_away_the_key(queue: Queue, other: Queue) -> None:
    kept, changed, gone = lend(queue, 1, key="a"), lend(queue, 2, key="b"), lend(queue, 3, key="c")
    queue.move(kept, "billing")
    queue.move(changed, "billing", key="B")
    queue.move(gone, "billing", key=None)
    assert [message.key for message in other.find()] == ["a", "B", None]
    assert [other.contains(key) for key in "abBc"] == [True, False, True, False]


def test_a_move_merges_headers_and_takes_away_those_set_to_none(queue: Queue, other: Queue) -> None:
    reservation = lend(queue, headers={"a": 1, "b": 2, "c": 3})
    queue.move(reservation, "billing", headers={"a": "x", "b": None, "d": 4})
    assert other.find()[0].headers == {"a": "x", "c": 3, "d": 4, "hops": 1}


def test_a_message_may_move_within_its_queue(queue: Queue, clock: MovableClock) -> None:
    reservation = lend(queue, key="m-1")
    queue.move(reservation, "mail", "again", delay=minutes(1))
    message = stored(queue, reservation.message.id)
    assert (message.payload, message.attempts, message.key) == ("again", 0, "m-1")
    assert message.due_at == clock.now() + minutes(1)


def test_a_move_frees_the_key_in_the_queue_that_it_leaves(queue: Queue, other: Queue) -> None:
    queue.move(lend(queue, key="m-1"), "billing")
    assert (queue.contains("m-1"), other.contains("m-1")) == (False, True)
    assert queue.push("anew", key="m-1").outcome == "created"


def test_many_are_moved_at_once_and_the_lost_ones_named(queue: Queue, other: Queue) -> None:
    queue.push_many([Draft(place, headers={"n": place}) for place in range(4)])
    reservations = queue.reserve_many(4)
    queue.commit(reservations[1])
    refused = queue.move_many(reservations, "billing", "moved", headers={"by": "batch"})
    assert lost(refused) == {reservations[1].message.id}
    assert payloads(other) == ["moved"] * 3
    assert [message.headers for message in other.find()] == [{"n": n, "by": "batch", "hops": 1} for n in (0, 2, 3)]


def test_many_moved_at_once_stand_in_the_order_of_their_ids(queue: Queue, other: Queue) -> None:
    queue.push_many([Draft(place) for place in range(5)])
    queue.move_many(reversed(queue.reserve_many(5)), "billing")
    assert [one.message.payload for one in other.reserve_many(5)] == [0, 1, 2, 3, 4]


# A key that is taken in the target.


def test_a_move_to_a_taken_key_is_rejected_and_keeps_its_lease(db: Database, queue: Queue, other: Queue) -> None:
    other.push("held", key="m-1")
    reservation = lend(queue, key="m-1")
    before = everything(db)
    with pytest.raises(DuplicateKey, match=r"'billing'.*'m-1'") as refused:
        queue.move(reservation, "billing")
    assert (refused.value.queue, refused.value.keys) == ("billing", ("m-1",))
    assert everything(db) == before
    queue.commit(reservation)


def test_of_many_moved_only_those_with_a_taken_key_are_refused(queue: Queue, other: Queue) -> None:
    other.push("held", key="b")
    queue.push_many([Draft(key, key=key) for key in "abc"])
    reservations = queue.reserve_many(3)
    refused = queue.move_many(reservations, "billing")
    assert duplicates(refused) == {reservations[1].message.id}
    assert sorted(payloads(other)) == ["a", "c", "held"]
    queue.rollback(reservations[1], delay=minutes(1))


def test_a_key_held_by_a_dead_message_of_the_target_is_free(queue: Queue, other: Queue) -> None:
    other.push("dead", key="m-1")
    dying = other.reserve()
    assert dying is not None
    other.bury(dying, "no use")
    queue.move(lend(queue, "alive", key="m-1"), "billing")
    assert sorted(payloads(other)) == ["alive", "dead"]


def test_a_move_ignored_for_its_key_ends_as_done(queue: Queue, other: Queue) -> None:
    held = other.push("held", key="m-1")
    queue.move(lend(queue, key="m-1"), "billing", on_duplicate="ignore")
    assert queue.count() == 0
    assert [(message.id, message.payload, message.token) for message in other.find()] == [(held.id, "held", 0)]


@pytest.mark.parametrize("mode", ["replace", "earliest"])
def test_a_move_may_change_the_holder_of_its_key_as_a_push_would(
    db: Database, queue: Queue, other: Queue, clock: MovableClock, mode: Any
) -> None:
    held = other.push("held", key="m-1", delay=hours(1))
    reservation = lend(queue, "moved", key="m-1")
    if not db.store.capabilities.transactions:
        before = everything(db)
        with pytest.raises(NotSupported):
            queue.move(reservation, "billing", on_duplicate=mode)
        assert everything(db) == before
        return
    queue.move(reservation, "billing", on_duplicate=mode)
    assert queue.count() == 0
    [message] = other.find()
    assert (message.id, message.due_at) == (held.id, clock.now())
    assert message.payload == ("moved" if mode == "replace" else "held")


def test_the_holder_of_a_key_that_a_move_replaces_gets_all_that_the_move_says(
    db: Database, queue: Queue, other: Queue, clock: MovableClock
) -> None:
    if not db.store.capabilities.transactions:
        return
    held = other.push("held", key="m-1")
    reservation = lend(queue, "moved", key="m-1")
    queue.settle([(reservation, Move("billing", payload="new", delay=hours(1), on_duplicate="replace"))])
    [message] = other.find()
    assert (message.id, message.payload, message.due_at) == (held.id, "new", clock.now() + hours(1))
    reservation = lend(queue, "moved", key="m-1")
    due = clock.now() + hours(2)
    queue.settle([(reservation, Move("billing", due=due, group="g", priority=3, on_duplicate="replace"))])
    [message] = other.find()
    assert (message.id, message.payload, message.due_at) == (held.id, "moved", due)
    assert (message.group, message.priority) == ("g", 3)


@pytest.mark.parametrize(
    "ending", [Commit(), Bury("no use"), Move("elsewhere"), Move("billing", key="other")], ids=repr
)
def test_a_key_freed_by_one_turn_is_free_for_another_of_the_same_settlement(
    queue: Queue, ending: Commit | Bury | Move
) -> None:
    freed = lend(queue, "freed", key="m-1")
    moved = lend(queue, "moved", key="m-2")
    assert queue.settle([(moved, Move("mail", key="m-1")), (freed, ending)]) == []
    assert queue.contains("m-1")
    assert "moved" in payloads(queue)


def test_two_moved_to_one_key_in_one_batch_are_told_apart(queue: Queue, other: Queue) -> None:
    first, second = lend(queue, 1), lend(queue, 2)
    refused = queue.settle([(second, Move("billing", key="k")), (first, Move("billing", key="k"))])
    assert duplicates(refused) == {second.message.id}
    assert payloads(other) == [1]
    queue.commit(second)


# Impossible moves.


UNFIT: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"to": "two words"}, InvalidMessage, "a queue cannot be called"),
    ({"to": ""}, InvalidMessage, "a queue cannot be called"),
    ({"to": "billing", "payload": {1, 2}}, CodecError, "set"),
    ({"to": "billing", "payload": 1, "patch": {}}, InvalidMessage, "payload or patch"),
    ({"to": "billing", "key": ""}, InvalidMessage, "key"),
    ({"to": "billing", "key": 7}, InvalidMessage, "key"),
    ({"to": "billing", "headers": {"a": [1]}}, CodecError, "'a'"),
    ({"to": "billing", "due": datetime(2026, 1, 1)}, InvalidMessage, "no time zone"),
    ({"to": "billing", "delay": seconds(-1)}, InvalidMessage, "negative"),
    ({"to": "billing", "delay": seconds(1), "due": datetime.max}, InvalidMessage, "not both"),
    ({"to": "billing", "on_duplicate": "swap"}, InvalidMessage, "on_duplicate"),
]


def test_a_move_that_cannot_be_is_refused_and_keeps_its_lease(db: Database, queue: Queue) -> None:
    reservation = lend(queue)
    before = everything(db)
    for move, error, says in UNFIT:
        with pytest.raises(error, match=says):
            queue.move(reservation, **move)
        [refused] = queue.settle([(reservation, Move(**move))])
        assert (type(refused.error), refused.receipt) == (error, reservation.receipt)
    assert everything(db) == before
    queue.commit(reservation)
