"""Queues in MongoDB 6.0 and later, opened by mongodb:// and mongodb+srv:// URLs or with a PyMongo client.

The URL names the database: `mongodb://host:27017/app?replicaSet=rs0`. `?transactions=off` forbids transactions even if
the server has them.
"""

from __future__ import annotations

from typing import Any, Final

from duerow.store import Settings
from duerow.store.backends import Naming
from duerow.stores.mongodb.aio.connections import AwaitedMongoConnections
from duerow.stores.mongodb.store import MongoStore
from duerow.stores.mongodb.sync.connections import BlockingMongoConnections
from duerow.stores.mongodb.target import AWAITED, BLOCKING, Target, target_of


class MongoBackend:
    """Opens stores on MongoDB; see `duerow.store.Backend`."""

    naming = Naming("mongodb", 27017)

    def open(self, target: Any, settings: Settings) -> tuple[MongoStore, BlockingMongoConnections]:
        """Open a URL, a MongoClient or one of its databases, for blocking calls."""
        to = target_of(target, settings, BLOCKING)
        store = _store(to, settings)
        return store, BlockingMongoConnections(to, store.context, settings.read_timeout)

    def aopen(self, target: Any, settings: Settings) -> tuple[MongoStore, AwaitedMongoConnections]:
        """Open a URL, an AsyncMongoClient or one of its databases, for async calls."""
        to = target_of(target, settings, AWAITED)
        store = _store(to, settings)
        return store, AwaitedMongoConnections(to, store.context, settings.read_timeout)

    def takes(self, target: Any) -> bool:
        """Return whether the target is a PyMongo client or database; see Backend."""
        return isinstance(target, BLOCKING + AWAITED)


def _store(target: Target, settings: Settings) -> MongoStore:
    return MongoStore(settings.prefix, target.transactions, settings.clock)


mongodb: Final = MongoBackend()
"""The entry point of mongodb:// in the group `duerow.stores`."""
