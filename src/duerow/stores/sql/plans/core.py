"""What the plans of the SQL stores are made of: steps over one row or many, cut to what a statement takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from duerow.clock import Clock, HostClock
from duerow.plan import Plan
from duerow.store import Entry
from duerow.stores.sql.claim_floor import ClaimFloors
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.migrations import Migrations
from duerow.stores.sql.priorities import DrainCache, Priorities, PriorityLine
from duerow.stores.sql.refused_rows import RefusedRows
from duerow.stores.sql.statements import OverRows, Statement, Statements, Step
from duerow.stores.sql.tables import Tables

T = TypeVar("T")

Group = tuple[str, str]
"""A queue and a group in it."""


@lru_cache(maxsize=32)
def _installation(dialect: Dialect, prefix: str, schema: str | None, timed: bool) -> tuple[Tables, Statements]:
    """Return tables and their statements: to build and compile them takes far longer than to connect."""
    tables = Tables(dialect, prefix, schema)
    return tables, Statements(tables, dialect, timed)


class CorePlans:
    """What all plans of one store need; see `SqlStore` for the arguments.

    Attributes:
        marks_transactions: whether a handler's transaction is marked, so that it shows if the handler has ended it in
            whatever way; else only what SQLAlchemy knows of shows.
    """

    marks_transactions = True

    def __init__(self, dialect: Dialect, prefix: str, schema: str | None, clock: Clock | None) -> None:
        self.capabilities = dialect.capabilities
        self.clock = clock or (None if dialect.server_clock else HostClock())
        self._place = prefix, schema
        self.speak(dialect)
        self.lines, self.doors, self.floors = Priorities(), DrainCache(), ClaimFloors(dialect.keeps_dead_entries)
        self.refusals = RefusedRows()

    def speak(self, dialect: Dialect) -> None:
        """Have the statements of a dialect; a connection may find the server to be another than its address said."""
        self.dialect = dialect
        self.tables, self.statements = _installation(dialect, *self._place, self.clock is not None)
        self.migrations = Migrations(self.tables, dialect)

    @property
    def hold(self) -> Step | None:
        """The step with which the caller's own transaction begins to write, where that must come first."""
        return Step(self.statements.hold, {}) if self.dialect.writes_alone else None

    def _step(self, statement: Statement, values: Mapping[str, Any]) -> Step:
        if self.clock is None:
            return Step(statement, values)
        return Step(statement, {**values, "now": self.dialect.write_moment(self.clock.now())})

    def _given(
        self,
        statement: OverRows,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        more: Mapping[str, Any] | None = None,
    ) -> Step:
        """Return a step over rows; a column in which they are all alike is bound once."""
        return self._columns(statement, dict(zip(columns, zip(*rows, strict=True), strict=True)), more)

    def _columns(
        self, statement: OverRows, values: Mapping[str, Sequence[Any]], more: Mapping[str, Any] | None = None
    ) -> Step:
        """Return a step over rows that are given column by column."""
        rows = len(next(iter(values.values())))
        alike = {name: column[0] for name, column in values.items() if column.count(column[0]) == rows}
        if len(alike) == len(values) and rows > 1:  # equal rows, but as many as are given
            alike.popitem()
        bound = {f"given_{name}": value for name, value in alike.items()}
        differing = {name: column for name, column in values.items() if name not in alike}
        return self._step(
            statement.alike(frozenset(alike)), {**bound, **self.dialect.pack("given", differing), **(more or {})}
        )

    def _row(self, entry: Entry) -> tuple[Any, ...]:
        """Return an entry's values for ENTRY without the id."""
        due = None if entry.due is None else self.dialect.write_moment(entry.due)
        delay = None if entry.delay is None else self.dialect.write_span(entry.delay)
        return (
            entry.queue,
            entry.key,
            entry.kind,
            entry.payload,
            entry.headers,
            entry.group,
            entry.priority,
            due,
            delay,
        )

    def _look_for_lines(self, queue: str) -> Plan[None]:
        """Find the lines that other processes opened."""
        new: set[PriorityLine] = set()
        begun, looking = time.monotonic(), True
        while looking:
            self.lines.add(queue, new)
            gaps = self.lines.gaps(queue)
            more = {"queue_in": queue}
            rows = yield self._given(self.statements.further_lines, ("grouped", "low", "high"), gaps, more)
            new = {PriorityLine(priority, bool(grouped)) for grouped, priority, _ in rows if priority is not None}
            looking = bool(new)
        self.lines.looked(queue, bool(rows[0][2]), begun)

    def _promote_next(self, groups: Iterable[tuple[str, Any]]) -> Plan[None]:
        """Give the next of each group its turn: one of them has left, or is no longer lent."""
        given = sorted({one for one in groups if isinstance(one[1], str)})  # whatever else was written there is none
        for chunk in self._chunks(given):
            rows = yield self._given(self.statements.promote_next, ("queue", "group"), chunk)
            self.floors.written()
            for _, due_at in rows:
                self.floors.lower(self.dialect.read_moment(due_at))
            yield from self._wake(queue for queue, _ in rows)

    def _wake(self, queues: Iterable[str]) -> Plan[None]:
        names = sorted(set(queues))
        if names and self.statements.wake is not None:
            yield self._step(self.statements.wake, self.dialect.pack("given", {"queue": names}))

    def _chunks(self, items: Sequence[T], size: Callable[[T], int] | None = None) -> Iterator[Sequence[T]]:
        """Cut into pieces that one statement takes, by number and, if a size is given, by characters."""
        if size is None or len(items) <= 1:
            for start in range(0, len(items), self.dialect.chunk):
                yield items[start : start + self.dialect.chunk]
            return
        chunk: list[T] = []
        characters = 0
        for item in items:
            length = size(item)
            if chunk and (len(chunk) == self.dialect.chunk or characters + length > self.dialect.chunk_bytes):
                yield chunk
                chunk, characters = [], 0
            chunk.append(item)
            characters += length
        if chunk:
            yield chunk
