"""Where a simulation takes place: a store, a virtual clock, and a connection for each actor."""

from __future__ import annotations

import atexit
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, Protocol

from duerow.plan import BEGIN, run
from duerow.store import Store
from duerow.stores.memory.connections import Memory, Session
from duerow.stores.memory.store import MemoryStore
from duerow.stores.sql import claim_floor, priorities, refused_rows
from duerow.stores.sql.claim_floor import ClaimFloors
from duerow.stores.sql.connections.compiled import Texts
from duerow.stores.sql.connections.sync.raw import Raw
from duerow.stores.sql.dialects.sqlite.dialect import SQLite
from duerow.stores.sql.plans import priorities as priority_plans
from duerow.stores.sql.plans.store import SqlStore
from duerow.stores.sql.priorities import DrainCache, Priorities
from duerow.stores.sql.refused_rows import RefusedRows
from duerow.testing.clock import START


class VirtualClock:
    """The time of a simulation, which passes only when the scheduler says so."""

    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        """Return the time."""
        return self.time

    def monotonic(self) -> float:
        """Return the time in seconds since the simulation began."""
        return (self.time - START).total_seconds()

    def sleep(self, seconds: float) -> None:
        """Let this many seconds pass."""
        self.time += timedelta(seconds=seconds)


class Connection(Protocol):
    """What an actor has of its own: the connection of one process."""

    @property
    def begun(self) -> bool:
        """Whether a transaction is open on it."""

    def blocked(self, step: Any) -> bool:
        """Return whether a step would have to wait for the transaction of another actor."""

    def execute(self, step: Any) -> Any:
        """Run a step."""

    def commit(self) -> None:
        """Commit the open transaction."""

    def roll_back(self) -> None:
        """Roll back what is open, as the database does when a connection is gone."""


class Place(Protocol):
    """An empty database for each simulation."""

    clock: VirtualClock
    name: str
    caches: bool
    """Whether each process remembers for half a second what it knows of its queues."""

    def begin(self) -> None:
        """Empty the database, and set the clock to its start."""

    def process(self, number: int) -> tuple[Store, Connection]:
        """Return the store and the connection of one process, which knows nothing yet."""

    def messages(self) -> dict[int, str]:
        """Return what the database holds by id, read without the store's plans; each with its queue and status."""

    def turns(self) -> dict[tuple[str, int, int], str]:
        """Return the outcomes in the history by queue, id and token."""


class MemoryPlace:
    """The memory store: one transaction at a time, and each step as a whole."""

    name = "memory"
    caches = False

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.store = MemoryStore()
        self.begin()

    def begin(self) -> None:
        """Begin with an empty store."""
        self.memory = Memory()
        self.clock.time = START

    def process(self, number: int) -> tuple[Store, Connection]:
        """Return the store, and a session."""
        return self.store, MemoryConnection(self.memory, self.clock)

    def messages(self) -> dict[int, str]:
        """Return what the store holds."""
        return {id: f"{one.status} in {one.queue}" for id, one in self.memory.state.records.items()}

    def turns(self) -> dict[tuple[str, int, int], str]:
        """Return what its history holds."""
        return {(one.queue, one.id, one.token): one.outcome for one, _ in self.memory.state.past.values()}


class MemoryConnection:
    """A session of the memory store."""

    def __init__(self, memory: Memory, clock: VirtualClock) -> None:
        self._memory, self._session = memory, Session(memory, clock, True)
        self.execute, self.commit = self._session.execute, self._session.commit
        self.roll_back = self._session.roll_back

    @property
    def begun(self) -> bool:
        """Whether a transaction is open."""
        return self._session._begun

    def blocked(self, step: Any) -> bool:
        """Every step waits for the transaction of another actor."""
        return not self._session._begun and self._memory.turn.locked()


class SqlitePlace:
    """A file of SQLite, with a connection and a store for each process, as in separate processes.

    The file lives in memory if the machine has such a folder; nothing waits for a disk.
    """

    name = "sqlite"
    caches = True

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self._dialect = SQLite()
        shared = Path("/dev/shm")
        self._folder = tempfile.mkdtemp(prefix="duerow-simulation-", dir=shared if shared.is_dir() else None)
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        self.writer: SqliteConnection | None = None
        self._processes: list[tuple[SqlStore, SqliteConnection]] = []
        store, connection = self._process(0)
        run(store.schema.migrate(), connection.execute)
        connection.end()
        self._tables = connection.tables(besides=store.context.tables.version.name)

    def begin(self) -> None:
        """Empty the tables, and number messages from 1 again."""
        self.clock.time = START
        for _, connection in self._processes:
            connection.roll_back()
        self.writer = None
        self._process(0)[1].empty(self._tables)

    def process(self, number: int) -> tuple[Store, Connection]:
        """Return a store whose caches are empty, and a connection."""
        store, connection = self._process(number)
        context = store.context
        context.priorities, context.drain_cache, context.refusals = Priorities(), DrainCache(), RefusedRows()
        context.floors = ClaimFloors(kept=False)
        return store, connection

    def messages(self) -> dict[int, str]:
        """Return what the table holds."""
        rows = self._process(0)[1].rows("SELECT id, queue, status FROM duerow_message")
        return {id: f"{status} in {queue}" for id, queue, status in rows}

    def turns(self) -> dict[tuple[str, int, int], str]:
        """Return what the history holds."""
        rows = self._process(0)[1].rows("SELECT queue, id, token, outcome FROM duerow_history")
        return {(queue, id, token): outcome for queue, id, token, outcome in rows}

    def _process(self, number: int) -> tuple[SqlStore, SqliteConnection]:
        while len(self._processes) <= number:
            store = SqlStore(self._dialect, "duerow_", None, self.clock)
            self._processes.append((store, SqliteConnection(self, f"{self._folder}/simulated.db", store)))
        return self._processes[number]


class SqliteConnection:
    """A connection of Python's own driver, as duerow's own connections use it."""

    def __init__(self, place: SqlitePlace, file: str, store: SqlStore) -> None:
        from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

        self._place = place
        self._raw = sqlite3.connect(file, isolation_level=None, check_same_thread=False, timeout=0)
        for pragma in ("journal_mode = WAL", "synchronous = OFF", "busy_timeout = 0"):
            self._raw.execute(f"PRAGMA {pragma}")
        dialect = store.context.dialect
        self._steps = Raw(self._raw, dialect, Texts(dialect, SQLiteDialect_pysqlite(), raw=True))

    @property
    def begun(self) -> bool:
        """Whether a transaction is open."""
        return self._steps.begun

    def blocked(self, step: Any) -> bool:
        """One transaction writes at a time; reads never wait."""
        writer = self._place.writer
        return writer is not None and writer is not self and (step is BEGIN or step.statement.writes)

    def execute(self, step: Any) -> Any:
        """Run a step."""
        if step is BEGIN:
            self._place.writer = self
        return self._steps(step)

    def commit(self) -> None:
        """Commit."""
        self._steps.commit()
        self._place.writer = None

    end = commit

    def roll_back(self) -> None:
        """Roll back."""
        self._steps.rolled_back()
        if self._place.writer is self:
            self._place.writer = None

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Read in plain SQL."""
        return self._raw.execute(text).fetchall()

    def tables(self, besides: str) -> list[str]:
        """Return the names of all tables but one."""
        rows = self.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")
        return [name for (name,) in rows if name != besides and not name.startswith("sqlite_")]

    def empty(self, tables: list[str]) -> None:
        """Delete all rows, and number messages from 1 again."""
        self._raw.execute("BEGIN IMMEDIATE")
        for table in (*tables, "sqlite_sequence"):
            self._raw.execute(f'DELETE FROM "{table}"')
        self._raw.execute("COMMIT")


@contextmanager
def virtual_time(clock: VirtualClock) -> Iterator[None]:
    """Let the caches of a process, which ask for the monotonic time, see the virtual one."""
    modules: tuple[Any, ...] = (priorities, claim_floor, refused_rows, priority_plans)
    real = [module.time for module in modules]
    for module in modules:
        module.time = SimpleNamespace(monotonic=clock.monotonic)
    try:
        yield
    finally:
        for module, time in zip(modules, real, strict=True):
            module.time = time


PLACES: Final = {"memory": MemoryPlace, "sqlite": SqlitePlace}
"""The places by their names."""
