"""A commit ends the turn: the message is done and leaves the queue, and its follow-ups are pushed with it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from duerow import Bury, Database, Draft, Move, Queue
from duerow.errors import ConfigurationError, InvalidMessage, LeaseLost, NotSupported
from duerow.testing.clock import MovableClock, hours, minutes
from duerow.testing.contents import everything, lost, payloads


def test_a_committed_message_is_gone(db: Database, queue: Queue, clock: MovableClock) -> None:
    queue.push("hello", key="m-1")
    reservation = queue.reserve()
    assert reservation is not None
    queue.commit(reservation)
    assert everything(db) == []
    assert not queue.contains("m-1")
    clock.advance(hours(1))
    assert queue.reserve() is None


def test_many_are_committed_at_once(db: Database, queue: Queue) -> None:
    queue.push_many([Draft(place) for place in range(5)])
    reservations = queue.reserve_many(4)
    assert queue.commit_many(reservations) == []
    assert payloads(queue) == [4]
    assert lost(queue.commit_many(reservations)) == {one.message.id for one in reservations}


def test_committing_none_is_no_error(queue: Queue) -> None:
    assert queue.commit_many([]) == []
    assert queue.settle([]) == []


def test_a_queue_without_history_has_no_place_for_a_changed_payload(db: Database, queue: Queue) -> None:
    queue.push("hello")
    reservation = queue.reserve()
    assert reservation is not None
    before = everything(db)
    with pytest.raises(ConfigurationError, match="keeps no history"):
        queue.commit(reservation, payload="changed")
    assert everything(db) == before
    queue.commit(reservation)


def test_a_commit_pushes_what_it_calls_for(db: Database, queue: Queue, other: Queue, clock: MovableClock) -> None:
    queue.push("order")
    reservation = queue.reserve()
    assert reservation is not None
    then = [
        Draft("bill", queue="billing", key="b-1", delay=minutes(1), headers={"a": 1}),
        Draft("note", queue="mail"),
    ]
    if not db.store.capabilities.transactions:
        before = everything(db)
        with pytest.raises(NotSupported):
            queue.commit(reservation, then=then)
        assert everything(db) == before
        return
    queue.commit(reservation, then=then)
    assert (payloads(queue), payloads(other)) == (["note"], ["bill"])
    bill = other.find()[0]
    assert (bill.key, bill.headers, bill.due_at) == ("b-1", {"a": 1}, clock.now() + minutes(1))
    assert bill.id > reservation.message.id


def test_a_refused_commit_pushes_nothing(db: Database, queue: Queue, clock: MovableClock) -> None:
    queue.push("order")
    first = queue.reserve(lease=minutes(1))
    assert first is not None
    clock.advance(minutes(1))
    second = queue.reserve()
    assert second is not None
    before = everything(db)
    with pytest.raises(LeaseLost if db.store.capabilities.transactions else NotSupported):
        queue.commit(first, then=[Draft("bill", queue="billing")])
    assert everything(db) == before


@pytest.mark.parametrize("way", [Bury, Move], ids=["bury", "move"])
def test_a_message_that_is_buried_or_moved_pushes_what_it_calls_for(db: Database, queue: Queue, way: Any) -> None:
    queue.push_many([Draft("order"), Draft("lost")])
    reservation, lost_one = queue.reserve_many(2)
    queue.release(lost_one)
    bill = (Draft("bill", queue="billing", key="b-1"),)
    pairs = [(one, way("letters", then=bill)) for one in (reservation, lost_one)]
    if not db.store.capabilities.transactions:
        before = everything(db)
        with pytest.raises(NotSupported):
            queue.settle(pairs)
        assert everything(db) == before
        return
    assert lost(queue.settle(pairs[1:])) == {lost_one.message.id}
    assert payloads(db.queue("billing")) == []
    assert queue.settle(pairs[:1]) == []
    assert payloads(db.queue("billing")) == ["bill"]
    assert len(queue.find("status = 'dead'") + db.queue("letters").find()) == 1


def test_a_commit_whose_follower_has_a_taken_key_leaves_the_holder(db: Database, queue: Queue, other: Queue) -> None:
    if not db.store.capabilities.transactions:
        return  # refused anyway: see the test of what a commit pushes
    held = other.push("held", key="b-1")
    queue.push("order")
    reservation = queue.reserve()
    assert reservation is not None
    queue.commit(reservation, then=[Draft("bill", queue="billing", key="b-1")])
    assert [(message.id, message.payload) for message in other.find()] == [(held.id, "held")]
    assert queue.count() == 0


UNFIT: list[tuple[Any, str]] = [
    (Draft("bill"), "must name its queue"),
    (Draft("bill", queue="two words"), "a queue cannot be called"),
    (Draft({1, 2}, queue="billing"), "set"),
    (Draft("bill", queue="billing", due=datetime(2026, 1, 1)), "no time zone"),
    ("bill", "Draft"),
]


def test_a_commit_that_calls_for_what_cannot_be_pushed_changes_nothing(db: Database, queue: Queue) -> None:
    queue.push("order")
    reservation = queue.reserve()
    assert reservation is not None
    before = everything(db)
    for draft, says in UNFIT:
        with pytest.raises(InvalidMessage, match=says):
            queue.commit(reservation, then=[Draft("good", queue="billing"), draft])
    assert everything(db) == before
    queue.commit(reservation)
