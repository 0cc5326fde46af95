"""What SQL Server is sent is T-SQL, as far as that can be told without a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from duerow.store import Order
from duerow.stores.sql.dialects.mssql import SqlServer
from duerow.stores.sql.dialects.mssql_text import written
from duerow.stores.sql.plans import SqlStore
from duerow.where import parse
from tests.sql.texts import FOLDER
from tests.sql.tsql import complaints

TEXTS = sorted((FOLDER / "mssql").glob("*.sql"))


@pytest.mark.parametrize("path", TEXTS, ids=[path.stem for path in TEXTS])
def test_each_statement_for_sql_server_is_tsql(path: Path) -> None:
    assert complaints(path.read_text(), grammar=False) == []


@pytest.mark.soak
def test_each_statement_for_sql_server_keeps_to_the_grammar() -> None:
    assert {path.stem: found for path in TEXTS if (found := complaints(path.read_text()))} == {}


CONDITIONS = {
    "key = 'a' or key in ('b', 'c') and not key = 'd'": "= CAST(CAST(:",
    "key > 'a' and not group <= 'b'": "COLLATE Latin1_General_100_BIN2_UTF8 AS VARCHAR(MAX)) AS VARBINARY(MAX))) >",
    "key like 'a[b%' or kind like '_\\\\%'": "AS NVARCHAR(350)) + N'.') COLLATE",
    "payload.a.b > 'x' or payload.a = true or not payload.c is null": "AS VARBINARY(MAX))) >",
    'payload."0" = 1.5 or payload.n < 7': "json_query",
    "due_at is null or attempts > 2.5 and not status in ('new', 'dead')": "IS NULL",
}
"""Conditions of every kind, and something of what becomes of each."""


@pytest.mark.parametrize("condition", CONDITIONS)
def test_each_kind_of_condition_and_order_becomes_tsql(condition: str) -> None:
    statements = SqlStore(SqlServer(), "duerow_", None, None).statements
    for order in (Order("key", after=("a", 7)), Order("due_at", descending=True, after=(None, 7)), Order()):
        found = statements.search(("live", "keys"), parse(condition), order, locked=True)
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
    text = (FOLDER / "mssql/call_up.sql").read_text()
    replaced = MISTAKES[mistake]
    for old, new in zip(replaced[::2], replaced[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    assert complaints(text) != []
