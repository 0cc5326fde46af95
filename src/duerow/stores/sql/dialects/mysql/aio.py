"""How statements reach a MySQL or MariaDB server through asyncmy; see the blocking twin, `sync`."""

from __future__ import annotations

import asyncio
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from duerow.stores.sql.connections.aio.connections import AwaitedConnections
from duerow.stores.sql.connections.aio.in_parts import RawInParts
from duerow.stores.sql.connections.aio.raw import Raw
from duerow.stores.sql.connections.aio.through_sqlalchemy import ThroughSqlalchemy
from duerow.stores.sql.connections.compiled import Texts
from duerow.stores.sql.connections.ownership import Whose
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.dialects.mysql.server import check_charset
from duerow.stores.sql.dialects.mysql.sync import READ_COMMITTED
from duerow.stores.sql.dialects.mysql.versions import adopt
from duerow.stores.sql.errors import explained


class RawSteps(RawInParts):
    """Executes steps on asyncmy's connection."""

    def __init__(self, raw: Any, dialect: Dialect, texts: Texts, whose: Whose) -> None:
        super().__init__(raw, dialect, texts, whose)
        self._told_level = False

    async def __call__(self, step: Any) -> Any:
        """Execute one step with all of its parts."""
        if self.whose == "lent" and not self._told_level and not self.raw.get_autocommit():
            await self._read_committed()  # the first statement begins the transaction
        return await super().__call__(step)

    async def _begin(self) -> None:
        if self.begun or self.whose == "joined":
            return
        self.begun = True
        if self.raw.get_autocommit():
            if self.whose == "lent":
                await self._read_committed()
            await self._send("BEGIN", None)

    async def _read_committed(self) -> None:
        self._told_level = True
        try:
            await self._send(READ_COMMITTED, None)
        except Exception as error:  # this is not part of a step, so its errors are not translated elsewhere
            raise (explained(self.dialect, error) or error) from error

    async def _send(self, text: str, values: Any) -> Any:
        from asyncmy.cursors import Cursor

        cursor = self.raw.cursor(Cursor)
        await cursor.execute(text if values is None else cursor.mogrify(text, values))
        return await cursor.fetchall() if cursor.description else []

    async def commit(self) -> None:
        """Commit, unless the task has already been cancelled: once sent, COMMIT cannot be taken back."""
        await asyncio.sleep(0)
        await super().commit()

    async def close(self) -> None:
        """Close the connection."""
        await self.raw.ensure_closed()

    async def rolled_back(self) -> bool:
        """Roll back any open transaction; return whether that worked and the connection still exists."""
        return await super().rolled_back() and bool(self.raw.connected)

    def _open(self) -> bool:
        return self.begun or not self.raw.get_autocommit()


class AwaitedMySQLConnections(AwaitedConnections):
    """Connections of one async engine on asyncmy; as `AwaitedConnections`."""

    raw_drivers = frozenset(("asyncmy",))

    def detect_server(self, raw: Any) -> None:
        """Use the statements for the server at the other end of a connection."""
        adopt(self, raw)

    def steps_in_parts(self, raw: Any, texts: Texts, whose: Whose) -> Raw:
        """Return the object that executes steps on asyncmy's connection."""
        check_charset(raw)
        return RawSteps(raw, self.dialect, texts, whose)

    def steps_through(self, connection: AsyncConnection, texts: Texts, alone: bool = False) -> ThroughSqlalchemy:
        """Return the object that executes steps on an SQLAlchemy connection."""
        if connection.sync_connection is not None:
            check_charset(connection.sync_connection.connection.driver_connection)
        return super().steps_through(connection, texts, alone)
