"""How an application may hold a transaction on SQLite: every mode of sqlite3, SQLAlchemy, aiosqlite."""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import aiosqlite

from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import AwaitedFace, Face
from tests.stores.callers import Opening, Transaction, Way, async_connection, async_session, connection, session


def raw(begin: str | None = None, row_factory: Any = None, text_factory: Any = None, **options: Any) -> Opening:
    """A connection of sqlite3 in any mode; `begin` is what the application says in those that do not begin alone."""

    @contextmanager
    def opening(place: Place, face: Face) -> Iterator[Transaction]:
        with closing(sqlite3.connect(place.url.removeprefix("sqlite:///"), **options)) as own:
            own.row_factory = row_factory
            own.text_factory = text_factory or str
            if begin is not None:
                own.execute(begin)
            if begin is not None and getattr(own, "autocommit", -1) is True:  # where commit() does nothing
                yield Transaction(own, lambda: own.execute("COMMIT"), lambda: own.execute("ROLLBACK"))
            else:
                yield Transaction(own, own.commit, own.rollback)

    return opening


def awaited(begin: str | None = None, **options: Any) -> Opening:
    """A connection of aiosqlite."""

    @contextmanager
    def opening(place: Place, face: AwaitedFace) -> Iterator[Transaction]:
        async def connect() -> aiosqlite.Connection:
            return await aiosqlite.connect(place.url.removeprefix("sqlite:///"), **options)

        own = face.run(connect())
        try:
            if begin is not None:
                face.run(own.execute(begin))
            yield Transaction(own, lambda: face.run(own.commit()), lambda: face.run(own.rollback()))
        finally:
            face.run(own.close())

    return opening


def by_name(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> dict[str, Any]:
    """A row factory whose rows cannot be read by place."""
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}


WAYS = [
    Way("connection", "sync", connection("sqlite+pysqlite")),
    Way("session", "sync", session("sqlite+pysqlite")),
    Way("serializable", "sync", connection("sqlite+pysqlite", isolation_level="SERIALIZABLE")),
    Way("raw", "sync", raw()),
    Way("raw immediate", "sync", raw(isolation_level="IMMEDIATE")),
    Way("raw exclusive", "sync", raw(isolation_level="EXCLUSIVE")),
    Way("raw begun by hand", "sync", raw("BEGIN", isolation_level=None)),
    Way("raw begun to write", "sync", raw("BEGIN IMMEDIATE", isolation_level=None)),
    Way("raw with rows by name", "sync", raw(row_factory=by_name)),
    Way("raw with Rows", "sync", raw("BEGIN", row_factory=sqlite3.Row, isolation_level=None)),
    Way("raw with bytes for text", "sync", raw(text_factory=bytes)),
    Way("raw that parses types", "sync", raw(detect_types=sqlite3.PARSE_DECLTYPES | sqlite3.PARSE_COLNAMES)),
    Way("connection", "async", async_connection("sqlite+aiosqlite")),
    Way("session", "async", async_session("sqlite+aiosqlite")),
    Way("raw", "async", awaited()),
    Way("raw begun by hand", "async", awaited("BEGIN", isolation_level=None)),
]
if sys.version_info >= (3, 12):
    WAYS += [
        Way("raw autocommit off", "sync", raw(autocommit=False)),
        Way("raw autocommit on, begun by hand", "sync", raw("BEGIN", autocommit=True)),
        Way("raw legacy", "sync", raw(autocommit=sqlite3.LEGACY_TRANSACTION_CONTROL)),
    ]
