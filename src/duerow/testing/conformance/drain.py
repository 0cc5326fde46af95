"""A draining queue accepts no new messages; messages in progress still arrive, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest

from duerow import Database, Draft, Queue
from duerow.errors import QueueDraining, TimedOut
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.conformance.fixtures import Begin
from duerow.testing.contents import payloads


def test_a_drained_queue_takes_no_new_messages_until_it_is_resumed(
    db: Database, queue: Queue, other: Queue, open_database: Any
) -> None:
    queue.push("before", key="k")
    queue.drain(wait=False)
    another = open_database() if db.store.capabilities.processes else db  # an in-memory database has no other handle
    batches = [
        [Draft("one")],
        [Draft("keyed", key="new", delay=hours(1), headers={"a": 1}, priority=2)],
        [Draft("held", key="k")],
        [Draft("a"), Draft("b")],
        [Draft("a", key="x"), Draft("b", group="g")],
    ]
    for handle in (queue, another.queue("mail")):
        for batch in batches:
            with pytest.raises(QueueDraining, match="queue 'mail' is being drained"):
                handle.push_many(batch)
        with pytest.raises(QueueDraining):
            handle.push("held", key="k", on_duplicate="replace")
    assert payloads(queue) == ["before"]
    other.push("elsewhere")
    queue.resume()
    assert queue.push("after").outcome == "created"
    assert another.queue("mail").push("held", key="k").outcome == "ignored"


def test_what_is_under_way_arrives_in_a_queue_that_is_being_drained(db: Database, queue: Queue, other: Queue) -> None:
    other.push_many([Draft("moved"), Draft("split")])
    queue.push("fails")
    queue.drain(wait=False)
    moved, split = other.reserve_many(2)
    moved.move("mail")
    if db.store.capabilities.transactions:
        split.commit(then=[Draft("then", queue="mail"), Draft("then too", queue="mail")])
    else:
        split.move("mail", payload="then")
    reservation = queue.reserve()
    assert reservation is not None
    reservation.rollback(delay=seconds(0))
    assert set(payloads(queue)) >= {"fails", "moved", "then"}
    queue.resume()


def test_drain_returns_when_no_message_with_a_due_time_is_left(queue: Queue, clock: MovableClock) -> None:
    queue.push_many([Draft("dies"), Draft("is leased"), Draft("comes later", delay=minutes(1)), Draft("stopped")])
    reservation = queue.reserve()
    assert reservation is not None
    reservation.bury("no use")
    queue.reschedule(where="payload = 'stopped'", due=None)
    leased = queue.reserve()
    assert leased is not None
    for _ in range(2):
        with pytest.raises(TimedOut, match="still has messages"):
            queue.drain(seconds(0))
        leased.commit() if leased.until > clock.now() else None
        clock.advance(minutes(1))
    later = queue.pop()
    assert later is not None
    queue.drain()
    assert sorted(payloads(queue)) == ["dies", "stopped"]


def test_a_schedule_waits_while_its_queue_is_drained(db: Database, queue: Queue, clock: MovableClock) -> None:
    db.schedule("often", every=minutes(1), queue="mail", payload="tick", missed="all")
    queue.drain(wait=False)
    clock.advance(minutes(1))
    done = db.maintain()
    assert (done.pushed, isinstance(done.failed["often"], QueueDraining)) == (0, True)
    clock.advance(minutes(5))
    queue.resume()
    assert (db.maintain().pushed, payloads(queue)) == (6, ["tick"] * 6)


def test_a_push_into_a_drained_queue_leaves_the_callers_transaction_usable(
    db: Database, queue: Queue, other: Queue, begin: Begin | None
) -> None:
    if begin is None:
        assert not db.store.capabilities.within
        return
    queue.drain(wait=False)
    with begin() as transaction:
        other.push("first", within=transaction.handle)
        for drafts in ([Draft("one")], [Draft("keyed", key="k")], [Draft("a"), Draft("b")]):
            with pytest.raises(QueueDraining):
                queue.push_many(drafts, within=transaction.handle)
        other.push("second", within=transaction.handle)
        transaction.commit()
    assert (payloads(other), payloads(queue)) == (["first", "second"], [])
