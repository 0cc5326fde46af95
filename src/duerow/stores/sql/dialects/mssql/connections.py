"""Connections to SQL Server: transactions begin with a T-SQL statement, and drivers return a `Word` as bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from duerow.plan import BEGIN, arun, run
from duerow.stores.sql.connections.aio.connections import AwaitedConnections
from duerow.stores.sql.connections.aio.through_sqlalchemy import ThroughSqlalchemy as AwaitedThroughSqlalchemy
from duerow.stores.sql.connections.callers import no_transaction
from duerow.stores.sql.connections.compiled import Texts
from duerow.stores.sql.connections.ownership import Whose
from duerow.stores.sql.connections.sync.connections import BlockingConnections
from duerow.stores.sql.connections.sync.in_parts import RawInParts
from duerow.stores.sql.connections.sync.raw import Raw
from duerow.stores.sql.connections.sync.through_sqlalchemy import ThroughSqlalchemy
from duerow.stores.sql.dialects.mssql.compiler import WORD_BYTES
from duerow.stores.sql.errors import milliseconds

if TYPE_CHECKING:
    pass

_BEGIN = "BEGIN TRANSACTION"
_ROLLBACK = "IF @@TRANCOUNT > 0 ROLLBACK"
"""The code of a deadlock, after which the victim's transaction has already ended."""


def plain_rows(rows: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return rows as tuples, with each `Word` as text."""
    return [tuple(value.decode(WORD_BYTES) if type(value) is bytes else value for value in row) for row in rows]


class TsqlSteps(RawInParts):
    """Executes steps on pyodbc's connection."""

    def _read(self, step: Any, text: str, values: Any) -> list[Any]:
        """Execute a statement; a cursor has the time limit that the connection had when it was created."""
        if self.limit is None or not step.statement.bounded:
            return super()._read(step, text, values)
        usual = self._cursor
        try:
            with self.dialect.timed(self.raw, milliseconds(self.limit)):
                self._cursor = self.cursor_of(self.raw)
                return self._rows(step, text, values)
        finally:
            self._cursor = usual

    def _rows(self, step: Any, text: str, values: Any) -> list[Any]:
        cursor = self._cursor
        cursor.execute(text, values)
        if not step.statement.returns:
            return []
        while cursor.description is None and cursor.nextset():
            pass  # a row count precedes the rows if the session has asked for counts
        return plain_rows(cursor.fetchall())

    def _begin(self) -> None:
        if self.begun or self.whose == "joined":
            return
        self.begun = True
        if self.raw.autocommit:
            self._cursor.execute(_BEGIN)
            self._by_hand = True

    def rolled_back(self) -> bool:
        """Roll back any open transaction; return whether that worked and the connection still exists."""
        if self._by_hand:
            try:
                self._cursor.execute(_ROLLBACK)
            except Exception:  # the connection has just broken: the server rolls back, and the caller discards it
                return False
            finally:
                self._ended()
        return super().rolled_back()


class StepsThrough(ThroughSqlalchemy):
    """Executes steps on the caller's SQLAlchemy connection, some of them as several statements."""

    def __call__(self, step: Any) -> Any:
        """Execute one step with all of its parts."""
        if step.statement.parts is None:
            return plain_rows(super().__call__(step))
        return run(step.statement.parts(step.values), self)


class AwaitedStepsThrough(AwaitedThroughSqlalchemy):
    """As `StepsThrough`, awaited; also for duerow's own connections, where it begins and ends transactions."""

    async def __call__(self, step: Any) -> Any:
        """Execute one step with all of its parts."""
        if step is BEGIN:
            return await super().__call__(step)
        if step.statement.parts is None:
            return plain_rows(await super().__call__(step))
        if not step.statement.element.alone:
            await super().__call__(BEGIN)
        return await arun(step.statement.parts(step.values), self)

    async def _begin(self) -> None:
        if self.alone and not self.begun:
            self.begun = True
            await self.connection.exec_driver_sql(_BEGIN)

    async def rolled_back(self) -> bool:
        """Roll back any open transaction; return whether that worked."""
        try:
            if self.begun:
                await self.connection.exec_driver_sql(_ROLLBACK)
            await self.connection.rollback()
        except Exception:  # the connection has just broken: the server rolls back, and the caller discards it
            return False
        return True


class SqlServerConnections(BlockingConnections):
    """Connections of one engine on pyodbc; as `BlockingConnections`."""

    def steps_in_parts(self, raw: Any, texts: Texts, whose: Whose) -> Raw:
        """Return the object that executes steps on pyodbc's connection."""
        return TsqlSteps(raw, self.dialect, texts, whose)

    def steps_through(self, connection: Connection, texts: Texts) -> ThroughSqlalchemy:
        """Return the object that executes steps on an SQLAlchemy connection, in its transaction."""
        if getattr(connection.connection.dbapi_connection, "autocommit", False) is True:
            raise no_transaction("the SQLAlchemy connection is in autocommit mode")
        return StepsThrough(connection, self.dialect, texts)


class AwaitedSqlServerConnections(AwaitedConnections):
    """Connections of one async engine on aioodbc; as `AwaitedConnections`."""

    def steps_through(self, connection: AsyncConnection, texts: Texts, alone: bool = False) -> AwaitedThroughSqlalchemy:
        """Return the object that executes steps on an SQLAlchemy connection, which does not commit each statement."""
        own = connection.sync_connection
        if not alone and own is not None and getattr(own.connection.dbapi_connection, "autocommit", False) is True:
            raise no_transaction("the SQLAlchemy connection is in autocommit mode")
        return AwaitedStepsThrough(connection, self.dialect, texts, alone)
