"""How a MySQL or MariaDB server is handed statements by asyncmy; as `mysql_connections`."""

from __future__ import annotations

import asyncio
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from duerow.stores.sql.connections.aio import AwaitedConnections, Raw, RawInParts, ThroughSqlalchemy
from duerow.stores.sql.connections.compiled import Texts
from duerow.stores.sql.connections.sync import Whose
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.dialects.mysql.server import check_charset
from duerow.stores.sql.dialects.mysql.sync import READ_COMMITTED
from duerow.stores.sql.dialects.mysql.versions import met


class RawSteps(RawInParts):
    """Hands steps to asyncmy's connection."""

    def __init__(self, raw: Any, dialect: Dialect, texts: Texts, whose: Whose) -> None:
        super().__init__(raw, dialect, texts, whose)
        self._told_level = False

    async def __call__(self, step: Any) -> Any:
        """Carry out one step, all of its parts."""
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
        await self._send(READ_COMMITTED, None)

    async def _send(self, text: str, values: Any) -> Any:
        from asyncmy.cursors import Cursor

        cursor = self.raw.cursor(Cursor)
        await cursor.execute(text if values is None else cursor.mogrify(text, values))
        return await cursor.fetchall() if cursor.description else []

    async def commit(self) -> None:
        """Make it last. Who was cancelled until now commits nothing: once COMMIT was sent it cannot be taken back."""
        await asyncio.sleep(0)
        await super().commit()

    async def rolled_back(self) -> bool:
        """Undo what is open; return whether that worked and the connection is still there."""
        return await super().rolled_back() and bool(self.raw.connected)

    def _open(self) -> bool:
        return self.begun or not self.raw.get_autocommit()


class AwaitedMySQLConnections(AwaitedConnections):
    """Connections of one async engine on asyncmy; as `AwaitedConnections`."""

    raw_drivers = frozenset(("asyncmy",))

    def detect_server(self, raw: Any) -> None:
        """Have the statements of the server that a connection leads to."""
        dialect = met(self.engine.dialect, raw)
        if dialect is not self.dialect:
            self.store.speak(dialect)
            self.dialect = dialect
            self.begin_texts()

    def steps_in_parts(self, raw: Any, texts: Texts, whose: Whose) -> Raw:
        """Return what hands steps to asyncmy's connection."""
        check_charset(raw)
        return RawSteps(raw, self.dialect, texts, whose)

    def steps_through(self, connection: AsyncConnection, texts: Texts, alone: bool = False) -> ThroughSqlalchemy:
        """Return what hands steps to an SQLAlchemy connection."""
        if connection.sync_connection is not None:
            check_charset(connection.sync_connection.connection.driver_connection)
        return super().steps_through(connection, texts, alone)
