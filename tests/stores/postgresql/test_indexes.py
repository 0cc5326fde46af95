"""What is looked up by key or by status can be found by an index, however many messages a queue has."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

from duerow.message import LIVE
from duerow.store import PastQuery, Query
from duerow.stores.sql.dialects.postgresql import PostgreSQL
from duerow.stores.sql.plans import SqlStore, Step
from duerow.stores.sql.statements import RECEIPT, STORY
from duerow.stores.sql.texts import Texts
from duerow.testing.conformance.fixtures import Place
from duerow.where import parse

TEXTS = Texts(make_url("postgresql+psycopg://").get_dialect()(), raw=True)


def plan(superuser: psycopg.Connection, step: Any) -> str:
    """Return the plan that PostgreSQL makes when a scan of the table is its last resort."""
    text, values = TEXTS.of(step)
    with superuser.transaction():
        superuser.execute("SET LOCAL enable_seqscan = off")
        return "\n".join(row[0] for row in superuser.execute("EXPLAIN " + text, values))


@pytest.fixture
def store(place: Place) -> SqlStore:
    return SqlStore(PostgreSQL(), "duerow_", place.settings["schema"], None)


def test_live_messages_are_looked_up_by_their_keys(store: SqlStore, superuser: psycopg.Connection) -> None:
    found = plan(superuser, next(store.find(Query("mail", keys=("a", "b"), statuses=LIVE))))
    assert "duerow_message_key" in found
    assert "Seq Scan" not in found


def test_the_dead_are_found_among_what_rests(store: SqlStore, superuser: psycopg.Connection) -> None:
    found = plan(superuser, next(store.find(Query("mail", statuses=("dead",), by_id=True))))
    assert "duerow_message_resting" in found
    assert "Seq Scan" not in found


@pytest.mark.parametrize("which", ["the next tick", "the schedules that are due"])
def test_what_is_due_of_the_schedules_is_found_by_its_time(
    store: SqlStore, superuser: psycopg.Connection, which: str
) -> None:
    due = Step(store.statements.schedules(("due",)), {"until": datetime.now(UTC), "limit_in": 100})
    found = plan(superuser, Step(store.statements.next_tick, {}) if which == "the next tick" else due)
    assert "duerow_schedule_due" in found
    assert "Seq Scan" not in found
    assert "Sort" not in found


PAST = (datetime(2026, 1, 1, tzinfo=UTC), 7, 3)


def history_steps(store: SqlStore) -> dict[str, Any]:
    """The steps about history and remembered keys, each by the index that it needs."""
    statements, more = store.statements, {"limit_in": 100}
    return {
        "duerow_history_finished": next(store.history(PastQuery("mail", after=PAST))),
        "duerow_history_pkey": store._given(statements.forget_turns, RECEIPT, [(1, 2), (3, 4)]),
        "duerow_history_until": store._step(statements.expired_turns, more),
        "duerow_remembered_until": store._step(statements.expired_keys, more),
        "duerow_remembered_pkey": store._given(statements.remembered, ("queue", "key"), [("mail", "a"), ("mail", "b")]),
    }


def test_history_and_remembered_keys_are_found_by_their_indexes(store: SqlStore, superuser: psycopg.Connection) -> None:
    for index, step in history_steps(store).items():
        found = plan(superuser, step)
        assert index in found
        assert "Seq Scan" not in found
        assert "Sort" not in found or index.endswith("_until")  # which is up to what the planner knows of the rows
    one = plan(superuser, next(store.history(PastQuery("mail", id=7, ends=True, limit=1))))
    assert "duerow_history_pkey" in one
    keys = store._given(store.statements.forget_keys, ("queue", "key"), [("mail", "a"), ("mail", "b")])
    assert "duerow_remembered_pkey" in plan(superuser, keys)
    by_key = plan(superuser, next(store.history(PastQuery("mail", where=parse("key = 'k'")))))
    assert "duerow_history_key" in by_key
    assert "Sort" not in by_key


def test_what_ends_is_kept_by_way_of_its_primary_key(store: SqlStore, superuser: psycopg.Connection) -> None:
    rows = [(1, 2, "done", None, None, None, None), (3, 4, "failed", None, None, None, "{}")]
    step = store._given(store.statements.keep_turns, (*RECEIPT, *STORY), rows, {"history": 1})
    found = plan(superuser, step)
    assert "duerow_message_pkey" in found
    assert "Seq Scan" not in found
