"""With `within=`, duerow works in the caller's transaction, which only the caller commits or rolls back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from duerow import Commit, Database, Draft, Queue, Reservation
from duerow.errors import CodecError, ConfigurationError, DuplicateKey, LeaseLost, NotSupported
from duerow.store import Entry
from duerow.testing.clock import MovableClock, hours, minutes
from duerow.testing.conformance.fixtures import Begin
from duerow.testing.conformance.payloads import shape
from duerow.testing.contents import empty, everything, lost, payloads, stored

CHANGES: dict[str, Callable[[Queue, Reservation, Any], object]] = {
    "push": lambda queue, mine, own: queue.push("new", within=own),
    "push with a new key": lambda queue, mine, own: queue.push("new", key="m-9", within=own),
    "push to replace": lambda queue, mine, own: queue.push("new", key="m-1", on_duplicate="replace", within=own),
    "push to hasten": lambda queue, mine, own: queue.push("new", key="m-2", on_duplicate="earliest", within=own),
    "push_many": lambda queue, mine, own: queue.push_many(
        [Draft(1), Draft(2, key="m-1"), Draft(3, key="k")], within=own
    ),
    "push_many to replace": lambda queue, mine, own: queue.push_many(
        [Draft(2, key="m-1"), Draft(3, key="k"), Draft(4, key="k")], on_duplicate="replace", within=own
    ),
    "pop": lambda queue, mine, own: queue.pop(within=own),
    "pop_many": lambda queue, mine, own: queue.pop_many(5, within=own),
    "commit": lambda queue, mine, own: queue.commit(mine, within=own),
    "commit and push": lambda queue, mine, own: queue.commit(mine, then=[Draft("bill", queue="billing")], within=own),
    "rollback": lambda queue, mine, own: queue.rollback(mine, delay=minutes(1), error="no line", within=own),
    "bury": lambda queue, mine, own: queue.bury(mine, "no use", within=own),
    "release": lambda queue, mine, own: queue.release(mine, within=own),
    "extend": lambda queue, mine, own: queue.extend(mine, hours(1), within=own),
    "move": lambda queue, mine, own: queue.move(mine, "billing", {"price": 1.0}, key="b-1", within=own),
    "commit_many": lambda queue, mine, own: queue.commit_many([mine], within=own),
    "rollback_many": lambda queue, mine, own: queue.rollback_many([mine], delay=minutes(1), within=own),
    "bury_many": lambda queue, mine, own: queue.bury_many([mine], "no use", within=own),
    "release_many": lambda queue, mine, own: queue.release_many([mine], within=own),
    "extend_many": lambda queue, mine, own: queue.extend_many([mine], hours(1), within=own),
    "move_many": lambda queue, mine, own: queue.move_many([mine], "billing", within=own),
    "remove": lambda queue, mine, own: queue.remove(key="m-2", within=own),
    "edit": lambda queue, mine, own: queue.edit(key="m-2", patch={"a": 1}, headers={"b": 2}, within=own),
    "reschedule": lambda queue, mine, own: queue.reschedule(where="status = 'new'", delay=minutes(5), within=own),
    "stop": lambda queue, mine, own: queue.reschedule(where="payload = 'due'", due=None, within=own),
    "reprioritise": lambda queue, mine, own: queue.reprioritise(
        mine.message.id, priority=3, even_if_leased=True, within=own
    ),
    "requeue": lambda queue, mine, own: queue.requeue(where="attempts >= 0", within=own),
    "remove by condition": lambda queue, mine, own: queue.remove(where="payload = 'due'", within=own),
    "remove by id": lambda queue, mine, own: queue.remove(mine.message.id, even_if_leased=True, within=own),
}


def prepare(queue: Queue, clock: MovableClock) -> Reservation:
    """Push three messages: m-1, which is leased, m-2, which is delayed, and one that is due."""
    queue.push({"n": 1}, key="m-1", headers={"a": 1})
    mine = queue.reserve()
    assert mine is not None
    queue.push("delayed", key="m-2", delay=hours(1))
    queue.push("due")
    clock.advance(minutes(0.5))
    return mine


def test_every_change_is_undone_when_the_caller_rolls_back(
    db: Database, queue: Queue, clock: MovableClock, begin: Begin | None
) -> None:
    mine = prepare(queue, clock)
    if begin is None:
        refuse_all(db, queue, mine, object())
        return
    before = everything(db)
    for name, change in CHANGES.items():
        with begin() as own:
            change(queue, mine, own.handle)
            assert everything(db) == before, f"another connection saw {name} before it was committed"
            own.rollback()
        assert everything(db) == before, f"{name} outlived the caller's transaction"
    assert queue.commit_many([mine]) == []


def test_every_change_holds_when_the_caller_commits(
    db: Database, queue: Queue, clock: MovableClock, begin: Begin | None
) -> None:
    if begin is None:
        refuse_all(db, queue, prepare(queue, clock), object())
        return
    for name, change in CHANGES.items():
        empty(db)
        mine = prepare(queue, clock)
        before = everything(db)
        with begin() as own:
            change(queue, mine, own.handle)
            own.commit()
        assert everything(db) != before, f"{name} did not last"


def test_what_is_no_transaction_is_refused_before_anything_changes(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    mine = prepare(queue, clock)
    for handle in ("no transaction", 7, object(), db, queue):
        refuse_all(db, queue, mine, handle)


def refuse_all(db: Database, queue: Queue, mine: Reservation, handle: Any) -> None:
    """Check that every change within that handle is refused and nothing happens."""
    before = everything(db)
    for change in CHANGES.values():
        with pytest.raises(ConfigurationError if db.store.capabilities.within else NotSupported, match="within"):
            change(queue, mine, handle)
    assert everything(db) == before


def test_several_changes_of_one_transaction_see_each_other(
    db: Database, queue: Queue, other: Queue, begin: Begin | None
) -> None:
    if begin is None:
        assert not db.store.capabilities.within
        return
    queue.push_many([Draft(1), Draft(2), Draft(3, key="m-3")])
    reservations = queue.reserve_many(2)
    with begin() as own:
        first = queue.push("first", key="m-1", within=own.handle)
        assert queue.push("second", key="m-1", within=own.handle).id == first.id
        assert lost(queue.commit_many(reservations, within=own.handle)) == set()
        assert lost(queue.commit_many(reservations, within=own.handle)) == {one.message.id for one in reservations}
        assert [message.payload for message in queue.pop_many(5, within=own.handle)] == [3, "first"]
        assert queue.push("third", key="m-1", within=own.handle).outcome == "created"
        own.commit()
    assert payloads(queue) == ["third"]


def test_a_message_comes_back_the_same_from_the_callers_transaction(
    db: Database, queue: Queue, clock: MovableClock, begin: Begin | None
) -> None:
    if begin is None:
        assert not db.store.capabilities.within
        return
    created_at, at = clock.now(), clock.now() + hours(1)
    payload = {"text": "ž\\u0000%s:name?", "n": [1, 1.0, -0.0, 1e23, None, True], "big": (1 << 63) - 1}
    headers: dict[str, str | float] = {"a": "€", "b": 1.0}
    with begin() as own:
        whole = queue.push(payload, key="ž ", due=at, headers=headers, within=own.handle)
        raw = queue.push(b"\0\xff", within=own.handle)
        own.commit()
    assert (stored(queue, raw.id).payload, stored(queue, raw.id).due_at) == (b"\0\xff", created_at)
    clock.advance(hours(2))
    with begin() as own:
        messages = queue.pop_many(2, within=own.handle)
        own.commit()
    assert [message.id for message in messages] == [raw.id, whole.id]
    message = messages[1]
    assert shape(message.payload) == shape(payload)
    assert (message.key, message.headers, message.kind) == ("ž ", headers, "json")
    assert (message.created_at, message.due_at, message.attempts) == (created_at, at, 1)


def test_a_consumer_of_any_kind_takes_declared_types_in_the_callers_transaction(
    db: Database, queue: Queue, begin: Begin | None
) -> None:
    if begin is None:
        assert not db.store.capabilities.within
        return
    invoice = Entry("mail", None, "Invoice", '{"n":1}', None, None, None)
    db.run(lambda: db.store.messages.push([invoice], "ignore"))
    with begin() as own:
        assert [one.payload for one in queue.of_any_kind().pop_many(5, within=own.handle)] == [{"n": 1}]
        own.commit()
    assert queue.count() == 0


def test_a_refusal_leaves_the_callers_transaction_as_it_was(
    db: Database, queue: Queue, clock: MovableClock, begin: Begin | None
) -> None:
    if begin is None:
        assert not db.store.capabilities.within
        return
    mine = prepare(queue, clock)
    queue.push("kept", key="m-3", delay=hours(1))
    with begin() as own:
        queue.push("before", within=own.handle)
        with pytest.raises(DuplicateKey):
            queue.push("again", key="m-1", on_duplicate="reject", within=own.handle)
        with pytest.raises(DuplicateKey):
            queue.push_many([Draft(1), Draft(2, key="m-3")], on_duplicate="reject", within=own.handle)
        with pytest.raises(CodecError):
            queue.push({1, 2}, within=own.handle)
        with pytest.raises(CodecError):
            queue.push_many([*map(Draft, range(600)), Draft(object())], within=own.handle)
        queue.release(mine, within=own.handle)
        with pytest.raises(LeaseLost):
            queue.commit(mine, within=own.handle)
        assert lost(queue.settle([(mine, Commit())], within=own.handle)) == {mine.message.id}
        assert queue.push("again", key="m-1", within=own.handle).outcome == "ignored"
        queue.push("after", within=own.handle)
        own.commit()
    assert payloads(queue) == [{"n": 1}, "delayed", "due", "kept", "before", "after"]


def test_a_move_to_a_taken_key_is_refused_alone_in_the_callers_transaction(
    db: Database, queue: Queue, other: Queue, begin: Begin | None
) -> None:
    if begin is None:
        assert not db.store.capabilities.within
        return
    other.push("held", key="m-1")
    queue.push_many([Draft(1, key="m-1"), Draft(2, key="m-2")])
    taken, free = queue.reserve_many(2)
    with begin() as own:
        with pytest.raises(DuplicateKey):
            queue.move(taken, "billing", within=own.handle)
        [refused] = queue.move_many([taken, free], "billing", within=own.handle)
        assert (refused.receipt, type(refused.error)) == (taken.receipt, DuplicateKey)
        own.commit()
    assert payloads(other) == ["held", 2]
    queue.commit(taken)


def test_large_batches_are_written_within_the_callers_transaction(
    db: Database, queue: Queue, begin: Begin | None
) -> None:
    if begin is None:
        assert not db.store.capabilities.within
        return
    with begin() as own:
        answers = queue.push_many([Draft(number, key=str(number)) for number in range(6_000)], within=own.handle)
        own.commit()
    assert [one.outcome for one in answers] == ["created"] * 6_000
    assert queue.count() == 6_000
