"""The database of a run, its queues, and how a process opens both."""

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
"""Queues that messages are worked on in: one with a history, one with a dead-letter queue, and a plain one."""

BILLS_DEAD = "bills-dead"
DONE = "done"
"""Where what was done leaves a message, each exactly one."""

TICKS = "ticks"
"""Where a schedule pushes its messages, which nobody takes, so that all are there at the end."""

EVERY = timedelta(seconds=1)
"""How long it is between two ticks of the schedule."""

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
"""What a process may be told: its connection was ended, or others were faster. Whatever else it is told is a fault."""

ATTEMPTS = 4

LEASES = (300, 600, 1_200)
"""How long leases are, in milliseconds."""


def definition(name: str) -> dict[str, Any]:
    """Return what every handle of a queue is made with."""
    pauses = duerow.exponential(first=timedelta(milliseconds=20), factor=3, maximum=timedelta(milliseconds=300))
    terms: dict[str, Any] = {"retry": duerow.limited(ATTEMPTS, pauses)}
    if name == ORDERS:
        terms |= {"history": timedelta(days=7), "remember_keys": timedelta(seconds=2)}
    elif name == BILLS:
        terms["dead_letter"] = BILLS_DEAD
    return terms


@dataclass(frozen=True)
class Setting:
    """What one process is told.

    Attributes:
        url, settings: the database.
        seed: what its chance begins with.
        number: its number in the run, no other's.
        serializable: whether SERIALIZABLE is the level of transactions that are passed to `within=`.
        clocks: whether its clock is wrong.
        full: whether its disk is full: the file of the database does not grow.
        traces: the folder where it records what its database does; None: nowhere.
        known: how many migrations it knows, as if it were of an earlier version; None: all.
        outdated: whether the tables may still be those of an earlier version, so that it has to wait for others.
        only: the operations that it may use; empty: all.
    """

    url: str
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    number: int = 0
    serializable: bool = False
    clocks: bool = False
    full: bool = False
    traces: Path | None = None
    known: int | None = None
    outdated: bool = False
    only: tuple[str, ...] = ()

    @cached_property
    def chance(self) -> random.Random:
        """What is random in this process."""
        return random.Random(f"{self.seed} {self.number}")

    @cached_property
    def access(self) -> Access:
        """The application's own access: for the ledger, and for transactions given to `within=`."""
        return access(self.url, self.prefix, self.serializable)

    @property
    def times_agree(self) -> bool:
        """Whether all processes go by one clock; otherwise a lease may end early for one of them."""
        return not (self.clocks and self.access.is_file)

    @property
    def all_settings(self) -> dict[str, Any]:
        """What `connect` is given besides the URL."""
        return {**self.settings, "synchronous": SYNCHRONOUS} if self.url.startswith("sqlite") else self.settings

    @property
    def prefix(self) -> str:
        """What the names of the tables begin with."""
        return str(self.settings.get("prefix", "duerow_"))

    def open(self) -> duerow.Database:
        """Connect."""
        database = duerow.connect(self.url, **self.all_settings)
        self._record(database)
        return database

    async def aopen(self) -> aio.Database:
        """Connect on the awaited face."""
        database = await aio.connect(self.url, **self.all_settings)
        self._record(database)
        return database

    def _record(self, database: duerow.Database | aio.Database) -> None:
        if self.traces is not None:
            record(database, Trace(self.traces / f"{self.number}.jsonl"))

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A transaction of the application's own, committed at the end of the block unless that raises Undone."""
        with suppress(Undone), self.access.transaction() as opened:
            yield opened


def access(url: str, prefix: str, serializable: bool) -> Access:
    """Return the access to a database.

    Args:
        url: the database.
        prefix: what the names of the run's tables begin with.
        serializable: whether SERIALIZABLE is the level of transactions that are passed to `within=`.

    Raises:
        ConfigurationError: there is none to a database of this family.
    """
    if hasattr(find_backend(url), "driving"):
        return SqlAccess(url, prefix, serializable)
    module = f"{__package__}.{url.partition(':')[0].partition('+')[0]}"
    if find_spec(module) is None:
        raise ConfigurationError("a run needs a database that several processes reach by themselves, with transactions")
    if serializable:
        raise ConfigurationError("this database has no level of isolation that is called SERIALIZABLE")
    opened: Access = import_module(module).Opened(url, prefix)
    return opened


def declare(database: duerow.Database) -> duerow.Schedule:
    """Declare the schedule, as programs do when they start; it pushes all of its ticks, however late."""
    return database.schedule("each-second", every=EVERY, queue=TICKS, payload={}, missed="all")


def queues(database: duerow.Database, lease: timedelta) -> dict[str, Queue[Any]]:
    """Return handles of all queues that are worked on."""
    return {name: database.queue(name, lease=lease, **definition(name)) for name in WORKED}
