"""An operator changes messages by id, key or condition; leased messages only with `even_if_leased`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from duerow import Database, Draft, Message, Queue
from duerow.errors import (
    CodecError,
    ConfigurationError,
    DuplicateKey,
    InvalidCondition,
    InvalidMessage,
    LeaseLost,
    MessageLeased,
)
from duerow.queue.edits import BATCH, Changed
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.contents import everything, payloads, stored
from duerow.where import payload

CHANGES: dict[str, dict[str, Any]] = {
    "edit": {"payload": "edited"},
    "reschedule": {"delay": hours(1)},
    "reprioritise": {"priority": 7},
    "requeue": {},
    "remove": {},
}
"""Every change, and what it takes besides the messages that are meant."""

each_change = pytest.mark.parametrize("change", CHANGES)


def bury(queue: Queue, *keys: str) -> list[Message]:
    """Push a message for each key and bury it."""
    for key in keys:
        queue.push(f"dead {key}", key=key)
    reservations = queue.reserve_many(len(keys))
    for reservation in reservations:
        queue.bury(reservation, "no use")
    return [stored(queue, one.message.id) for one in reservations]


# Edit.


def test_an_edited_message_has_its_new_payload_and_keeps_its_place(queue: Queue, clock: MovableClock) -> None:
    first = queue.push({"a": 1}, delay=minutes(1), headers={"h": 1})
    queue.push("second", delay=minutes(2))
    before = stored(queue, first.id)
    assert queue.edit(first.id, payload=[1.0, None]) == Changed(1)
    after = stored(queue, first.id)
    assert (after.payload, after.kind, after.headers) == ([1.0, None], "json", {"h": 1})
    assert (after.due_at, after.first_due_at, after.created_at) == (
        before.due_at,
        before.first_due_at,
        before.created_at,
    )
    assert (after.token, after.attempts, after.status) == (before.token + 1, 0, "new")
    clock.advance(minutes(3))
    assert [message.payload for message in queue.pop_many(2)] == [[1.0, None], "second"]


def test_a_payload_is_patched_and_headers_are_merged(queue: Queue) -> None:
    queue.push({"a": {"b": 1, "c": 2}, "d": 3}, key="m-1", headers={"x": 1, "y": 2})
    queue.edit(key="m-1", patch={"a": {"b": None, "e": [1]}, "d": 4}, headers={"x": None, "z": True})
    message = queue.find()[0]
    assert message.payload == {"a": {"c": 2, "e": [1]}, "d": 4}
    assert message.headers == {"y": 2, "z": True}
    queue.edit(key="m-1", headers={"y": None, "z": None})
    assert (queue.find()[0].payload, queue.find()[0].headers) == ({"a": {"c": 2, "e": [1]}, "d": 4}, {})


def test_a_payload_may_become_null_or_bytes(queue: Queue) -> None:
    id = queue.push("a").id
    assert queue.edit(id, payload=None)
    assert stored(queue, id).payload is None
    assert queue.edit(id, payload=b"\0")
    assert (stored(queue, id).payload, stored(queue, id).kind) == (b"\0", "bytes")


def test_all_messages_of_a_condition_are_edited_each_by_its_own_content(queue: Queue) -> None:
    queue.push_many([Draft({"n": n, "old": True}) for n in range(6)])
    assert queue.edit(where="payload.n > 2", patch={"old": None}) == Changed(3)
    assert payloads(queue) == [{"n": n, "old": True} for n in range(3)] + [{"n": n} for n in range(3, 6)]


def test_an_edit_that_cannot_be_carried_changes_nothing(db: Database, queue: Queue) -> None:
    queue.push({"a": 1})
    before = everything(db)
    unfit: list[dict[str, Any]] = [
        {"payload": object()},
        {"patch": {"a": float("nan")}},
        {"headers": {"a": [1]}},
        {"payload": "\0"},
        {"payload": "x" * (1 << 20)},
    ]
    for wrong in unfit:
        with pytest.raises(CodecError):
            queue.edit(where="payload.a = 1", **wrong)
    with pytest.raises(ConfigurationError, match="the edit changes nothing"):
        queue.edit(where="payload.a = 1")
    with pytest.raises(ConfigurationError, match="not both"):
        queue.edit(where="payload.a = 1", payload=1, patch={})
    assert everything(db) == before


def test_a_patch_that_makes_a_payload_too_large_names_the_message(db: Database) -> None:
    small = db.queue("small", max_payload_bytes=20)
    id = small.push({"a": "1234567890"}).id
    with pytest.raises(CodecError, match=f"message {id} cannot be patched"):
        small.edit(id, patch={"b": "12345"})
    assert stored(small, id).payload == {"a": "1234567890"}


# Reschedule, reprioritise, requeue.


def test_a_message_is_rescheduled_to_a_time_or_by_a_delay(queue: Queue, clock: MovableClock) -> None:
    id = queue.push("a", delay=hours(5)).id
    first_due_at = stored(queue, id).first_due_at
    assert queue.reschedule(id, due=clock.now() + hours(1)) == Changed(1)
    assert stored(queue, id).due_at == clock.now() + hours(1)
    queue.reschedule(id, delay=timedelta(0))
    assert (stored(queue, id).due_at, stored(queue, id).first_due_at) == (clock.now(), first_due_at)
    assert queue.pop() is not None


def test_a_stopped_message_is_not_handed_out_until_it_is_rescheduled(db: Database, queue: Queue) -> None:
    queue.push("a", key="m-1")
    assert queue.reschedule(key="m-1", due=None)
    message = queue.find()[0]
    assert (message.due_at, message.status) == (None, "new")
    assert queue.pop() is None
    assert queue.contains("m-1")
    assert db.run(lambda: db.store.messages.next_due(["mail"], seconds(0))) is None
    queue.reschedule(key="m-1", delay=timedelta(0))
    assert queue.pop() is not None


def test_a_rescheduled_dead_message_runs_once_more_with_the_attempts_it_has(queue: Queue, clock: MovableClock) -> None:
    (dead,) = bury(queue, "m-1")
    assert queue.reschedule(dead.id, delay=minutes(1)) == Changed(1)
    message = stored(queue, dead.id)
    assert (message.status, message.attempts, message.due_at) == ("error", 1, clock.now() + minutes(1))
    assert message.last_error == dead.last_error
    assert queue.contains("m-1")
    clock.advance(minutes(1))
    reservation = queue.reserve()
    assert reservation is not None
    assert reservation.message.attempts == 2


def test_what_is_dead_need_not_be_stopped(queue: Queue) -> None:
    (dead,) = bury(queue, "m-1")
    assert queue.reschedule(dead.id, due=None) == Changed(0)
    assert stored(queue, dead.id) == dead


def test_a_reprioritised_message_is_handed_out_in_its_new_place(queue: Queue) -> None:
    ids = [queue.push(n).id for n in range(3)]
    assert queue.reprioritise(ids[2], priority=-5) == Changed(1)
    assert queue.reprioritise(where="payload = 0", priority=5) == Changed(1)
    assert [message.payload for message in queue.peek(3)] == [2, 1, 0]
    assert [message.priority for message in queue.pop_many(3)] == [-5, 0, 5]


def test_a_requeued_message_begins_anew(queue: Queue, clock: MovableClock) -> None:
    dead = bury(queue, "m-1", "m-2")
    queue.push("failed")
    failed = queue.reserve()
    assert failed is not None
    queue.rollback(failed, delay=hours(5), error="boom")
    stopped = queue.push("stopped").id
    queue.reschedule(stopped, due=None)
    clock.advance(minutes(1))
    assert queue.requeue(where="status in ('dead', 'error') or due_at is null") == Changed(4)
    for id in (dead[0].id, dead[1].id, failed.message.id, stopped):
        message = stored(queue, id)
        assert (message.status, message.attempts, message.last_error) == ("new", 0, None)
        assert (message.due_at, message.last_attempt_at) == (clock.now(), None)
    assert queue.contains("m-1")
    assert [one.attempt for one in queue.reserve_many(10)] == [1, 1, 1, 1]


def test_a_dead_message_whose_key_is_taken_stays_dead(queue: Queue) -> None:
    (dead,) = bury(queue, "m-1")
    queue.push("alive", key="m-1")
    for change in (queue.requeue, lambda id: queue.reschedule(id, delay=minutes(1))):
        with pytest.raises(DuplicateKey, match="m-1"):
            change(dead.id)
    assert queue.requeue(where="status = 'dead'") == Changed(0, 1)
    assert queue.requeue(where="status = 'dead'", dry_run=True) == Changed(0, 1)
    assert stored(queue, dead.id) == dead
    assert queue.edit(dead.id, payload="fixed") == Changed(1)
    assert stored(queue, dead.id).status == "dead"


def test_of_dead_messages_with_one_key_the_first_comes_back(queue: Queue) -> None:
    first, other = bury(queue, "m-1"), bury(queue, "m-2")
    second = bury(queue, "m-1")
    assert queue.requeue(where="status = 'dead'", dry_run=True) == Changed(2, 1)
    assert queue.requeue(where="status = 'dead'") == Changed(2, 1)
    assert [stored(queue, one.id).status for one in (*first, *other, *second)] == ["new", "new", "dead"]


# Which messages.


@each_change
def test_a_message_is_changed_by_its_id_its_key_or_a_condition(queue: Queue, change: str) -> None:
    ids = [queue.push(n, key=f"k{n}").id for n in range(4)]
    act, more = getattr(queue, change), CHANGES[change]
    tokens = {message.id: message.token for message in queue.find()}
    assert act(ids[0], **more) == Changed(1)
    assert act(key="k1", **more) == Changed(1)
    assert act(where="key = 'k2'", **more) == Changed(1)
    left = {message.id: message.token for message in queue.find() if message.token == tokens[message.id]}
    assert list(left) == [ids[3]]


@each_change
def test_what_is_not_there_is_not_changed(queue: Queue, other: Queue, change: str) -> None:
    others = other.push("another's", key="k").id
    act, more = getattr(queue, change), CHANGES[change]
    for which in ({"id": others}, {"id": others + 1000}, {"key": "k"}, {"where": "key = 'k'"}):
        changed = act(**which, **more)
        assert changed == Changed(0)
        assert not changed
    assert stored(other, others).token == 0


@each_change
def test_which_messages_are_meant_must_be_said_in_one_way(db: Database, queue: Queue, change: str) -> None:
    queue.push("a", key="k")
    before = everything(db)
    act, more = getattr(queue, change), CHANGES[change]
    unclear: list[dict[str, Any]] = [{}, {"id": 1, "key": "k"}, {"key": "k", "where": "id > 0"}]
    for which in (*unclear, {"id": "id > 0"}, {"id": True}, {"id": 1 << 63}):
        with pytest.raises(
            ConfigurationError, match=r"exactly one of an id, a key and a condition|an id must be a 64-bit integer"
        ):
            act(**which, **more)
    with pytest.raises(InvalidMessage, match="key"):
        act(key="", **more)
    for where in ("colour = 1", payload.a, 5):
        with pytest.raises(InvalidCondition):
            act(where=where, **more)
    assert everything(db) == before


def test_what_to_change_to_must_be_said_and_be_possible(db: Database, queue: Queue) -> None:
    id = queue.push("a").id
    before = everything(db)
    with pytest.raises(ConfigurationError, match="exactly one of a due time"):
        queue.reschedule(id)
    with pytest.raises(ConfigurationError, match="exactly one of"):
        queue.reschedule(id, due=None, delay=minutes(1))
    wrongs: list[dict[str, Any]] = [{"delay": minutes(-1)}, {"due": "soon"}, {"delay": 5}]
    for wrong in wrongs:
        with pytest.raises(InvalidMessage):
            queue.reschedule(id, **wrong)
    for priority in (40_000, 1.0, True, "1"):
        with pytest.raises(InvalidMessage, match="priority"):
            queue.reprioritise(id, priority=priority)  # type: ignore[arg-type]
    assert everything(db) == before


@each_change
def test_many_batches_change_each_message_once(queue: Queue, change: str) -> None:
    number = 2 * BATCH + 7
    queue.push_many([Draft({"n": n}) for n in range(number)])
    act, more = getattr(queue, change), CHANGES[change]
    assert act(where="payload.n >= 3", dry_run=True, **more) == Changed(number - 3)
    assert act(where="payload.n >= 3", **more) == Changed(number - 3)
    if change == "remove":
        assert payloads(queue) == [{"n": n} for n in range(3)]
    else:
        assert [message.token for message in queue.find(limit=number)] == [0, 0, 0, *[1] * (number - 3)]


@each_change
def test_a_dry_run_changes_nothing_and_says_what_would_be(
    db: Database, queue: Queue, clock: MovableClock, change: str
) -> None:
    queue.push_many([Draft(n) for n in range(5)])
    queue.reserve_many(2, lease=minutes(1))
    before = everything(db)
    act, more = getattr(queue, change), CHANGES[change]
    assert act(where="id > 0", dry_run=True, **more) == Changed(3, 2)
    assert act(where="id > 0", dry_run=True, even_if_leased=True, **more) == Changed(5)
    assert act(before[4].id, dry_run=True, **more) == Changed(1)
    with pytest.raises(MessageLeased):
        act(before[0].id, dry_run=True, **more)
    assert everything(db) == before
    clock.advance(minutes(1))
    assert act(where="id > 0", dry_run=True, **more) == Changed(5)
    assert act(where="id > 0", **more) == Changed(5)


# Leases.


@each_change
def test_a_message_under_lease_is_not_changed(db: Database, queue: Queue, change: str) -> None:
    queue.push("a", key="k")
    queue.push("free")
    reservation = queue.reserve()
    assert reservation is not None
    before = everything(db)[0]
    act, more = getattr(queue, change), CHANGES[change]
    for which in ({"id": before.id}, {"key": "k"}):
        with pytest.raises(MessageLeased, match=f"message {before.id} is leased by {before.leased_by}") as refused:
            act(**which, **more)
        assert refused.value.message_id == before.id
    assert act(where="id > 0", **more) == Changed(1, 1)
    assert everything(db)[0] == before
    queue.commit(reservation)


@each_change
def test_a_lease_is_ended_when_that_is_said_and_its_holder_is_refused(queue: Queue, change: str) -> None:
    ids = [queue.push(n).id for n in range(2)]
    reservations = queue.reserve_many(2)
    act, more = getattr(queue, change), CHANGES[change]
    assert act(ids[0], even_if_leased=True, **more) == Changed(1)
    assert act(where=f"id = {ids[1]}", even_if_leased=True, **more) == Changed(1)
    for reservation in reservations:
        with pytest.raises(LeaseLost):
            queue.commit(reservation)
    if change != "remove":
        assert [stored(queue, id).leased_by for id in ids] == [None, None]


def test_a_message_whose_lease_was_ended_by_an_edit_is_due_at_once(queue: Queue, clock: MovableClock) -> None:
    id = queue.push("a").id
    queue.reserve(lease=hours(1))
    clock.advance(minutes(1))
    queue.edit(id, payload="b", even_if_leased=True)
    assert stored(queue, id).due_at == clock.now()
    assert [message.payload for message in queue.pop_many(2)] == ["b"]


@each_change
def test_a_lease_that_ended_unsettled_is_cleared(queue: Queue, clock: MovableClock, change: str) -> None:
    id = queue.push("a").id
    queue.reserve(lease=minutes(1))
    clock.advance(minutes(2))
    assert getattr(queue, change)(id, **CHANGES[change]) == Changed(1)
    if change == "remove":
        return
    message = stored(queue, id)
    assert (message.leased_by, message.leased_until, message.last_error) == (None, None, None)
    clock.advance(hours(2))
    again = queue.reserve()
    assert again is not None
    assert again.message.last_error is None


def test_a_change_clears_the_lease_that_would_have_buried_the_message(db: Database, clock: MovableClock) -> None:
    strict = db.queue("strict", retry=lambda *_: None)
    id = strict.push("a").id
    for _ in range(20):
        strict.reserve(lease=minutes(1))
        clock.advance(minutes(1))
    strict.edit(id, headers={"seen": True})
    assert strict.reserve() is not None
    assert strict.count("dead") == 0


# Groups.


def test_a_stopped_head_keeps_its_group_waiting_and_a_removed_one_does_not(queue: Queue) -> None:
    ids = [one.id for one in queue.push_many([Draft(n, group="g") for n in range(3)])]
    queue.reschedule(ids[0], due=None)
    assert queue.pop() is None
    queue.remove(ids[0])
    assert popped(queue) == 1
    assert popped(queue) == 2


def test_a_head_whose_lease_was_ended_is_handed_out_again_before_the_others(queue: Queue) -> None:
    ids = [one.id for one in queue.push_many([Draft(n, group="g") for n in range(2)])]
    queue.reserve()
    assert queue.reserve() is None
    queue.edit(ids[0], payload="again", even_if_leased=True)
    again = queue.reserve_many(5)
    assert [one.message.payload for one in again] == ["again"]
    queue.commit(again[0])
    assert popped(queue) == 1


def test_a_dead_message_that_comes_back_goes_before_the_rest_of_its_group(queue: Queue) -> None:
    ids = [one.id for one in queue.push_many([Draft(n, group="g") for n in range(3)])]
    head = queue.reserve()
    assert head is not None
    queue.bury(head, "no use")
    assert [message.payload for message in queue.peek(5)] == [1]
    queue.requeue(ids[0])
    assert popped(queue) == 0
    assert popped(queue) == 1
    assert popped(queue) == 2


def test_a_member_of_a_group_does_not_overtake_by_being_due_first_or_by_priority(queue: Queue) -> None:
    ids = [one.id for one in queue.push_many([Draft(n, group="g") for n in range(3)])]
    queue.reschedule(ids[2], delay=timedelta(0))
    queue.reprioritise(ids[1], priority=-9)
    assert [popped(queue) for _ in ids] == [0, 1, 2]


def popped(queue: Queue) -> Any:
    """Pop the next message and return its payload."""
    message = queue.pop()
    assert message is not None, "nothing is due"
    return message.payload
