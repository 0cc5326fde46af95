"""How values become rows and columns of statements, and how many go into one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from duerow.clock import HostClock
from duerow.store import Entry
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.dialects.sqlite.dialect import SQLite
from duerow.stores.sql.plans.context import Context
from duerow.stores.sql.plans.store import SqlStore
from duerow.stores.sql.statements import RECEIPT
from duerow.testing.clock import MovableClock

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.fixture
def context() -> Context:
    context = SqlStore(PostgreSQL(), "duerow_", None, MovableClock()).context
    context.dialect.chunk, context.dialect.chunk_bytes = 3, 10
    return context


@pytest.mark.parametrize(
    ("texts", "chunks"),
    [
        ([], []),
        (["x" * 50], [["x" * 50]]),
        (["xxxxx", "yyyyy"], [["xxxxx", "yyyyy"]]),
        (["xxxxx", "yyyyyy"], [["xxxxx"], ["yyyyyy"]]),
        (["x", "y", "z", "w"], [["x", "y", "z"], ["w"]]),
        (["xxxx", "yyyyyy", "z", "w"], [["xxxx", "yyyyyy"], ["z", "w"]]),
        (["x" * 11, "y" * 11, "z"], [["x" * 11], ["y" * 11], ["z"]]),
        (["x", "y", "z", "w" * 9, "v"], [["x", "y", "z"], ["w" * 9, "v"]]),
    ],
)
def test_a_statement_takes_so_many_rows_and_so_many_characters_but_at_least_one_row(
    context: Context, texts: list[str], chunks: list[list[str]]
) -> None:
    assert [[*chunk] for chunk in context.chunks(texts, len)] == chunks


def test_without_a_size_only_the_number_of_rows_counts(context: Context) -> None:
    assert [[*chunk] for chunk in context.chunks(["x" * 50] * 4)] == [["x" * 50] * 3, ["x" * 50]]


def entry(**more: Any) -> Entry:
    return Entry("mail", None, "json", "1", None, more.get("due"), more.get("delay"))


def test_due_times_and_delays_are_written_as_the_database_has_them(context: Context) -> None:
    moment, span = context.dialect.write_moment(NOON), context.dialect.write_span(SECOND)
    assert [context.row(entry(**one))[-2:] for one in ({}, {"due": NOON}, {"delay": SECOND})] == [
        (None, None),
        (moment, None),
        (None, span),
    ]
    columns = context.rows([entry(), entry(due=NOON), entry(delay=SECOND)])
    assert (columns["due"], columns["delay"]) == ([None, moment, None], [None, None, span])


def test_a_column_with_equal_values_is_bound_once_but_not_all_of_them_since_their_number_matters(
    context: Context,
) -> None:
    receipts = context.statements.settle.owned
    assert {"given_id", "given_token"} <= context.given(receipts, RECEIPT, [(1, 7)]).values.keys()
    some = context.given(receipts, RECEIPT, [(1, 7), (2, 7)]).values
    assert some["given_token"] == 7
    assert some["given_id"] == context.dialect.pack("given", {"id": [1, 2]})["given_id"]
    equal = context.given(receipts, RECEIPT, [(1, 7), (1, 7)]).values
    assert sorted(type(equal[name]) is int for name in ("given_id", "given_token")) == [False, True]


def test_a_database_without_a_clock_for_all_has_that_of_this_machine() -> None:
    assert isinstance(SqlStore(SQLite(), "duerow_", None, None).context.clock, HostClock)
    assert SqlStore(PostgreSQL(), "duerow_", None, None).context.clock is None
