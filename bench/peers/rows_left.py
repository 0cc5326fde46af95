"""Count what a contestant has left in its tables."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import LiteralString

import psycopg


def count_rows(url: str, statement: LiteralString) -> int:
    """Return the one number that the statement answers with."""
    if url.startswith("sqlite:///"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///").partition("?")[0])) as file:
            return int(file.execute(statement).fetchone()[0])
    with psycopg.connect(url) as connection:
        row = connection.execute(statement).fetchone()
    assert row is not None
    return int(row[0])
