"""Connections through the clients for one target, or through the caller's own session."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Hashable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from pymongo import AsyncMongoClient
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import PyMongoError

from duerow.errors import ConfigurationError, NotSupported, shown
from duerow.plan import AsyncExecute
from duerow.stores.mongodb.aio.clients import Clients
from duerow.stores.mongodb.aio.connection import MongoConnection, MongoTransaction
from duerow.stores.mongodb.errors import explained
from duerow.stores.mongodb.execution import (
    WANTED_WITHIN,
    another_cluster,
    cluster_of,
    differ,
    no_handlers_transactions,
    no_transactions,
)
from duerow.stores.mongodb.listeners import AsyncStreamListener
from duerow.stores.mongodb.plans.context import MongoContext
from duerow.stores.mongodb.target import Target
from duerow.stores.shield import afinish
from duerow.stores.silent_listener import AsyncSilentListener


class AwaitedMongoConnections:
    """Connections through the clients for one target, or through the caller's own session."""

    def __init__(self, target: Target, context: MongoContext, read_timeout: timedelta | None = None) -> None:
        self.target, self.context, self.read_timeout = target, context, read_timeout
        self.clients = Clients(target)
        self._same: weakref.WeakSet[AsyncMongoClient[Any]] = weakref.WeakSet()

    @property
    def place(self) -> Hashable:
        """Return the identity of these collections."""
        return self.target.place(self.context.prefix)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncExecute]:
        """Lend a connection; see Connections.open."""
        lent = MongoConnection(self.clients.client(), self.target.database, self.context, limit=self.read_timeout)
        try:
            yield lent.execute
        except BaseException:
            await afinish(lent.roll_back)
            raise
        await afinish(lent.commit)

    def join(self, within: Any) -> AsyncExecute:
        """Use the caller's session; see Connections.join."""
        if not self.context.capabilities.within:
            raise NotSupported(f"within=: {no_transactions()}")
        if not isinstance(within, AsyncClientSession):
            wanted = AsyncClientSession.__name__
            raise ConfigurationError(f"within={shown(within)} is not of type {wanted}; {WANTED_WITHIN}, of this API")
        if within.has_ended or not within.in_transaction:
            raise ConfigurationError(f"no transaction is open in the session given as within=; {WANTED_WITHIN}")
        lent = MongoConnection(within.client, self.target.database, self.context, within)

        async def execute(step: Any) -> Any:
            await self._check_cluster(within.client)
            return await lent.execute(step)

        return execute

    async def _check_cluster(self, theirs: AsyncMongoClient[Any]) -> None:
        """Raise ConfigurationError if the caller's client connects to other servers; check each client only once."""
        ours = self.clients.client()
        if theirs is ours or theirs == ours or theirs in self._same:  # clients with the same hosts are equal
            return
        try:
            said = [cluster_of(await client.admin.command("hello")) for client in (ours, theirs)]
        except PyMongoError as error:
            raise (explained(error, wrote=False) or error) from error
        if differ(*said):
            raise another_cluster(ours, theirs)
        self._same.add(theirs)

    async def begin(self) -> MongoTransaction:
        """Begin a transaction for a handler; see Connections.begin."""
        if not self.context.capabilities.within:
            raise no_handlers_transactions()
        own = MongoConnection(self.clients.client(), self.target.database, self.context)
        await own.begin()
        return MongoTransaction(own)

    async def listen(self, queues: Sequence[str]) -> AsyncStreamListener | AsyncSilentListener:
        """Start listening for pushes, if the server has change streams."""
        if not self.context.capabilities.wakes_consumers:
            return AsyncSilentListener()
        place = self.target.database, self.context.names.messages
        return await AsyncStreamListener.listen(self.clients.client(), *place, queues)

    async def close(self) -> None:
        """Close the client, unless it is the user's; if needed again, a new one is created."""
        await self.clients.close()
