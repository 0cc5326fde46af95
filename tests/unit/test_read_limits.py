"""How each database is told the limit of a read, what it says when that is over, and of too many values. No server."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from pymongo import errors as pymongo
from sqlalchemy import select

from duerow.errors import DuerowError, QueryTimeout, StoreRefused, StoreUnavailable
from duerow.plan import BEGIN
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.errors import overran as overran_on_mongodb
from duerow.stores.mongodb.execution import prepared
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.dialects.mssql.dialect import SqlServer
from duerow.stores.sql.dialects.mysql.mariadb import MariaDB
from duerow.stores.sql.dialects.mysql.mysql import MySQL
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.dialects.sqlite.dialect import SQLite
from duerow.stores.sql.errors import explained, overran
from duerow.stores.sql.statements import Statement, Step

LIMIT = timedelta(seconds=2)


def raised(module: str, *args: Any, **fields: Any) -> Exception:
    """Return an error as a driver raises it."""
    kind = type("OperationalError", (Exception,), {"__module__": module})
    error: Exception = kind(*args)
    for name, value in fields.items():
        setattr(error, name, value)
    return error


OVER: list[tuple[Dialect, Exception]] = [
    (PostgreSQL(), raised("psycopg.errors", "canceling statement due to statement timeout", sqlstate="57014")),
    (MariaDB(), raised("pymysql.err", 1969, "Query execution was interrupted (max_statement_time exceeded)")),
    (MySQL(), raised("asyncmy.errors", 3024, "Query execution was interrupted, maximum statement execution time")),
    (SqlServer(), raised("pyodbc", "HYT00", "[HYT00] [Microsoft][ODBC Driver 18] Query timeout expired (0) (SQLX)")),
    (SQLite(), raised("sqlite3", "interrupted", sqlite_errorcode=sqlite3.SQLITE_INTERRUPT)),
]

TOO_MANY: list[tuple[Dialect, Exception]] = [
    (PostgreSQL(), raised("psycopg.errors", "too many", sqlstate="54000")),
    (MariaDB(), raised("pymysql.err", 1390, "Prepared statement contains too many placeholders")),
    (MySQL(), raised("asyncmy.errors", 1390, "Prepared statement contains too many placeholders")),
    (SqlServer(), raised("pyodbc", "42000", "[42000] Too many parameters were provided (8003) (SQLExecDirectW)")),
    (SqlServer(), raised("pyodbc", "07002", "[07002] COUNT field incorrect or syntax error (0) (SQLExecDirectW)")),
]


def names(cases: list[tuple[Dialect, Exception]]) -> list[str]:
    return [f"{type(dialect).__name__}-{error.args[0]}" for dialect, error in cases]


@pytest.mark.parametrize(("dialect", "error"), OVER, ids=names(OVER))
def test_a_read_for_people_that_is_over_its_limit_is_told_as_that_and_no_other_statement(
    dialect: Dialect, error: Exception
) -> None:
    read, write = (Step(Statement(select(1), bounded=bounded), {}) for bounded in (True, False))
    assert isinstance(overran(dialect, LIMIT, read, error), QueryTimeout)
    for limit, step in ((None, read), (LIMIT, write), (LIMIT, BEGIN)):
        assert overran(dialect, limit, step, error) is None


@pytest.mark.parametrize(("dialect", "error"), TOO_MANY, ids=names(TOO_MANY))
def test_a_statement_of_too_many_values_is_refused_and_not_worth_retrying(dialect: Dialect, error: Exception) -> None:
    told = explained(dialect, error)
    assert isinstance(told, StoreRefused)
    assert not isinstance(told, StoreUnavailable)


def test_so_it_is_on_sqlite() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 2)
        with pytest.raises(sqlite3.Error) as refused:
            connection.execute("SELECT ?, ?, ?", (1, 2, 3))
    assert isinstance(explained(SQLite(), refused.value), StoreRefused)


def test_mysql_is_told_by_a_hint_and_mariadb_before_the_statement() -> None:
    assert MySQL().limited("SELECT id FROM x FOR UPDATE", 2_000) == (
        "",
        "SELECT /*+ MAX_EXECUTION_TIME(2000) */ id FROM x FOR UPDATE",
        "",
    )
    assert (
        MariaDB().limited("SELECT id FROM x", 1_500)[1] == "SET STATEMENT max_statement_time=1.500 FOR SELECT id FROM x"
    )


def test_odbc_is_told_in_whole_seconds_for_as_long_as_the_read_lasts() -> None:
    raw = SimpleNamespace(timeout=0)
    with SqlServer().timed(raw, 1_001):
        assert raw.timeout == 2
    assert raw.timeout == 0


def test_mongodb_is_told_with_the_command_and_only_of_reads_for_people() -> None:
    read = commands.find("messages", {})
    assert prepared(commands.bounded(read), False, LIMIT)["maxTimeMS"] == 2_000
    assert "maxTimeMS" not in prepared(read, False, LIMIT)
    assert "maxTimeMS" not in prepared(commands.bounded(read), False, None)
    over = pymongo.ExecutionTimeout("operation exceeded time limit", 50)
    told: DuerowError | None = overran_on_mongodb(over, LIMIT)
    assert isinstance(told, QueryTimeout)
    assert overran_on_mongodb(over, None) is None
