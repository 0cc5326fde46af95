"""Rows are found, counted and changed by conditions on the user's own columns."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from duerow import fixed, limited
from duerow.errors import ConfigurationError, InvalidMessage, LeaseLost, MessageLeased
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from tests.entity.models import Mail


@pytest.fixture
def queue(open_queue: Any) -> Any:
    """One that gives up after a single attempt."""
    return open_queue(retry=limited(1, fixed(seconds(0))))


def test_how_a_queue_stands_and_why_a_row_is_not_running(queue: Any, add: Any, clock: MovableClock) -> None:
    failed, done, leased, delayed, ready, other = add("a", "a", "b", "b", "c", "c")
    first, second, third = queue.reserve_many(3, lease=minutes(1))
    queue.rollback(first, error="no line")
    queue.commit(second)
    assert queue.reschedule(id=delayed, delay=hours(1)).count == 1
    stopped = other
    queue.reschedule(Mail.payload.is_not(None), Mail.id == stopped, due=None)
    stands = queue.stats()
    numbers = {name: getattr(stands, name) for name in ("queue", "ready", "delayed", "leased", "dead", "capped")}
    assert numbers == dict(queue="mail.sending", ready=1, delayed=1, leased=1, dead=1, capped=frozenset())
    assert (stands.oldest_due_at, stands.next_due_at) == (clock.now(), clock.now() + minutes(1))
    assert queue.stats(exact=True) == stands
    expected = {failed: "dead", done: "done", leased: "leased", delayed: "not-due", ready: "ready", stopped: "stopped"}
    assert {id: [reason.code for reason in queue.why(id)] for id in expected} == {
        id: [code] for id, code in expected.items()
    }
    assert "failed for good after 1 attempt: no line" in queue.why(failed)[0].text
    assert queue.why(leased)[0].by == third.message.leased_by
    with pytest.raises(InvalidMessage, match=r"mail\.sending has no row with id 999999"):
        queue.why(999_999)
    clock.advance(minutes(1))
    assert [reason.code for reason in queue.why(leased)] == ["limit"]


def test_rows_are_found_and_counted_by_their_own_columns_a_page_at_a_time(queue: Any, add: Any) -> None:
    ids = add(1, 2, 2, 3)
    queue.bury(queue.reserve(), "no use")
    assert [row.id for row in queue.find(status="dead")] == ids[:1]
    assert [row.id for row in queue.find(Mail.id > ids[0], Mail.sending.status == "new", limit=2)] == ids[1:3]
    assert [row.id for row in queue.find(after=ids[1])] == ids[2:]
    assert [row.id for row in queue.find(order_by=Mail.id.desc(), limit=1)] == ids[3:]
    assert (queue.count(), queue.count(status="new"), queue.count(Mail.id < ids[2], status="new")) == (4, 3, 1)
    assert queue.count(by=Mail.sending_status) == {"new": 3, "dead": 1}
    with pytest.raises(ConfigurationError, match="a status must be one of"):
        queue.find(status="failed")
    with pytest.raises(ConfigurationError, match="leave order_by= or after= out"):
        queue.find(order_by=Mail.key, after=1)


def test_a_count_says_when_it_ended_at_the_cap(queue: Any, add: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module = type(getattr(queue, "_wrapped", queue)).__module__
    monkeypatch.setattr(f"{module}_edits.CAP", 2)
    add(*range(4))
    assert (str(queue.count()), queue.count(exact=True)) == ("2+", 4)
    stands = queue.stats()
    assert (stands.shown("ready"), stands.shown("dead"), queue.stats(exact=True).ready) == ("2+", "0", 4)


def test_changes_spare_what_is_leased_and_end_it_when_told_to(
    queue: Any, add: Any, look: Any, clock: MovableClock, engine: Engine
) -> None:
    dead, done, leased, idle = add("dead", "done", "leased", "idle")
    first, second, mine = queue.reserve_many(3)
    queue.rollback(first, error="no line")
    queue.commit(second)
    with pytest.raises(MessageLeased, match=f"message {leased} is leased by {mine.message.leased_by}"):
        queue.requeue(id=leased)
    dry = queue.reschedule(Mail.id > 0, delay=hours(1), dry_run=True)
    assert (dry.count, dry.skipped) == (2, 1)
    assert queue.reschedule(Mail.id > 0, delay=hours(1)) == dry
    states = {id: look(id).sending for id in (dead, done, leased, idle)}
    assert [state.status for state in states.values()] == ["error", "done", "new", "new"]
    assert states[dead].due_at == states[idle].due_at == clock.now() + hours(1)
    assert (states[dead].attempts, states[dead].failure.message) == (1, "no line")
    assert queue.requeue(Mail.id > 0, even_if_leased=True).count == 3
    with pytest.raises(LeaseLost):
        queue.commit(mine)
    again = queue.reserve_many(9)
    assert [(one.message.id, one.attempt, one.message.last_error) for one in again] == [
        (dead, 1, None),
        (leased, 1, None),
        (idle, 1, None),
    ]
    for wrong in ({}, {"id": 1, "where": Mail.id > 0}):
        conditions = [wrong.pop("where")] if "where" in wrong else []
        with pytest.raises(ConfigurationError, match="give either id="):
            queue.requeue(*conditions, **wrong)
    with pytest.raises(ConfigurationError, match="takes either due or delay"):
        queue.reschedule(id=dead)


def test_a_change_within_the_callers_session_is_undone_with_it(
    queue: Any, add: Any, look: Any, own_engine: Any, engine: Engine, face: Any
) -> None:
    if face.name == "async":  # an AsyncSession cannot be used from here; the statements are the same
        return
    (id,) = add("hello")
    with Session(own_engine) as session:
        assert queue.reschedule(id=id, due=None, within=session)
        session.rollback()
    assert look(id).sending.due_at is not None


def test_a_delay_and_a_requeue_go_by_the_databases_clock(open_queue: Any, add: Any, look: Any) -> None:
    queue = open_queue(clock=None)
    (id,) = add("hello")
    before = look(id).sending
    assert queue.requeue(id=id)
    now = look(id).sending.due_at
    assert queue.reschedule(id=id, delay=hours(2))
    later = look(id).sending
    assert hours(2) <= later.due_at - now < hours(3)
    assert later.token == before.token + 2
    assert queue.stats().delayed == 1
