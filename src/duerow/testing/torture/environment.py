"""The database and the queues of a run, and how a process opens both."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sqlalchemy.exc import InterfaceError, InternalError, OperationalError

import duerow
from duerow import Queue, aio
from duerow.errors import ConfigurationError, DuplicateKey, InvalidMessage, LeaseLost, MessageLeased, StoreUnavailable
from duerow.store import find_backend
from duerow.testing.torture.access import Access, Undone
from duerow.testing.torture.sql import SYNCHRONOUS, SqlAccess
from duerow.testing.trace import Trace, record

ORDERS, BILLS, MAIL = "orders", "bills", "mail"
"""The queues whose messages are handled: one with a history, one with a dead-letter queue, and a plain one."""

BILLS_DEAD = "bills-dead"
DONE = "done"
"""The queue in which each handled message leaves exactly one message."""

TICKS = "ticks"
"""The queue of a schedule's messages, which nobody takes, so that all are still there at the end."""

EVERY = timedelta(seconds=1)
"""The time between two ticks of the schedule."""

OF_MESSAGES, OF_ROWS = ".jsonl", ".rows.jsonl"
"""How the names of trace files end, after the number of the process: rows and messages may have the same ids."""

WORKED = (ORDERS, BILLS, MAIL)
WITH_HISTORY = frozenset((ORDERS,))

OUT_OF_LUCK = (
    StoreUnavailable,
    LeaseLost,
    MessageLeased,
    DuplicateKey,
    InvalidMessage,
    OperationalError,
    InterfaceError,
    InternalError,
)
"""The errors that a process may get: its connection ended, or others were faster. Any other error is a fault."""

ATTEMPTS = 4

LEASES = (300, 600, 1_200)
"""The lengths of leases, in milliseconds."""


def definition(name: str) -> dict[str, Any]:
    """Return the arguments of every handle to a queue."""
    pauses = duerow.exponential(first=timedelta(milliseconds=20), factor=3, maximum=timedelta(milliseconds=300))
    terms: dict[str, Any] = {"retry": duerow.limited(ATTEMPTS, pauses)}
    if name == ORDERS:
        terms |= {"history": timedelta(days=7), "remember_keys": timedelta(seconds=2)}
    elif name == BILLS:
        terms["dead_letter"] = BILLS_DEAD
    return terms


@dataclass(frozen=True)
class Setting:
    """The settings of a process.

    Attributes:
        url, settings: the database.
        seed: the seed of its random choices.
        number: its number in the run, which is unique.
        serializable: whether transactions that are passed to `within=` are SERIALIZABLE.
        clocks: whether its clock is wrong.
        jumps: whether the server's clock is set during the run.
        full: whether its disk is full, so that the database file cannot grow.
        traces: the folder in which it records what its database does; None: it does not.
        known: how many migrations it knows, as if it had an earlier version; None: all.
        outdated: whether an earlier version's tables may still be in place, so that it has to wait for their upgrade.
        only: the operations that it may use; empty: all.
    """

    url: str
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    number: int = 0
    serializable: bool = False
    clocks: bool = False
    jumps: bool = False
    full: bool = False
    traces: Path | None = None
    known: int | None = None
    outdated: bool = False
    only: tuple[str, ...] = ()

    @cached_property
    def chance(self) -> random.Random:
        """The source of randomness in this process."""
        return random.Random(f"{self.seed} {self.number}")

    @cached_property
    def access(self) -> Access:
        """The application's own access, for the ledger and for transactions that are passed to `within=`."""
        return access(self.url, self.prefix, self.serializable)

    @property
    def times_agree(self) -> bool:
        """Whether all processes use the same clock, and it runs evenly; otherwise a lease may end early for them."""
        return not (self.jumps or (self.clocks and self.access.is_file))

    @property
    def all_settings(self) -> dict[str, Any]:
        """The arguments of `connect` other than the URL."""
        return {**self.settings, "synchronous": SYNCHRONOUS} if self.url.startswith("sqlite") else self.settings

    @property
    def prefix(self) -> str:
        """The prefix of the names of the tables."""
        return str(self.settings.get("prefix", "duerow_"))

    def open(self) -> duerow.Database:
        """Connect with the blocking API."""
        database = duerow.connect(self.url, **self.all_settings)
        self._record(database)
        return database

    async def aopen(self) -> aio.Database:
        """Connect with the async API."""
        database = await aio.connect(self.url, **self.all_settings)
        self._record(database)
        return database

    def record_rows(self, queue: Any) -> None:
        """Record what a queue of rows does, if this process is to record anything."""
        if self.traces is not None:
            record(queue, Trace(self.traces / f"{self.number}{OF_ROWS}"))

    def _record(self, database: duerow.Database | aio.Database) -> None:
        if self.traces is not None:
            record(database, Trace(self.traces / f"{self.number}{OF_MESSAGES}"))

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """The application's own transaction, committed at the end of the block unless the block raises Undone."""
        with suppress(Undone), self.access.transaction() as opened:
            yield opened


def access(url: str, prefix: str, serializable: bool) -> Access:
    """Return the access to a database.

    Args:
        url: the database.
        prefix: the prefix of the names of the run's tables.
        serializable: whether transactions that are passed to `within=` are SERIALIZABLE.

    Raises:
        ConfigurationError: runs do not support this family of databases.
    """
    if hasattr(find_backend(url), "driving"):
        return SqlAccess(url, prefix, serializable)
    module = f"{__package__}.{url.partition(':')[0].partition('+')[0]}"
    if find_spec(module) is None:
        raise ConfigurationError("a run needs a database with transactions that several processes can open")
    if serializable:
        raise ConfigurationError("this database has no isolation level called SERIALIZABLE")
    opened: Access = import_module(module).Opened(url, prefix)
    return opened


def declare(database: duerow.Database) -> duerow.Schedule:
    """Declare the schedule, as programs do when they start; it pushes all missed ticks, however late."""
    return database.schedule("each-second", every=EVERY, queue=TICKS, payload={}, missed="all")


def queues(database: duerow.Database, lease: timedelta) -> dict[str, Queue[Any]]:
    """Return handles of all queues whose messages are handled."""
    return {name: database.queue(name, lease=lease, **definition(name)) for name in WORKED}
