"""Queues in MongoDB 6.0 and later, found by URLs that begin with mongodb:// or mongodb+srv://.

The URL names the database: `mongodb://host:27017/app?replicaSet=rs0`. `?transactions=off` forbids transactions where
the server has them.
"""

from __future__ import annotations

from typing import Any, Final

from duerow.store import Settings
from duerow.stores.mongodb.awaited import AwaitedConnections
from duerow.stores.mongodb.blocking import BlockingConnections
from duerow.stores.mongodb.store import MongoStore
from duerow.stores.mongodb.target import Target, target_of


class MongoBackend:
    """Opens stores on MongoDB; see `duerow.store.Backend`."""

    def open(self, target: Any, settings: Settings) -> tuple[MongoStore, BlockingConnections]:
        """Open by URL, for blocking calls."""
        to = target_of(target, settings)
        store = _store(to, settings)
        return store, BlockingConnections(to, store)

    def aopen(self, target: Any, settings: Settings) -> tuple[MongoStore, AwaitedConnections]:
        """Open by URL, for awaited calls."""
        to = target_of(target, settings)
        store = _store(to, settings)
        return store, AwaitedConnections(to, store)


def _store(target: Target, settings: Settings) -> MongoStore:
    return MongoStore(settings.prefix, target.transactions, settings.clock)


mongodb: Final = MongoBackend()
"""The entry point of mongodb:// in the group `duerow.stores`."""
