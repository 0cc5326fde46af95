"""What is looked up by key or by status can be found by an index, however many messages a queue has."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, make_url

from duerow import Database, Draft, connect
from duerow.errors import Conflict
from duerow.message import LIVE
from duerow.store import HistoryQuery, Order, Query
from duerow.stores.sql.connections.compiled import Texts
from duerow.stores.sql.dialects.postgresql.dialect import BLIND_WAYS, PostgreSQL
from duerow.stores.sql.plans.store import SqlStore
from duerow.stores.sql.statements import RECEIPT, STORY, Step
from duerow.testing.clock import MovableClock, minutes
from duerow.testing.conformance.fixtures import Place
from duerow.where import parse

ASKED = {
    "payload.companyId = 3345": "companyid",
    "payload.companyId in (1, 2) and attempts < 9": "companyid",
    "status = 'new' and payload.companyId >= 97": "companyid",
    "payload.to.city = 'Split' and not payload.companyId = 1": "to_city",
    "payload.to.city < 'c12' and payload.other = 1": "to_city",
    "payload.paid = true": "paid",
}
"""Conditions, and a part of the name of the index that is to serve them."""

TEXTS = Texts(PostgreSQL(), make_url("postgresql+psycopg://").get_dialect()(), raw=True)


def plan(superuser: psycopg.Connection, step: Any, without: Sequence[str] = ("enable_seqscan",)) -> str:
    """Return the plan that PostgreSQL makes when some ways, such as a scan of the table, are its last resort."""
    text, values = TEXTS.of(step)
    with superuser.transaction():
        for way in without:
            superuser.execute(f"SET LOCAL {way} = off")
        return "\n".join(row[0] for row in superuser.execute("EXPLAIN " + text, values))


@pytest.fixture
def store(place: Place) -> SqlStore:
    return SqlStore(PostgreSQL(), "duerow_", place.settings["schema"], None)


def test_live_messages_are_looked_up_by_their_keys(
    store: SqlStore, place: Place, superuser: psycopg.Connection
) -> None:
    with connect(place.url, **place.settings) as db:  # of an empty table any index is as good
        db.queue("mail").push_many([Draft(number, f"key-{number}") for number in range(1_000)])
    superuser.execute("ANALYZE")
    found = plan(superuser, next(store.messages.find(Query("mail", keys=("a", "b"), statuses=LIVE))))
    assert "duerow_message_key" in found
    assert "Seq Scan" not in found


def test_the_dead_are_found_among_what_rests(store: SqlStore, superuser: psycopg.Connection) -> None:
    found = plan(superuser, next(store.messages.find(Query("mail", statuses=("dead",), by_id=True))))
    assert "duerow_message_resting" in found
    assert "Seq Scan" not in found


@pytest.mark.parametrize("which", ["the next tick", "the schedules that are due"])
def test_what_is_due_of_the_schedules_is_found_by_its_time(
    store: SqlStore, superuser: psycopg.Connection, which: str
) -> None:
    due = Step(store.context.statements.schedules.schedules(("due",)), {"until": datetime.now(UTC), "limit_in": 100})
    found = plan(superuser, Step(store.context.statements.schedules.next_tick, {}) if which == "the next tick" else due)
    assert "duerow_schedule_due" in found
    assert "Seq Scan" not in found
    assert "Sort" not in found


def test_indexed_payload_fields_are_looked_up_in_their_indexes(
    store: SqlStore, superuser: psycopg.Connection, db: Database
) -> None:
    table = f'"{store.context.tables.schema}".duerow_message'
    superuser.execute(f"TRUNCATE {table}")  # rows that earlier tests removed are still in its indexes
    queue = db.queue("orders", indexed={"companyId": int, "to.city": str, "paid": bool})
    queue.declare()
    queue.push_many([Draft({"companyId": n % 100, "to": {"city": f"c{n}"}, "paid": n % 99 == 0}) for n in range(2000)])
    superuser.execute(f"ANALYZE {table}")
    for where, index in ASKED.items():
        for step in (
            next(store.messages.find(Query("orders", where=parse(where), order=Order(), indexed=queue.indexed))),
            next(store.operations.tally("orders", parse(where), None, 10, queue.indexed)),
        ):
            for without in ((), BLIND_WAYS):  # in the caller's transaction, and on connections of ours
                found = plan(superuser, step, without)
                assert f"_{index}_" in found, (where, found)
        elsewhere = next(store.messages.find(Query("other", where=parse(where), order=Order(), indexed=queue.indexed)))
        assert f"_{index}_" not in plan(superuser, elsewhere)


def test_an_index_whose_making_broke_off_is_made_again(
    store: SqlStore, superuser: psycopg.Connection, db: Database
) -> None:
    queue = db.queue("orders", indexed={"companyId": int})
    [name] = queue.declare().created
    superuser.execute(
        "UPDATE pg_index SET indisvalid = false FROM pg_class WHERE indexrelid = pg_class.oid AND relname = %s", [name]
    )
    assert queue.declare().created == (name,)
    assert not queue.declare()


def test_an_index_is_not_made_while_another_process_makes_one(
    store: SqlStore, superuser: psycopg.Connection, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duerow.aio.definition.PATIENCE", 0.0)
    monkeypatch.setattr("duerow.sync.definition.PATIENCE", 0.0)
    queue = db.queue("orders", indexed={"companyId": int})
    superuser.execute("SELECT pg_advisory_lock(hashtext('duerow_index'))")
    with pytest.raises(Conflict, match="another process is creating indexes"):
        queue.declare()
    superuser.execute("SELECT pg_advisory_unlock(hashtext('duerow_index'))")
    assert queue.declare().created


def test_an_index_is_made_inside_a_transaction_where_there_is_no_other_way(place: Place, db: Database) -> None:
    engine = create_engine(place.url.replace("postgresql://", "postgresql+psycopg://"))
    with connect(engine, **place.settings) as through_engine:
        queue = through_engine.queue("orders", indexed={"companyId": int})
        assert queue.declare().created
        assert not queue.declare()
    engine.dispose()


PAST = (datetime(2026, 1, 1, tzinfo=UTC), 7, 3)


def history_steps(store: SqlStore) -> dict[str, Any]:
    """The steps about history and remembered keys, each by the index that it needs."""
    statements, more = store.context.statements, {"limit_in": 100}
    return {
        "duerow_history_finished": next(store.history.find(HistoryQuery("mail", after=PAST))),
        "duerow_history_pkey": store.context.given(statements.history.forget_turns, RECEIPT, [(1, 2), (3, 4)]),
        "duerow_history_until": store.context.step(statements.history.expired_turns, more),
        "duerow_remembered_until": store.context.step(statements.history.expired_keys, more),
        "duerow_remembered_pkey": store.context.given(
            statements.history.remembered, ("queue", "key"), [("mail", "a"), ("mail", "b")]
        ),
    }


def test_history_and_remembered_keys_are_found_by_their_indexes(
    store: SqlStore, superuser: psycopg.Connection, db: Database, clock: MovableClock
) -> None:
    for name in ("mail", "other"):  # of few rows, or such that nobody has counted, any index is as good
        queue = db.queue(name, history=timedelta(days=1), remember_keys=timedelta(days=1))
        for part in range(10):
            queue.push_many([Draft(number, f"key-{part}-{number}") for number in range(100)])
            assert len(queue.pop_many(100)) == 100
            clock.advance(minutes(1))
    superuser.execute("ANALYZE")
    for index, step in history_steps(store).items():
        found = plan(superuser, step)
        assert index in found
        assert "Seq Scan" not in found
        assert "Sort" not in found or index.endswith("_until")  # which is up to what the planner knows of the rows
    one = plan(superuser, next(store.history.find(HistoryQuery("mail", id=7, ends=True, limit=1))))
    assert "duerow_history_pkey" in one
    keys = store.context.given(
        store.context.statements.history.forget_keys, ("queue", "key"), [("mail", "a"), ("mail", "b")]
    )
    assert "duerow_remembered_pkey" in plan(superuser, keys)
    by_key = plan(superuser, next(store.history.find(HistoryQuery("mail", where=parse("key = 'k'")))))
    assert "duerow_history_key" in by_key
    assert "Sort" not in by_key


def test_what_ends_is_kept_by_way_of_its_primary_key(store: SqlStore, superuser: psycopg.Connection) -> None:
    rows = [(1, 2, "done", None, None, None, None), (3, 4, "failed", None, None, None, "{}")]
    step = store.context.given(store.context.statements.history.keep_turns, (*RECEIPT, *STORY), rows, {"history": 1})
    found = plan(superuser, step)
    assert "duerow_message_pkey" in found
    assert "Seq Scan" not in found
