"""Queues in MongoDB 6.0 and later, for mongodb:// and mongodb+srv:// URLs and for clients of PyMongo.

The URL names the database: `mongodb://host:27017/app?replicaSet=rs0`. `?transactions=off` forbids transactions even if
the server has them.
"""

from __future__ import annotations

from typing import Any, Final

from duerow.store import Settings
from duerow.stores.mongodb.aio.connections import AwaitedMongoConnections
from duerow.stores.mongodb.store import MongoStore
from duerow.stores.mongodb.sync.connections import BlockingMongoConnections
from duerow.stores.mongodb.target import AWAITED, BLOCKING, Target, target_of


class MongoBackend:
    """Opens stores on MongoDB; see `duerow.store.Backend`."""

    def open(self, target: Any, settings: Settings) -> tuple[MongoStore, BlockingMongoConnections]:
        """Open by a URL, a MongoClient or a database of one, for blocking calls."""
        to = target_of(target, settings, BLOCKING)
        store = _store(to, settings)
        return store, BlockingMongoConnections(to, store.context, settings.read_timeout)

    def aopen(self, target: Any, settings: Settings) -> tuple[MongoStore, AwaitedMongoConnections]:
        """Open by a URL, an AsyncMongoClient or a database of one, for awaited calls."""
        to = target_of(target, settings, AWAITED)
        store = _store(to, settings)
        return store, AwaitedMongoConnections(to, store.context, settings.read_timeout)

    def takes(self, target: Any) -> bool:
        """Return whether this is a client or a database of PyMongo; see Backend."""
        return isinstance(target, BLOCKING + AWAITED)


def _store(target: Target, settings: Settings) -> MongoStore:
    return MongoStore(settings.prefix, target.transactions, settings.clock)


mongodb: Final = MongoBackend()
"""The entry point of mongodb:// in the group `duerow.stores`."""
