"""The probed ways to keep a queue, by name, so that a test or another process can open any of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.probes.contract import Clock, Connection, Queue, Store
from tests.probes.mariadb.connection import MariaDBConnection
from tests.probes.mariadb.connection import prepare as prepare_mariadb
from tests.probes.mariadb.plans import MariaDB
from tests.probes.mongodb.connection import MongoDBConnection
from tests.probes.mongodb.connection import prepare as prepare_mongodb
from tests.probes.mongodb.plans import MongoDB

OpenStore = Callable[[str, Clock | None], Store]


@dataclass(frozen=True)
class Kind:
    """How to reach one kind of store: the fixture that runs its server, its tables, its plans, its connections."""

    url_fixture: str
    prepare: Callable[[str], None]
    store: OpenStore
    connect: Callable[[str], Connection]

    def open(self, url: str, consumer: str, clock: Clock | None = None) -> Queue:
        """A queue over a connection of its own."""
        return Queue(self.store(url, clock), self.connect(url), consumer)


def _mongodb(**options: Any) -> OpenStore:
    return lambda url, clock: MongoDB(url.rsplit("/", 1)[1], clock, **options)


KINDS = {
    "mariadb": Kind("mariadb_url", prepare_mariadb, lambda _, clock: MariaDB(clock), MariaDBConnection),
    "mongodb": Kind("mongodb_url", prepare_mongodb, _mongodb(), MongoDBConnection),
    "mongodb-7": Kind("mongodb_url", prepare_mongodb, _mongodb(answers_each=False), MongoDBConnection),
}
