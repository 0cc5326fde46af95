"""A replay pushes finished messages from the history again, as new messages that name the originals."""

from __future__ import annotations

from datetime import timedelta

import pytest

from duerow import Bury, Commit, Database, Move, Queue, Rollback
from duerow.errors import ConfigurationError, InvalidCondition, InvalidMessage
from duerow.queue import history
from duerow.settlement import Settlement
from duerow.testing.clock import MovableClock, hours, seconds

WEEK = timedelta(days=7)


def made(db: Database) -> Queue:
    """Return a queue that keeps a history and remembers keys, which do not prevent replays."""
    return db.queue("orders", history=WEEK, remember_keys=WEEK)


def ended(orders: Queue, clock: MovableClock) -> dict[str, int]:
    """Return messages whose turns ended, a second apart, by the way they ended."""
    ends: dict[str, Settlement] = {
        "done": Commit(),
        "dropped": Commit(dropped=True),
        "dead": Bury("no use"),
        "moved": Move("billing"),
        "failed": Rollback(hours(1), "no line"),
    }
    ids = {}
    for name, settlement in ends.items():
        ids[name] = orders.push({"was": name}, key=name, group="g" + name, priority=2, headers={"trace": name}).id
        reservation = orders.reserve()
        assert reservation is not None
        clock.advance(seconds(1))
        orders.settle([(reservation, settlement)])
    return ids


def test_ends_are_pushed_again_as_new_messages(db: Database, clock: MovableClock) -> None:
    orders = made(db)
    ids = ended(orders, clock)
    dry = orders.replay(where="payload.was in ('dead', 'done', 'failed')", dry_run=True)
    assert (dry.count, dry.skipped, dry.ids) == (2, 0, ())
    clock.advance(seconds(5))
    done = orders.replay(where="payload.was in ('dead', 'done', 'failed')")
    assert (bool(done), done.count, done.skipped) == (True, 2, 0)
    new = [orders.get(id) for id in done.ids]
    assert [message and (message.payload, message.key, message.group, message.priority) for message in new] == [
        ({"was": was}, was, "g" + was, 2) for was in ("done", "dead")
    ]
    assert [message and message.headers for message in new] == [
        {"trace": was, "replay-of": ids[was]} for was in ("done", "dead")
    ]
    assert {message and message.due_at for message in new} == {clock.now()}
    assert not set(done.ids) & set(ids.values())
    again = orders.replay(where="outcome != 'failed'")
    assert (again.count, again.skipped) == (2, 2)


def test_one_message_is_pushed_again_by_its_id(db: Database, clock: MovableClock) -> None:
    orders = made(db)
    ids = ended(orders, clock)
    assert orders.replay(ids["moved"], dry_run=True).count == 1
    (id,) = orders.replay(ids["moved"]).ids
    message = orders.get(id)
    assert message is not None
    assert (message.payload, message.headers["replay-of"]) == ({"was": "moved"}, ids["moved"])
    assert orders.replay(ids["moved"]).skipped == 1
    for wrong in (ids["failed"], 10**9):
        with pytest.raises(InvalidMessage, match=f"does not contain the end of message {wrong}"):
            orders.replay(wrong)


def test_a_replay_goes_batch_by_batch_over_what_had_ended_when_it_began(
    db: Database, monkeypatch: pytest.MonkeyPatch, clock: MovableClock
) -> None:
    orders = made(db)
    ended(orders, clock)
    monkeypatch.setattr(history, "REPLAY_BATCH", 1)
    assert orders.replay(where="id > 0", limit=3, dry_run=True).count == 3
    done = orders.replay(where="id > 0", limit=3)
    found = [orders.get(id) for id in done.ids]
    assert [message and message.payload["was"] for message in found] == ["done", "dropped", "dead"]
    assert orders.replay(where="id > 0").count == 1
    while orders.pop():
        pass
    assert orders.replay(where="attempts >= 0").count == 4


def test_what_cannot_be_replayed_is_said_before_anything_is_pushed(db: Database, clock: MovableClock) -> None:
    orders = made(db)
    ended(orders, clock)
    before = orders.count()
    for wrong in ({}, {"id": 1, "where": "id = 1"}, {"id": "1"}, {"where": "id = 1", "limit": 0}):
        with pytest.raises(ConfigurationError):
            orders.replay(**wrong)
    with pytest.raises(InvalidCondition, match="no field 'status'"):
        orders.replay(where="status = 'dead'")
    assert not orders.replay(where="payload.was = 'nothing'")
    assert orders.count() == before
