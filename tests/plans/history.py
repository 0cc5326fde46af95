"""Finished turns by the million, if there is a table for them: of each column something that it takes."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

import psycopg

OF_THEIR_OWN: Final = {"queue": "'mail'", "outcome": "'done'", "status": "'done'"}
BY_TYPE: Final = {
    "bigint": "n",
    "integer": "1",
    "smallint": "0",
    "text": "'text'",
    "json": "'{}'",
    "boolean": "false",
    "timestamp with time zone": "statement_timestamp() - n * INTERVAL '1 millisecond'",
}


def fill_postgresql(connection: psycopg.Connection, schema: str, count: int) -> bool:
    """Write so many; return whether there is such a table."""
    columns = connection.execute(
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = %s "
        "AND table_name = 'duerow_history' AND is_nullable = 'NO' AND is_identity = 'NO' ORDER BY ordinal_position",
        [schema],
    ).fetchall()
    if columns:
        text = _insertion(f"{schema}.duerow_history", columns, f"generate_series(1, {count}) AS numbers(n)")
        connection.execute(text.encode())
    return bool(columns)


def fill_sqlite(connection: sqlite3.Connection, count: int) -> bool:
    """Write so many; return whether there is such a table."""
    columns = [
        (name, "json" if kind == "TEXT" else kind.lower())
        for _, name, kind, required, _, key in connection.execute("PRAGMA table_info(duerow_history)")
        if required or key
    ]
    if columns:
        series = f"numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})"
        connection.execute(f"WITH RECURSIVE {series} {_insertion('duerow_history', columns, 'numbers')}")
    return bool(columns)


def _insertion(table: str, columns: list[Any], series: str) -> str:
    names = ", ".join(f'"{name}"' for name, _ in columns)
    values = ", ".join(OF_THEIR_OWN.get(name, BY_TYPE[kind]) for name, kind in columns)
    return f"INSERT INTO {table} ({names}) SELECT {values} FROM {series}"
