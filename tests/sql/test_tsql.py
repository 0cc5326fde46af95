"""What SQL Server is sent is T-SQL, as far as that can be told without a server."""

from __future__ import annotations

import re
from datetime import date, timedelta
from itertools import cycle
from typing import Any
from uuid import UUID

import pytest
from msgspec import UNSET
from sqlalchemy import Date, DateTime, Integer, String, Unicode, Uuid
from sqlalchemy.dialects.mssql.pyodbc import MSDialect_pyodbc
from sqlalchemy.schema import CreateIndex, CreateTable

from duerow.entity.state import mapper_of, state_of
from duerow.store import Order
from duerow.stores.sql.dialects.mssql.compiler import written
from duerow.stores.sql.dialects.mssql.dialect import SqlServer
from duerow.stores.sql.entities.columns import StateTable, kept_in
from duerow.stores.sql.entities.keys import Key
from duerow.stores.sql.entities.plans import EntityStore
from duerow.stores.sql.entities.queries import EntityQueries
from duerow.stores.sql.plans.store import SqlStore
from duerow.where import parse
from tests.entity.models import ByThree, Lower, Mail
from tests.sql.texts import reviewed
from tests.sql.tsql import complaints

TEXTS = reviewed("mssql")


@pytest.mark.parametrize("name", TEXTS)
def test_each_statement_for_sql_server_is_tsql(name: str) -> None:
    assert complaints(TEXTS[name], grammar=False) == []


@pytest.mark.soak
def test_each_statement_for_sql_server_keeps_to_the_grammar() -> None:
    assert {name: found for name, text in TEXTS.items() if (found := complaints(text))} == {}


def test_what_is_asked_and_changed_of_a_users_rows_through_its_own_engine_is_tsql() -> None:
    """SQLAlchemy's compiler writes these: it declares no variable of the time, and would compare rows of values."""
    connected = MSDialect_pyodbc(deprecate_large_types=True)
    connected.server_version_info = (15,)
    ours = kept_in("mssql")
    for state, id in ((Mail.sending, 7), (ByThree.sending, (UUID(int=7), date(2026, 1, 1), 7))):
        model, _, table = state_of(state)
        looking: EntityQueries[Any] = EntityQueries(mapper_of(model), table, None, ours)
        meant = looking.meant((), id, stops=False)
        asked: list[Any] = [
            looking.by_ids([id], "mssql"),
            looking.find((), "done", None, 5, id),
            looking.standing(100),
            looking.count((), None, None, 10),
            looking.numbers(meant),
            looking.change(meant, looking.rescheduled(UNSET, timedelta(hours=2)), even_if_leased=False),
            looking.change(meant, looking.requeued(), even_if_leased=True),
            ours.indexes(model.__table__),
        ]
        for statement in asked:
            bound = statement.compile(dialect=connected, compile_kwargs={"render_postcompile": True})
            text = re.sub(r"\?|\(NULL\)", "@value", str(bound))
            assert complaints(text) == [], text
            assert "@now" not in text
        locked = str(looking.one_locked.compile(dialect=connected))
        assert f"FROM {table.name} WITH (ROWLOCK, UPDLOCK)" in locked
        created = [str(CreateIndex(index).compile(dialect=connected)) for index in model.__table__.indexes]
        assert all(one.endswith(("_due_at IS NOT NULL", "_status = 'dead'")) for one in created)
        assert "DATETIME2(6)" in str(CreateTable(model.__table__).compile(dialect=connected))


def test_primary_keys_of_a_users_table_are_given_as_their_columns_are() -> None:
    kinds = {
        Unicode(30): "CAST(cell.[id_1] AS NVARCHAR(30)) COLLATE DATABASE_DEFAULT",
        String(30, collation="Latin1_General_CI_AS"): "CAST(cell.[id_1] AS VARCHAR(30)) COLLATE Latin1_General_CI_AS",
        Uuid(): "CAST(cell.[id_1] AS UNIQUEIDENTIFIER)",
        Date(): "CAST(cell.[id_1] AS DATE)",
        DateTime(): "CAST(CAST(cell.[id_1] AS DATETIME2(6)) AS DATETIME)",
        Lower(): "CAST(cell.[id_1] AS VARCHAR(30)) COLLATE DATABASE_DEFAULT",
    }
    for kind, given in kinds.items():
        table = StateTable("of mine", None, (Key("the key", kind), Key("number", Integer())), "sending")
        store = EntityStore(SqlServer(), MSDialect_pyodbc(), table, False, None)
        for alike, cell in ((frozenset(), "cell.[id_1]"), (frozenset(("id_1",)), ":given_id_1")):
            text = str(store.context.statements.settle.commit.alike(alike).element.compile(dialect=written("named")))
            assert given.replace("cell.[id_1]", cell) in text
            assert "[of mine].[the key] = given.id_1" in text
            assert complaints(text) == []
        assert "INDEX([ix_of mine_sending_due])" in str(
            store.context.statements.reserve.reserve(False).element.compile(dialect=written("named"))
        )


CONDITIONS = {
    "key = 'a' or key in ('b', 'c') and not key = 'd'": "= CAST(CAST(:",
    "key > 'a' and not group <= 'b'": "COLLATE Latin1_General_100_BIN2_UTF8 AS VARCHAR(MAX)) AS VARBINARY(MAX))) >",
    "key like 'a[b%' or kind like '_\\\\%'": "AS NVARCHAR(350)) + N'.') COLLATE",
    "payload.a.b > 'x' or payload.a = true or not payload.c is null": "AS VARBINARY(MAX))) >",
    'payload."0" = 1.5 or payload.n < 7': "json_query",
    "due_at is null or attempts > 2.5 and not status in ('new', 'dead')": "IS NULL",
}
"""Conditions of every kind, and something of what becomes of each."""


ORDERS = (Order("key", after=("a", 7)), Order("due_at", descending=True, after=(None, 7)), Order())


@pytest.mark.parametrize(("condition", "order"), [*zip(CONDITIONS, cycle(ORDERS), strict=False)])
def test_each_kind_of_condition_and_order_becomes_tsql(condition: str, order: Order) -> None:
    statements = SqlStore(SqlServer(), "duerow_", None, None).context.statements
    found = statements.read.search(("live", "keys"), parse(condition), order, locked=True)
    text = str(found.element.compile(dialect=written("named")))
    assert complaints(text) == []
    assert CONDITIONS[condition] in text


MISTAKES = {
    "limit": ("SELECT TOP (1) other.id", "SELECT other.id", "ORDER BY other.id)", "ORDER BY other.id LIMIT 1)"),
    "a lock of other databases": ("ORDER BY other.id)", "ORDER BY other.id FOR UPDATE SKIP LOCKED)"),
    "nulls last": ("ORDER BY other.id)", "ORDER BY other.id NULLS LAST)"),
    "returning": (
        "OUTPUT inserted.queue, inserted.due_at",
        "",
        "leased_by IS NULL\n",
        "leased_by IS NULL RETURNING id\n",
    ),
    "a condition as a value": ("due_at = COALESCE(", "due_at = (leased_by IS NULL), place_at = COALESCE("),
    "a condition to be read": ("SELECT duerow_message.id AS id", "SELECT duerow_message.id IS NULL AS id"),
    "a value as a condition": ("WHERE duerow_message.leased_by IS NULL", "WHERE duerow_message.leased_by"),
    "true": ("WHERE duerow_message.leased_by IS NULL", "WHERE duerow_message.leased_by IS TRUE"),
    "rows compared": ("WHERE duerow_message.leased_by IS NULL", "WHERE (duerow_message.id, queue) > (1, 'a')"),
    "an unknown hint": ("ROWLOCK, UPDLOCK)", "ROWLOK, UPDLOCK)"),
    "a hint without brackets": ("WITH (FORCESEEK, ROWLOCK, UPDLOCK)", "WITH FORCESEEK"),
    "a missing bracket": ("ORDER BY other.id)", "ORDER BY other.id"),
    "a missing comma": ("inserted.queue, inserted.due_at", "inserted.queue inserted.due_at +"),
    "a reserved word": ("other.[group]", "other.group"),
    "an output that comes late": (
        "OUTPUT inserted.queue, inserted.due_at",
        "",
        "AS picked",
        "AS picked OUTPUT inserted.id",
    ),
}
"""What may slip in from other databases, or by hand: what to replace by what in the text of a statement."""


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_statement_would_be_noticed(mistake: str) -> None:
    text = TEXTS["groups/promote_next"]
    replaced = MISTAKES[mistake]
    for old, new in zip(replaced[::2], replaced[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    assert complaints(text) != []
