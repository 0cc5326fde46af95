# Generated from ../aio/database.py by tools/generate_sync.py; edit that file instead.
"""A database with queues in it: carries plans out, on its own connections or in the caller's transaction."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from duerow.clock import Clock, HostClock
from duerow.codec import MAX_PAYLOAD_BYTES
from duerow.dead_letter import check_targets
from duerow.errors import Conflict
from duerow.plan import Plan, run
from duerow.retry import RetryFunction, RetryPolicy
from duerow.store import Connections, Settings, Store, find_backend
from duerow.sync.queue import Queue

T = TypeVar("T")

TRIES: Final = 10
"""How often a transaction that lost against another one is carried out in all."""


def connect(
    target: Any,
    *,
    migrate: bool = False,
    clock: Clock | None = None,
    prefix: str = "duerow_",
    schema: str | None = None,
    **options: Any,
) -> Database:
    """Open the queues of a database, and check that its tables are those of this version.

    Args:
        target: a URL (`sqlite:///app.db`, `postgresql://user@host/base`, `memory://`) or an SQLAlchemy engine.
        migrate: create the tables, or bring them up to this version, first.
        clock: tells the time instead of the database; for tests.
        prefix: what the names of all tables begin with.
        schema: the database schema that holds them; None: the connection's default.
        options: further settings of the store, as in its reference page.

    Raises:
        ConfigurationError: the URL's scheme is unknown, or its driver is not installed.
        SchemaOutdated, SchemaNewer: the tables are not those of this version.
        StoreUnavailable: the server cannot be reached.
    """
    settings = Settings(clock, prefix, schema, options)
    store, connections = find_backend(target).open(target, settings)
    database = Database(store, connections, clock)
    try:
        (database.migrate() if migrate else database.run(store.check))
    except BaseException:
        database.close()
        raise
    return database


class Database:
    """The queues of one database; made by `connect`, a context manager that closes it at the end.

    Attributes:
        store: the plans of this family of databases.
        connections: the way to its server.
    """

    def __init__(self, store: Store, connections: Connections, clock: Clock | None = None) -> None:
        self.store = store
        self.connections = connections
        self._clock = clock
        self._dead_letters: dict[str, str] = {}

    def queue(
        self,
        name: str,
        *,
        lease: timedelta = timedelta(minutes=1),
        retry: RetryPolicy | RetryFunction | None = None,
        max_payload_bytes: int = MAX_PAYLOAD_BYTES,
        dead_letter: str | None = None,
    ) -> Queue:
        """Return the queue of this name; nothing has to be created.

        Args:
            name: 1 to 100 ASCII letters, digits and the characters _ . : / -
            lease: how long a reservation lasts unless it is extended.
            retry: the delays between attempts, and their limit; default: at most 20, from 1 s doubling up to 1 h.
            max_payload_bytes: the largest payload when encoded; default 1 MiB.
            dead_letter: the queue to which messages go that are given up, with headers that say why; default: none,
                they stay in this queue as dead.

        Raises:
            InvalidMessage: a name or the lease is out of bounds.
            ConfigurationError: dead letters would go in a circle.
        """
        queue = Queue(self, name, lease, retry, max_payload_bytes, dead_letter)
        if dead_letter is not None:
            targets = {**self._dead_letters, name: dead_letter}
            check_targets(targets)
            self._dead_letters = targets
        return queue

    def host_time(self) -> datetime:
        """Return the time as this process knows it: that of the clock given to `connect`, else of the host."""
        return (self._clock or HostClock()).now()

    def queues(self) -> list[str]:
        """Return the names of the queues that have messages."""
        return self.run(self.store.queues)

    def migrate(self) -> list[str]:
        """Bring the tables up to this version; return the names of the migrations made now."""
        return self.run(self.store.migrate)

    def migration_sql(self) -> str:
        """Return the statements that create the tables, for whoever may run them."""
        return self.store.migration_sql()

    def run(self, plan: Callable[[], Plan[T]], within: Any = None) -> T:
        """Carry a plan out and return its result.

        On an own connection a transaction that loses against another one is carried out again, whole; inside the
        caller's transaction nothing is retried.

        Args:
            plan: makes the plan, anew for every try.
            within: the caller's open transaction.

        Raises:
            Conflict: it lost ten times in a row.
            StoreUnavailable: the server cannot be reached, or broke off.
        """
        if within is not None:
            return run(plan(), self.connections.join(within))
        try:
            with self.connections.open() as execute:
                return run(plan(), execute)
        except Conflict:
            return self._again(plan)

    def _again(self, plan: Callable[[], Plan[T]]) -> T:
        """Carry out a plan that lost once: out of the way of the winner, and a last time whatever comes of it."""
        for pause in _pauses():
            time.sleep(pause)
            try:
                with self.connections.open() as execute:
                    return run(plan(), execute)
            except Conflict:
                continue
        with self.connections.open() as execute:
            return run(plan(), execute)

    def close(self) -> None:
        """Close the connections that are at rest; an engine of the user's own stays open."""
        self.connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _pauses() -> Iterator[float]:
    """Seconds to wait before each further try but the last: doubling from 2 ms up to half a second, spread evenly."""
    for tried in range(TRIES - 2):
        yield random.uniform(0.5, 1.0) * min(0.002 * 2**tried, 0.5)  # noqa: S311 - spreads load, guards nothing
