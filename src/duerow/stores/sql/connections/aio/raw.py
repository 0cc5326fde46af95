"""Steps run directly on a driver's connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

from duerow.plan import BEGIN
from duerow.stores.sql.connections.aio.pipelined import send_all, send_in_one_go, send_together
from duerow.stores.sql.connections.aio.prepared import PreparedStatements
from duerow.stores.sql.connections.callers import check_open
from duerow.stores.sql.connections.compiled import Texts
from duerow.stores.sql.connections.handler_transactions import begin_postgresql
from duerow.stores.sql.connections.lenient_reads import garbled, is_garbled, read_again, told_text
from duerow.stores.sql.connections.psycopg_cursors import binary_cursor, has_pipelines, takes_pipelines
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.errors import explained, milliseconds, of_step
from duerow.stores.sql.statements import Step


class Raw:
    """Runs steps on a driver's connection; see the blocking twin for more.

    Attributes:
        unproven: whether its own thread must still check that the connection is not in autocommit mode.
        limit: the time limit of an interactive read; None: no limit.
        prepared: the connection's prepared statements, if it is psycopg's and of duerow's own engine.
    """

    limit: timedelta | None = None
    prepared: PreparedStatements | None = None

    def __init__(self, raw: Any, dialect: Dialect, texts: Texts) -> None:
        self.raw, self.dialect, self.texts = raw, dialect, texts
        self.begun = self._by_hand = self.unproven = False
        self.on_sqlite = dialect.name == "sqlite"
        self._own_cursor: Any = None

    async def __call__(self, step: Any) -> Any:
        """Execute one step; BEGIN opens a transaction unless the driver does so implicitly."""
        try:
            if step is BEGIN:
                return await self._begin()
            text, values = self.texts.of(step)
            if self.limit is not None and step.statement.bounded:
                return await self._read(text, values, milliseconds(self.limit))
            return await (self._sqlite(text, values) if self.on_sqlite else self._send(text, values))
        except Exception as error:
            if not self.texts.lenient and is_garbled(error):
                self.texts.lenient = True
                raise garbled() from error
            known = of_step(self.dialect, self.limit, step, error, self.begun)
            if known is None or known is error:
                raise
            raise known from error

    async def at_once(self, steps: AsyncIterator[Step], alone: bool) -> list[Any]:
        """Execute several steps; if the driver can, each is prepared while the previous one runs.

        Statements that psycopg sends without waiting are one transaction, so steps that are alone need no BEGIN.
        """
        if not has_pipelines(self.raw):
            if alone:
                await self(BEGIN)
            return [await self(step) async for step in steps]
        statements = (self.texts.of(step) async for step in steps)
        try:
            if not alone:
                return await send_all(self.raw, self._cursor, statements)
            return [await self._fetched(one) for one in await send_together(self.raw, self._cursor, statements)]
        except Exception as error:
            unsure = alone and not self.begun and bool(self.raw.autocommit)  # then the last statement has committed
            known = explained(self.dialect, error, unsure, in_line=True)
            if known is None or known is error:
                raise
            raise known from error

    async def _begin(self) -> None:
        if self.begun:  # this plan is part of another plan
            return
        self.begun = True
        if self.on_sqlite:
            if not self.raw.in_transaction:
                await self._sqlite("BEGIN IMMEDIATE", {})
                self._by_hand = True
        elif self.raw.autocommit:
            await self._send(begin_postgresql(self.raw), None)

    async def _read(self, text: str, values: Any, most: int) -> Any:
        """Execute an interactive read with a time limit in milliseconds."""
        if self.on_sqlite:
            return await self._sqlite(text, values, most)
        before, text, after = self.dialect.limited(text, most)
        if not before:
            return await self._send(text, values)
        if takes_pipelines():
            cursor = self._cursor()
            await send_in_one_go(self.raw, cursor, self._cursor(), before, text, values, after)
            return await self._fetched(cursor)
        await self._begin()
        await self._send(before, None)
        rows = await self._send(text, values)
        await self._send(after, None)
        return rows

    def _cursor(self) -> Any:
        import psycopg

        return binary_cursor(psycopg.AsyncCursor, self.raw)

    async def _send(self, text: str, values: Any) -> Any:
        if self.prepared is not None and values is not None:
            rows = await self.prepared.execute(text, values)
            if rows is not None:
                return rows
        if self._own_cursor is None:
            self._own_cursor = self._cursor()
        # If psycopg prepared a BEGIN, its rollbacks would deallocate what duerow has prepared.
        await self._own_cursor.execute(text, values, prepare=False if values is None else None)
        return await self._fetched(self._own_cursor)

    async def answer(self) -> None:
        """Raise an error if the server has closed the connection."""
        await self._send("SELECT 1", None)

    async def close(self) -> None:
        """Close the connection."""
        await self.raw.close()

    async def _fetched(self, cursor: Any) -> Any:
        try:
            return await cursor.fetchall() if cursor.description else []
        except Exception as error:
            return read_again(cursor, error)

    async def _sqlite(self, text: str, values: Any, most: int | None = None) -> Any:
        """Execute and fetch in one call to the connection's thread, because a call costs more than the statement.

        If the caller is cancelled before the thread starts this call, nothing is executed, not even COMMIT.
        """
        cancelled = False

        def visit() -> list[Any]:
            if cancelled:
                return []
            connection = self.raw._conn
            if self.unproven:  # only this thread may read the connection's mode
                check_open(connection, self.dialect.callers["sqlite3"])
                self.unproven = False
            reads = told_text if self.texts.lenient else str
            factory, connection.text_factory = connection.text_factory, reads
            cursor = connection.cursor()
            try:
                cursor.row_factory = None
                with contextlib.nullcontext() if most is None else self.dialect.timed(connection, most):
                    return cursor.execute(text, values).fetchall()  # type: ignore[no-any-return]
            finally:
                cursor.close()  # ends the statement, even if some of its rows could not be read
                connection.text_factory = factory

        try:
            return await self.raw._execute(visit)
        except asyncio.CancelledError:
            cancelled = True
            raise

    async def commit(self) -> None:
        """Commit, if a transaction is open."""
        try:
            if self.prepared is not None and not self.begun:  # each statement was its own transaction
                return
            if self._by_hand:  # in autocommit mode, sqlite3's own commit() does nothing
                await self._sqlite("COMMIT", {})
            elif self._open():
                await self.raw.commit()
            self.begun = self._by_hand = False
        except Exception as error:
            raise (explained(self.dialect, error, unsure=True) or error) from error

    async def rolled_back(self) -> bool:
        """Roll back; return whether that worked and the connection is still usable."""
        try:
            if self.prepared is not None and self.prepared.is_busy():
                return False
            if self._open():
                await (self._sqlite("ROLLBACK", {}) if self._by_hand else self.raw.rollback())
                if self.prepared is not None:
                    await self.prepared.recall()
        except Exception:  # the connection has just broken: the server rolls back, and the caller discards it
            return False
        finally:
            self.begun = self._by_hand = False
        return not getattr(self.raw, "closed", False)

    def _open(self) -> bool:
        return bool(self.raw.in_transaction) if self.on_sqlite else self.begun or not self.raw.autocommit
