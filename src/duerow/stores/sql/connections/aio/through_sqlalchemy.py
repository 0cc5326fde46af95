"""Steps run through an SQLAlchemy connection."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from duerow.plan import BEGIN
from duerow.stores.sql.connections.compiled import Texts
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.errors import explained, milliseconds, overran


class ThroughSqlalchemy:
    """Runs steps through an SQLAlchemy connection: the caller's, or one of an engine whose driver needs it.

    Args:
        connection: the connection.
        dialect: the database.
        texts: the compiled statements for its driver.
        alone: whether the connection is in autocommit mode, so that BEGIN must be sent.

    Attributes:
        limit: the time limit of an interactive read; None: no limit.
    """

    limit: timedelta | None = None

    def __init__(self, connection: AsyncConnection, dialect: Dialect, texts: Texts, alone: bool = False) -> None:
        self.connection, self.dialect, self.texts, self.alone = connection, dialect, texts, alone
        self.begun = False

    async def __call__(self, step: Any) -> Any:
        """Execute one step; SQLAlchemy begins a transaction unless the connection is in autocommit mode."""
        try:
            if step is BEGIN:
                return await self._begin()
            text, values = self.texts.of(step)
            if self.limit is not None and step.statement.bounded:
                return await self._read(text, values, milliseconds(self.limit))
            return await self._send(text, values)
        except Exception as error:
            known = overran(self.dialect, self.limit, step, error)
            unsure = self.alone and not self.begun
            raise (known or explained(self.dialect, error, unsure) or error) from error

    async def _read(self, text: str, values: Any, most: int) -> Any:
        """Execute an interactive read with a time limit in milliseconds."""
        before, text, after = self.dialect.limited(text, most)
        with self.dialect.timed(await self._driver(), most):
            if not before:
                return await self._send(text, values)
            await self._begin()
            await self.connection.exec_driver_sql(before)
            rows = await self._send(text, values)
            await self.connection.exec_driver_sql(after)
            return rows

    async def _driver(self) -> Any:
        """Return the driver's own connection."""
        return (await self.connection.get_raw_connection()).driver_connection

    async def _send(self, text: str, values: Any) -> Any:
        result = await self.connection.exec_driver_sql(text, values)
        return result.fetchall() if result.returns_rows else []

    async def _begin(self) -> None:
        if self.alone and not self.begun:
            self.begun = True
            await self.connection.exec_driver_sql("BEGIN")

    async def commit(self) -> None:
        """Commit."""
        try:
            if self.begun:
                await self.connection.exec_driver_sql("COMMIT")
            await self.connection.commit()
        except Exception as error:
            raise (explained(self.dialect, error, unsure=True) or error) from error

    async def rolled_back(self) -> bool:
        """Roll back; return whether that worked."""
        try:
            if self.begun:
                await self.connection.exec_driver_sql("ROLLBACK")
            await self.connection.rollback()
        except Exception:  # the connection has just broken: the server rolls back, and the caller discards it
            return False
        return True
