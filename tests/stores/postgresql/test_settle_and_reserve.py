"""Two statements that are sent together are one transaction, and an answer that is lost says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, literal_column, select, text

import duerow
from duerow import Commit, Draft
from duerow.errors import DuerowError, StoreRefused, StoreUnavailable
from duerow.plan import Several
from duerow.stores.sql.connections.sync import raw
from duerow.stores.sql.connections.sync.pipelined import send_together
from duerow.stores.sql.plans.store import SqlStore
from duerow.stores.sql.statements import Statement, Step
from duerow.testing.conformance.fixtures import Place


@pytest.fixture
def database(place: Place) -> Iterator[duerow.Database]:
    """A migrated database."""
    with duerow.connect(place.url, migrate=True, **place.settings) as opened:
        yield opened


def test_if_the_second_statement_fails_the_first_is_undone(database: duerow.Database) -> None:
    queue = database.queue("mail")
    queue.push("hello")
    (one,) = queue.reserve_many(1)
    store: Any = database.store
    assert isinstance(store, SqlStore)
    commit = store.messages.settle([duerow.store.Turn(one.receipt, duerow.store.Committed())])

    def plan() -> Any:
        fails = Statement(select(literal_column("1 / (SELECT 0)")))
        yield Several([next(commit), Step(fails, {})], alone=True)

    with pytest.raises(DuerowError, match="DivisionByZero"):
        database.run(plan)
    assert queue.count() == 1
    assert queue.commit_many([one]) == []


def test_a_lost_answer_of_both_says_that_they_may_have_been_done(
    database: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = database.queue("mail")
    queue.push("hello")
    (one,) = queue.reserve_many(1)
    store: Any = database.store
    commit = store.messages.settle([duerow.store.Turn(one.receipt, duerow.store.Committed())])

    def cut(connection: Any, *more: Any) -> Any:
        send_together(connection, *more)
        connection.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    def plan() -> Any:
        yield Several([next(commit)], alone=True)

    monkeypatch.setattr(raw, "send_together", cut)
    with pytest.raises(StoreUnavailable) as raised:
        database.run(plan)
    assert raised.value.outcome == "unknown"
    assert queue.count() == 0


def test_a_claim_that_the_database_refuses_leaves_the_turn_settled_and_is_raised(database: duerow.Database) -> None:
    queue = database.queue("mail")
    queue.push_many([Draft("done"), Draft("next")])
    (one,) = queue.reserve_many(1)
    store: Any = database.store
    table = store.context.tables.message.fullname
    refuse = "BEGIN RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'not today'; END"
    engine: Engine = database.connections.engine  # type: ignore[attr-defined]
    with engine.begin() as connection:
        connection.execute(text(f"CREATE FUNCTION {table}_no() RETURNS trigger LANGUAGE plpgsql AS $$ {refuse} $$"))
        connection.execute(text(f"CREATE TRIGGER no BEFORE UPDATE ON {table} EXECUTE FUNCTION {table}_no()"))
    try:
        with pytest.raises(StoreRefused):
            queue.settle_and_reserve([(one, Commit())], 1)
    finally:
        with engine.begin() as connection:  # other tests use these tables, too
            connection.execute(text(f"DROP FUNCTION {table}_no() CASCADE"))
    assert queue.get(one.message.id) is None
    assert queue.count() == 1


def test_a_settlement_that_would_have_to_wait_holds_up_no_other_message(
    database: duerow.Database, place: Place
) -> None:
    queue = database.queue("mail")
    queue.push_many([Draft("locked"), Draft("next")])
    (one,) = queue.reserve_many(1)
    store: Any = database.store
    turns = [duerow.store.Turn(one.receipt, duerow.store.Committed())]
    lock = f"SELECT id FROM {store.context.tables.message.fullname} WHERE id = %s FOR UPDATE"
    with psycopg.connect(place.url) as other:
        other.execute(lock.encode(), (one.message.id,))
        plan = store.messages.settle_and_reserve
        answer = database.run(lambda: plan(turns, "mail", 1, queue.lease, 20, "host:1:anna/1"))
        assert answer is None
        (other_one,) = queue.reserve_many(1)
        assert other_one.message.payload == "next"
    assert queue.settle_and_reserve([(one, Commit()), (other_one, Commit())], 1) == ([], [])
    assert queue.count() == 0
