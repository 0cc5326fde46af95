"""The database of a run, its queues, and how a process opens both."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.pool import QueuePool

import duerow
from duerow import Queue, aio
from duerow.errors import ConfigurationError, DuplicateKey, InvalidMessage, LeaseLost, MessageLeased, StoreUnavailable
from duerow.store import Settings, find_backend
from duerow.testing.trace import Trace, record

ORDERS, BILLS, MAIL = "orders", "bills", "mail"
"""Queues that messages are worked on in: one with a history, one with a dead-letter queue, and a plain one."""

BILLS_DEAD = "bills-dead"
DONE = "done"
"""Where what was done leaves a message, each exactly one."""

WORKED = (ORDERS, BILLS, MAIL)
WITH_HISTORY = frozenset((ORDERS,))

APPLICATION = "duerow-torture"
"""What PostgreSQL calls the connections of the processes."""

OUT_OF_LUCK = (
    StoreUnavailable,
    LeaseLost,
    MessageLeased,
    DuplicateKey,
    InvalidMessage,
    OperationalError,
    InterfaceError,
)
"""What a process may be told: its connection was ended, or others were faster. Whatever else it is told is a fault."""

ATTEMPTS = 4
SYNCHRONOUS = "NORMAL"
"""How often SQLite waits for the disk: processes are killed, the power is not cut."""

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
        traces: the folder where it records what its database does; None: nowhere.
    """

    url: str
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    number: int = 0
    serializable: bool = False
    traces: Path | None = None

    @cached_property
    def chance(self) -> random.Random:
        """What is random in this process."""
        return random.Random(f"{self.seed} {self.number}")

    @cached_property
    def engine(self) -> Engine:
        """An engine of the application's own: for the ledger, and for transactions given to `within=`."""
        located: URL = make_url(self.url)
        family = located.get_backend_name()
        arguments = {"timeout": 60} if family == "sqlite" else {}
        engine = create_engine(
            located.set(drivername=_driver(self.url)), poolclass=QueuePool, connect_args=arguments, max_overflow=30
        )
        if family == "sqlite":
            event.listen(engine, "connect", lambda raw, _: raw.execute(f"PRAGMA synchronous = {SYNCHRONOUS}"))
        return engine

    @cached_property
    def callers_engine(self) -> Engine:
        """The engine of the transactions that are passed to `within=`: they may have another level of isolation."""
        return self.engine.execution_options(isolation_level="SERIALIZABLE") if self.serializable else self.engine

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
    def transaction(self) -> Iterator[Connection]:
        """A transaction of the application's own, committed at the end of the block."""
        with self.callers_engine.begin() as connection:
            yield connection


def check_connection(setting: Setting) -> None:
    """Raise ConfigurationError if a driver of either face is missing, StoreUnavailable if the server is away."""
    find_backend(setting.url).aopen(setting.url, Settings(prefix=setting.prefix))
    try:
        setting.engine.connect().close()
    except DBAPIError as error:
        raise StoreUnavailable(f"cannot connect to the database: {error.orig}") from error


def _driver(url: str) -> str:
    """Return the name of the blocking driver for a URL."""
    driving = getattr(find_backend(url), "driving", None)
    if driving is None:
        raise ConfigurationError("the ledger of a run is an SQL table, so it needs a database that speaks SQL")
    return str(driving.blocking)


def queues(database: duerow.Database, lease: timedelta) -> dict[str, Queue[Any]]:
    """Return handles of all queues that are worked on."""
    return {name: database.queue(name, lease=lease, **definition(name)) for name in WORKED}
