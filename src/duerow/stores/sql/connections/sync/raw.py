"""Steps run directly on a driver's connection."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from duerow.plan import BEGIN
from duerow.stores.sql.connections.callers import driver_of
from duerow.stores.sql.connections.compiled import Texts
from duerow.stores.sql.connections.handler_transactions import INSIDE, begin_postgresql, waits_for_itself
from duerow.stores.sql.connections.lenient_reads import garbled, is_garbled, read_again, read_by, told_text
from duerow.stores.sql.connections.psycopg_cursors import binary_cursor, has_pipelines, takes_pipelines
from duerow.stores.sql.connections.sync.pipelined import send_all, send_in_one_go, send_together
from duerow.stores.sql.connections.sync.prepared import PreparedStatements
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.errors import explained, milliseconds, of_step
from duerow.stores.sql.statements import Step


class Raw:
    """Runs steps directly on a driver's connection, because this is the hot path.

    Args:
        raw: the driver's connection.
        dialect: the database.
        texts: the compiled statements for its driver.
        writing: the lock held from a transaction's first write to its end, if only one transaction can write at a time.

    Attributes:
        limit: the time limit of an interactive read; None: no limit.
        prepared: the connection's prepared statements, if it is psycopg's and of duerow's own engine.
    """

    limit: timedelta | None = None
    prepared: PreparedStatements | None = None

    def __init__(self, raw: Any, dialect: Dialect, texts: Texts, writing: threading.Lock | None = None) -> None:
        self.raw, self.dialect, self.texts, self.writing = raw, dialect, texts, writing
        self.begun = self._by_hand = self._holds = False
        self._cursor = self.cursor_of(raw)
        self._ends_all = driver_of(raw, dialect.callers) == "psycopg"
        self._other_text = isinstance(raw, sqlite3.Connection) and raw.text_factory is not str

    def __call__(self, step: Any) -> Any:
        """Execute one step; BEGIN opens a transaction unless the driver does so implicitly."""
        if self.writing is not None and not self._holds and (step is BEGIN or step.statement.writes):
            if INSIDE.get() is self.writing:
                raise waits_for_itself()
            self._holds = self.writing.acquire()
        try:
            if step is BEGIN:
                return self._begin()
            text, values = self.texts.of(step)
            if self._other_text or self.texts.lenient:
                with read_by(self.raw, told_text if self.texts.lenient else str):
                    return self._read(step, text, values)
            return self._read(step, text, values)
        except Exception as error:
            if not self.texts.lenient and is_garbled(error):
                self.texts.lenient = True
                self._cursor.close()  # ends the statement
                self._cursor = self.cursor_of(self.raw)
                raise garbled() from error
            known = of_step(self.dialect, self.limit, step, error, self.begun)
            if known is None or known is error:
                raise
            raise known from error

    def at_once(self, steps: Iterator[Step], alone: bool) -> list[Any]:
        """Execute several steps; if the driver can, each is prepared while the previous one runs.

        Statements that psycopg sends without waiting are one transaction, so steps that are alone need no BEGIN.
        """
        if not has_pipelines(self.raw):
            if alone:
                self(BEGIN)
            return [self(step) for step in steps]
        statements = map(self.texts.of, steps)
        try:
            if not alone:
                return send_all(self.raw, self._new_cursor, statements)
            return [_fetched(one) for one in send_together(self.raw, self._new_cursor, statements)]
        except Exception as error:
            unsure = alone and not self.begun and bool(self.raw.autocommit)  # then the last statement has committed
            known = explained(self.dialect, error, unsure, in_line=True)
            if known is None or known is error:
                raise
            raise known from error

    def _new_cursor(self) -> Any:
        return self.cursor_of(self.raw)

    def cursor_of(self, raw: Any) -> Any:
        """Return a cursor that returns plain tuples, whatever the connection's cursor class and row factory are."""
        driver = driver_of(raw, self.dialect.callers)
        if driver == "psycopg":
            import psycopg

            return binary_cursor(psycopg.Cursor, raw)
        if driver == "psycopg2":
            from psycopg2.extensions import cursor as plain_cursor

            return raw.cursor(cursor_factory=plain_cursor)
        cursor = raw.cursor()
        if isinstance(raw, sqlite3.Connection):
            cursor.row_factory = None
        return cursor

    def _read(self, step: Any, text: str, values: Any) -> list[Any]:
        """Execute a statement, with a time limit if it is an interactive read."""
        if self.limit is None or not step.statement.bounded:
            return self._rows(step, text, values)
        most = milliseconds(self.limit)
        before, text, after = self.dialect.limited(text, most)
        with self.dialect.timed(self.raw, most):
            if not before:
                return self._rows(step, text, values)
            if self._ends_all and takes_pipelines():
                send_in_one_go(self.raw, self._cursor, self.cursor_of(self.raw), before, text, values, after)
                return _fetched(self._cursor)
            self._begin()
            self._cursor.execute(before)
            rows = self._rows(step, text, values)
            self._cursor.execute(after)
            return rows

    def _rows(self, step: Any, text: str, values: Any) -> list[Any]:
        if self.prepared is not None:
            rows = self.prepared.execute(text, values)
            if rows is not None:
                return rows
        self._cursor.execute(text, values)
        return _fetched(self._cursor) if step.statement.returns else []

    def _begin(self) -> None:
        if self.begun:  # this plan is part of another plan
            return
        self.begun = True
        if isinstance(self.raw, sqlite3.Connection):
            if not self.raw.in_transaction:
                self._cursor.execute("BEGIN IMMEDIATE")
                self._by_hand = True
        elif self.raw.autocommit:
            self._bare(begin_postgresql(self.raw))
            self._by_hand = not self._ends_all

    def answer(self) -> None:
        """Raise an error if the server has closed the connection."""
        self._bare("SELECT 1")
        self._cursor.fetchall()

    def _bare(self, text: str) -> None:
        """Execute a statement without values; psycopg does not prepare it, see the awaited twin."""
        if self._ends_all:
            self._cursor.execute(text, prepare=False)
        else:
            self._cursor.execute(text)

    def commit(self) -> None:
        """Commit, if a transaction is open."""
        if self.prepared is not None and not self.begun:  # each statement was its own transaction
            return
        try:
            if self._by_hand:  # in autocommit mode, a driver's own commit() may do nothing
                self._cursor.execute("COMMIT")
            elif self._open():
                self.raw.commit()
            self._ended()
        except Exception as error:
            raise (explained(self.dialect, error, unsure=True) or error) from error

    def rolled_back(self) -> bool:
        """Roll back; return whether that worked and the connection is still usable."""
        try:
            if self.prepared is not None and self.prepared.is_busy():
                return False
            if self._open():
                if self._by_hand:
                    self._cursor.execute("ROLLBACK")
                else:
                    self.raw.rollback()
                if self.prepared is not None:
                    self.prepared.recall()
        except Exception:  # the connection has just broken: the server rolls back, and the caller discards it
            return False
        finally:
            self._ended()
        return not getattr(self.raw, "closed", False)

    def _open(self) -> bool:
        if isinstance(self.raw, sqlite3.Connection):  # its autocommit attribute, if it exists, has more than two values
            return self.raw.in_transaction
        return self.begun or not self.raw.autocommit

    def _ended(self) -> None:
        self.begun = self._by_hand = False
        if self._holds and self.writing is not None:
            self._holds = False
            self.writing.release()


def _fetched(cursor: Any) -> list[Any]:
    try:
        return cursor.fetchall()  # type: ignore[no-any-return]
    except Exception as error:
        return read_again(cursor, error)
