# Generated from ../aio/connections.py by tools/generate_sync.py; edit that file instead.
"""Connections through the clients for one target, or through the caller's own session."""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from pymongo import MongoClient
from pymongo.errors import PyMongoError
from pymongo.synchronous.client_session import ClientSession

from duerow.errors import ConfigurationError, NotSupported, shown
from duerow.plan import Execute
from duerow.stores.mongodb.errors import explained
from duerow.stores.mongodb.execution import (
    WANTED_WITHIN,
    another_cluster,
    cluster_of,
    differ,
    no_handlers_transactions,
    no_transactions,
)
from duerow.stores.mongodb.listeners import StreamListener
from duerow.stores.mongodb.plans.context import MongoContext
from duerow.stores.mongodb.sync.clients import Clients
from duerow.stores.mongodb.sync.connection import MongoConnection, MongoTransaction
from duerow.stores.mongodb.target import Target
from duerow.stores.shield import finish
from duerow.stores.silent_listener import SilentListener


class BlockingMongoConnections:
    """Connections through the clients for one target, or through the caller's own session."""

    def __init__(self, target: Target, context: MongoContext, read_timeout: timedelta | None = None) -> None:
        self.target, self.context, self.read_timeout = target, context, read_timeout
        self.clients = Clients(target)
        self._same: weakref.WeakSet[MongoClient[Any]] = weakref.WeakSet()

    @property
    def place(self) -> Hashable:
        """Return the identity of these collections."""
        return self.target.place(self.context.prefix)

    @contextmanager
    def open(self) -> Iterator[Execute]:
        """Lend a connection; see Connections.open."""
        lent = MongoConnection(self.clients.client(), self.target.database, self.context, limit=self.read_timeout)
        try:
            yield lent.execute
        except BaseException:
            finish(lent.roll_back)
            raise
        finish(lent.commit)

    def join(self, within: Any) -> Execute:
        """Use the caller's session; see Connections.join."""
        if not self.context.capabilities.within:
            raise NotSupported(f"within=: {no_transactions()}")
        if not isinstance(within, ClientSession):
            wanted = ClientSession.__name__
            raise ConfigurationError(f"within={shown(within)} is not of type {wanted}; {WANTED_WITHIN}, of this API")
        if within.has_ended or not within.in_transaction:
            raise ConfigurationError(f"no transaction is open in the session given as within=; {WANTED_WITHIN}")
        lent = MongoConnection(within.client, self.target.database, self.context, within)

        def execute(step: Any) -> Any:
            self._check_cluster(within.client)
            return lent.execute(step)

        return execute

    def _check_cluster(self, theirs: MongoClient[Any]) -> None:
        """Raise ConfigurationError if the caller's client connects to other servers; check each client only once."""
        ours = self.clients.client()
        if theirs is ours or theirs == ours or theirs in self._same:  # clients with the same hosts are equal
            return
        try:
            said = [cluster_of(client.admin.command("hello")) for client in (ours, theirs)]
        except PyMongoError as error:
            raise (explained(error, wrote=False) or error) from error
        if differ(*said):
            raise another_cluster(ours, theirs)
        self._same.add(theirs)

    def begin(self) -> MongoTransaction:
        """Begin a transaction for a handler; see Connections.begin."""
        if not self.context.capabilities.within:
            raise no_handlers_transactions()
        own = MongoConnection(self.clients.client(), self.target.database, self.context)
        own.begin()
        return MongoTransaction(own)

    def listen(self, queues: Sequence[str]) -> StreamListener | SilentListener:
        """Start listening for pushes, if the server has change streams."""
        if not self.context.capabilities.wakes_consumers:
            return SilentListener()
        place = self.target.database, self.context.names.messages
        return StreamListener.listen(self.clients.client(), *place, queues)

    def close(self) -> None:
        """Close the client, unless it is the user's; if needed again, a new one is created."""
        self.clients.close()
