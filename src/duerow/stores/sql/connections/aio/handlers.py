"""Transactions in which handlers write."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from duerow.plan import BEGIN
from duerow.store import TransactionState
from duerow.stores.sql.connections.aio.raw import Raw
from duerow.stores.sql.connections.aio.through_sqlalchemy import ThroughSqlalchemy
from duerow.stores.sql.connections.fork import GATE
from duerow.stores.sql.connections.handler_transactions import INSIDE, HandlersTransaction, waits_for_itself
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.errors import explained
from duerow.stores.sql.plans.context import Context

T = TypeVar("T")


class Lender(Protocol):
    """The part of the connections that a handler's transaction needs; see `AwaitedConnections`."""

    dialect: Dialect
    context: Context
    own: bool
    of_handlers: set[Any]


class AwaitedTransaction:
    """A transaction in which a handler writes; see OwnTransaction."""

    def __init__(self, connections: Lender, connection: AsyncConnection, inside: int | None = None) -> None:
        self.connection, self._connections, self._inside = connection, connections, inside
        self._transaction: HandlersTransaction | None = None

    async def begin(self) -> None:
        """Begin the transaction on a separate connection; raises the same errors as Connections.begin."""
        connections = self._connections
        try:
            await self.connection.start()
        except Exception as error:
            with contextlib.suppress(Exception):  # closing may fail: the connection was not opened
                await self.connection.close()
            raise (explained(connections.dialect, error) or error) from error
        sync_connection = self.connection.sync_connection
        assert sync_connection is not None  # noqa: S101 - it was opened
        self._transaction = HandlersTransaction(sync_connection, connections.context, connections.own)
        try:
            await self._do(HandlersTransaction.begin)
        except asyncio.CancelledError:
            await self._do(HandlersTransaction.roll_back)
            raise
        connections.of_handlers.add(sync_connection)
        if connections.dialect.writes_alone:
            INSIDE.set(connections)

    async def look(self) -> TransactionState:
        """See OwnTransaction.look."""
        return await self._do(HandlersTransaction.look)

    async def commit(self) -> None:
        """See OwnTransaction.commit."""
        self._leave()
        try:
            await self._do(HandlersTransaction.commit)
        finally:
            self._pass_out()

    async def roll_back(self) -> None:
        """See OwnTransaction.roll_back."""
        self._leave()
        if self._transaction is not None and not self._transaction.ended:
            try:
                await self._do(HandlersTransaction.roll_back)
            finally:
                self._pass_out()

    async def _do(self, act: Callable[[HandlersTransaction], T]) -> T:
        transaction = self._transaction
        assert transaction is not None  # noqa: S101 - it was opened
        return await self.connection.run_sync(lambda _: act(transaction))

    def _leave(self) -> None:
        self._connections.of_handlers.discard(self.connection.sync_connection)
        if INSIDE.get() is self._connections:
            INSIDE.set(None)

    def _pass_out(self) -> None:
        if self._inside is not None:
            GATE.leave(self._inside)
            self._inside = None


class Beside:
    """A second connection, only for reading, while a handler's transaction blocks other writers."""

    def __init__(self, execute: Raw | ThroughSqlalchemy) -> None:
        self.execute = execute

    async def __call__(self, step: Any) -> Any:
        """Execute one step if it does not write."""
        if step is BEGIN or step.statement.writes:
            raise waits_for_itself()
        return await self.execute(step)
