"""A queue state as an attribute: part of the row, of its transaction, and of conditions on it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, insert, inspect, select, update
from sqlalchemy.exc import StatementError
from sqlalchemy.orm import Session

from duerow.entity import EntityQueue, QueueState
from duerow.errors import ConfigurationError, InvalidMessage
from duerow.testing.clock import MovableClock
from tests.entity.models import Mail


@pytest.fixture
def face() -> Any:
    """The model is the same for both."""
    from duerow.testing.faces import BlockingFace

    return BlockingFace()


def test_a_new_row_is_not_due_until_it_is_scheduled_and_then_by_the_databases_clock(engine: Engine) -> None:
    queue = EntityQueue(Mail.sending, engine)
    with Session(engine) as session, session.begin():
        idle, due = Mail(payload=1, headers={}), Mail(payload=2, headers={})
        due.sending.schedule()
        session.add_all([idle, due])
        session.flush()
        assert (idle.sending.status, idle.sending.due_at, idle.sending.token) == ("new", None, 0)
        assert due.sending.due_at == due.sending.first_due_at
        assert due.sending.due_at is not None
        assert abs(datetime.now(UTC) - due.sending.due_at) < timedelta(hours=1)
        id = due.id
    assert [one.message.id for one in queue.reserve_many(9)] == [id]


def test_scheduling_again_begins_anew_and_the_token_grows_in_the_database(
    engine: Engine, add: Callable[..., list[int]], look: Any, clock: MovableClock
) -> None:
    queue = EntityQueue(Mail.sending, engine, clock=clock)
    (id,) = add("hello")
    with Session(engine) as session, session.begin():
        row = session.get_one(Mail, id)  # token 0, as it was read
        lent = queue.reserve()
        assert lent is not None
        queue.rollback(lent, delay=timedelta(minutes=1), error="no line")
        row.sending.schedule(clock.now() + timedelta(hours=1))
        assert row in session.dirty
        assert row.sending.due_at == clock.now() + timedelta(hours=1)
    state = look(id).sending
    assert (state.status, state.attempts, state.token, state.failure) == ("new", 0, 3, None)
    assert state.first_due_at == state.due_at
    with Session(engine) as session, session.begin():
        row = session.get_one(Mail, id)
        row.sending.stop()
    assert (look(id).sending.due_at, look(id).sending.token) == (None, 4)


def test_a_transaction_that_is_rolled_back_schedules_nothing(engine: Engine, look: Any) -> None:
    with Session(engine) as session, session.begin():
        row = Mail(payload=1, headers={})
        session.add(row)
        session.flush()
        id = row.id
    with Session(engine) as session:
        row = session.get_one(Mail, id)
        row.sending.schedule()
        session.flush()
        session.rollback()
    assert (look(id).sending.due_at, look(id).sending.token) == (None, 0)


def test_what_is_merged_into_a_session_undoes_no_turn_and_schedules_what_was_scheduled(
    engine: Engine, add: Callable[..., list[int]], look: Any, clock: MovableClock
) -> None:
    queue, later = EntityQueue(Mail.sending, engine, clock=clock), clock.now() + timedelta(hours=1)
    (id,) = add("old")
    stale = look(id)
    lent = queue.reserve()
    assert lent is not None
    for made in (stale, Mail(id=id, payload="new", headers={})):  # read before the turn, or of one's own making
        made.payload = "new"
        with Session(engine) as session, session.begin():
            assert session.merge(made).sending.token == 1
    queue.commit(lent)
    assert (look(id).payload, look(id).sending.status, look(id).sending.token) == ("new", "done", 2)
    for token, made in enumerate((look(id), Mail(id=id, payload="again", headers={})), 3):
        made.sending.schedule(later)
        made.billing.stop()
        with Session(engine) as session, session.begin():
            assert session.merge(made).sending.due_at == later
        state = look(id).sending
        assert (state.status, state.due_at, state.attempts, state.token) == ("new", later, 0, token)
    with Session(engine) as session, session.begin():
        merged = session.merge(Mail(id=id, payload="again", headers={}))
        merged.sending.stop()
    assert (look(id).sending.due_at, look(id).sending.token) == (None, 5)
    with Session(engine) as session, session.begin():
        other = Mail(payload="first", headers={})
        other.sending.schedule(later)
        session.merge(other)
    assert queue.count(Mail.sending.due_at == later) == 1


def test_rows_of_bulk_inserts_are_due_if_they_are_given_a_time(engine: Engine, clock: MovableClock) -> None:
    queue = EntityQueue(Mail.sending, engine, clock=clock)
    with Session(engine) as session, session.begin():
        session.execute(insert(Mail), [{"payload": 1, "headers": {}}, {"payload": 2, "headers": {}}])
        session.execute(insert(Mail), [{"payload": 3, "headers": {}, "sending_due_at": clock.now()}])
        rows = [Mail(payload=4, headers={}), Mail(payload=5, headers={})]
        rows[0].sending.schedule(clock.now())
        session.bulk_save_objects(rows)
    with Session(engine) as session:
        due = [session.get_one(Mail, one.message.id).payload for one in queue.reserve_many(9)]
    assert sorted(due) == [3, 4]
    rows[1].sending.schedule()
    with Session(engine) as session, pytest.raises(StatementError, match=r"schedule\(datetime\.now\(UTC\)\)"):
        session.bulk_save_objects(rows[1:])


def test_a_state_is_read_in_conditions_and_written_by_its_methods_alone(engine: Engine, add: Any) -> None:
    (id,) = add("hello")
    later = datetime(2030, 1, 1, tzinfo=UTC)
    with Session(engine) as session, session.begin():
        session.execute(update(Mail).values(sending_due_at=later))
        found = session.scalars(select(Mail).where(Mail.sending.due_at == later, Mail.sending.status == "new")).one()
        assert found.id == id
        with pytest.raises(AttributeError, match=r"call schedule\(\)"):
            found.sending.status = "done"
        with pytest.raises(ConfigurationError, match="its token must increase"):
            found.sending = QueueState()
        with pytest.raises(ConfigurationError, match="is a queue state, not 'now'"):
            Mail(payload=1, headers={}).sending = "now"  # type: ignore[assignment]
        with pytest.raises(InvalidMessage, match="has no time zone"):
            found.sending.schedule(datetime(2030, 1, 1))
        session.expunge(found)
        alone = found.sending
        del found
        with pytest.raises(ConfigurationError, match="keep it in a variable"):
            alone.schedule()
        found = session.get_one(Mail, id)
        copy = pickle.loads(pickle.dumps(found))
        assert copy.sending.due_at == later


def test_the_table_has_the_columns_and_an_index_without_the_finished_rows(engine: Engine) -> None:
    columns = {one["name"]: one for one in inspect(engine).get_columns("mail")}
    assert {name for name in columns if name.startswith("billing_")} == {
        f"billing_{part}"
        for part in (
            *("status", "due_at", "place_at", "first_due_at", "attempts", "token"),
            *("leased_by", "leased_until", "last_attempt_at", "last_error", "finished_at"),
        )
    }
    assert [name for name, one in columns.items() if name.startswith("sending_") and not one["nullable"]] == [
        "sending_status",
        "sending_attempts",
        "sending_token",
    ]
    indexes = {one["name"]: one["column_names"] for one in inspect(engine).get_indexes("mail")}
    assert indexes["ix_mail_sending_due"] == ["sending_due_at", "id"]
    assert indexes["ix_mail_sending_dead"] == ["sending_status", "id"]
