"""The blocking way to an SQL database: an engine's connections, or the caller's own transaction."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.orm import Session

from duerow.plan import BEGIN, Execute
from duerow.store import Listener
from duerow.stores.sql.caller import (
    DATABASES,
    check_open,
    commits_alone,
    driver_of,
    no_transaction,
    not_ours,
    unwrapped,
)
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.errors import explained, is_lost
from duerow.stores.sql.listening import DataVersionListener, NotifyListener, SilentListener
from duerow.stores.sql.plans import SqlStore
from duerow.stores.sql.texts import Texts, driver_texts


class BlockingConnections:
    """Connections of one engine.

    Args:
        engine: duerow's own, or the user's.
        store: whose plans are carried out.
        own: whether `close` also closes the engine.
    """

    def __init__(self, engine: Engine, store: SqlStore, own: bool) -> None:
        self.engine, self.store, self.own = engine, store, own
        self.dialect = store.dialect
        self._texts = Texts(engine.dialect, raw=True)
        self._callers_texts: dict[str, Texts] = {}

    @contextmanager
    def open(self) -> Iterator[Execute]:
        """Lend a connection; see Connections.open."""
        try:
            lent = self.engine.raw_connection()
        except Exception as error:
            raise (explained(self.dialect, error) or error) from error
        execute = Raw(lent.driver_connection, self.dialect, self._texts)
        try:
            yield execute
            execute.commit()
        except BaseException as error:
            self._give_up(lent, execute, error)
            raise
        lent.close()

    def _give_up(self, lent: Any, execute: Raw, error: BaseException) -> None:
        """Roll back; a connection that is broken is not lent again, nor are those that rest beside it."""
        broken = is_lost(error) or not execute.rolled_back()
        with contextlib.suppress(Exception):  # what is thrown away need not close well
            if broken:
                lent.invalidate()
                if self.own:
                    self.engine.dispose()
            else:
                lent.close()

    def join(self, within: Any) -> Execute:
        """Use the caller's transaction; see Connections.join."""
        if isinstance(within, Session):
            within = within.connection()
        if isinstance(within, Connection):
            return self._join_sqlalchemy(within)
        raw = unwrapped(within)
        driver = driver_of(raw)
        if DATABASES.get(driver) != self.dialect.name or not hasattr(raw, "cursor") or _awaited(raw):
            raise not_ours(within, self.dialect.name, "blocking")
        check_open(raw)
        if driver not in self._callers_texts:
            self._callers_texts[driver] = driver_texts(driver)
        return Joined(Raw(raw, self.dialect, self._callers_texts[driver]), self.store)

    def _join_sqlalchemy(self, connection: Connection) -> Execute:
        if connection.dialect.name != self.dialect.name:
            raise not_ours(connection, self.dialect.name, "blocking")
        if not connection.in_transaction() and commits_alone(connection.connection.driver_connection):
            raise no_transaction("the SQLAlchemy connection commits each statement by itself")
        key = f"sqlalchemy+{connection.dialect.driver}"
        if key not in self._callers_texts:
            self._callers_texts[key] = Texts(connection.dialect, raw=False)
        return Joined(ThroughSqlalchemy(connection, self.dialect, self._callers_texts[key]), self.store)

    def listen(self, queues: Sequence[str]) -> Listener:
        """Hear of pushes; see Connections.listen."""
        if self.dialect.name == "sqlite":
            return DataVersionListener(self._detached())
        if self.engine.dialect.driver == "psycopg":
            return NotifyListener(self._detached(), self.store.statements.channel, queues)
        return SilentListener()

    def _detached(self) -> Any:
        """Return a connection that leaves the pool for good."""
        try:
            lent = self.engine.raw_connection()
            driver_connection = lent.driver_connection  # a detached connection no longer tells
            lent.detach()
        except Exception as error:
            raise (explained(self.dialect, error) or error) from error
        return driver_connection

    def close(self) -> None:
        """Close the connections at rest, if the engine is duerow's own."""
        if self.own:
            self.engine.dispose()


class Raw:
    """Hands steps to a driver's connection: nothing stands between, since this is the hot path."""

    def __init__(self, raw: Any, dialect: Dialect, texts: Texts) -> None:
        self.raw, self.dialect, self.texts = raw, dialect, texts
        self.begun = False
        self._cursor = _cursor(raw)

    def __call__(self, step: Any) -> Any:
        """Carry out one step; BEGIN opens a transaction unless the driver does so by itself."""
        try:
            if step is BEGIN:
                return self._begin()
            text, values = self.texts.of(step)
            with _plain_text(self.raw):
                self._cursor.execute(text, values)
                return self._cursor.fetchall() if self._cursor.description else []
        except Exception as error:
            # What broke off inside a transaction has not been committed; a single step may have been.
            known = explained(self.dialect, error, unsure=not self.begun)
            if known is None or known is error:
                raise
            raise known from error

    def _begin(self) -> None:
        self.begun = True
        if isinstance(self.raw, sqlite3.Connection):
            if not self.raw.in_transaction:
                self._cursor.execute("BEGIN IMMEDIATE")
        elif self.raw.autocommit:
            self._cursor.execute("BEGIN")

    def commit(self) -> None:
        """Make it last, if a transaction is open."""
        try:
            if self._open():
                self.raw.commit()
        except Exception as error:
            raise (explained(self.dialect, error, unsure=True) or error) from error

    def rolled_back(self) -> bool:
        """Undo what is open; return whether that worked."""
        try:
            if self._open():
                self.raw.rollback()
        except Exception:  # it broke just now: the server rolls back, and the caller throws the connection away
            return False
        return True

    def _open(self) -> bool:
        return self.begun or not getattr(self.raw, "autocommit", False)


class ThroughSqlalchemy:
    """Hands steps to the caller's SQLAlchemy connection, so that it knows of them."""

    def __init__(self, connection: Connection, dialect: Dialect, texts: Texts) -> None:
        self.raw = connection.connection.driver_connection
        self.connection, self.dialect, self.texts = connection, dialect, texts

    def __call__(self, step: Any) -> Any:
        """Carry out one step."""
        text, values = self.texts.of(step)
        try:
            with _plain_text(self.raw):
                result = self.connection.exec_driver_sql(text, values)
                return result.fetchall() if result.returns_rows else []
        except Exception as error:
            raise (explained(self.dialect, error) or error) from error


class Joined:
    """The caller's transaction: it is neither begun nor ended here."""

    def __init__(self, execute: Raw | ThroughSqlalchemy, store: SqlStore) -> None:
        self.execute, self.hold = execute, store.hold

    def __call__(self, step: Any) -> Any:
        """Carry out one step. SQLite begins to write at BEGIN: a read that turns to writing later could fail."""
        if step is not BEGIN:
            return self.execute(step)
        if self.hold is not None:
            self.execute(self.hold)
        return None


def _cursor(raw: Any) -> Any:
    """Return a cursor that gives plain tuples, whatever the connection's own cursors and row factory are."""
    driver = driver_of(raw)
    if driver == "psycopg":
        import psycopg

        cursor: Any = psycopg.Cursor(raw, row_factory=psycopg.rows.tuple_row)
        cursor.format = psycopg.pq.Format.BINARY
        return cursor
    if driver == "psycopg2":
        from psycopg2.extensions import cursor as plain_cursor

        return raw.cursor(cursor_factory=plain_cursor)
    cursor = raw.cursor()
    if isinstance(raw, sqlite3.Connection):
        cursor.row_factory = None
    return cursor


@contextmanager
def _plain_text(raw: Any) -> Iterator[None]:
    """Read SQLite's text as text, whatever the caller's connection makes of it."""
    if not isinstance(raw, sqlite3.Connection) or raw.text_factory is str:
        yield
        return
    factory, raw.text_factory = raw.text_factory, str
    try:
        yield
    finally:
        raw.text_factory = factory


def _awaited(raw: Any) -> bool:
    return type(raw).__name__.startswith("Async") or driver_of(raw) == "aiosqlite"
