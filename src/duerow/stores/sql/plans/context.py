"""The context that the plans of one store share: its statements, steps for one or many rows, and caches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, TypeVar

from duerow.clock import Clock, HostClock
from duerow.store import Entry, Moved
from duerow.stores.sql.claim_floor import ClaimFloors
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.priorities import DrainCache, Priorities
from duerow.stores.sql.refused_rows import RefusedRows
from duerow.stores.sql.statements import OverRows, Statement, StatementContext, Statements, Step
from duerow.stores.sql.tables import Tables

T = TypeVar("T")

Group = tuple[str, str]
"""A queue and a group in it."""


Install = Callable[[Dialect, bool], tuple[Tables, Statements]]
"""Returns tables and statements for a dialect; if the second argument is true, the statements bind the time."""


@lru_cache(maxsize=32)
def _installation(prefix: str, schema: str | None, dialect: Dialect, timed: bool) -> tuple[Tables, Statements]:
    tables = Tables(dialect, prefix, schema)
    return tables, Statements(StatementContext(tables, dialect, timed))


def installed(prefix: str, schema: str | None) -> Install:
    """Return the `Install` of duerow's own tables; cached, since building statements is slower than connecting.

    Args:
        prefix: the prefix of all table names.
        schema: the database schema that holds them.
    """
    return partial(_installation, prefix, schema)


class Context:
    """The state that the plans of one store share.

    Args:
        dialect: the database.
        install: creates the table and statement objects.
        clock: a clock to use instead of the database's.

    Attributes:
        dialect, tables, statements: the database, and the objects built for it; `speak` replaces all three.
        priorities: the priorities that each queue uses.
        drain_cache: which queues accept messages.
        floors: where claims start.
        refusals: rows that the database refuses to change.
        marks_transactions: whether handlers' transactions are marked, to notice every way of ending them; otherwise,
            only ends that go through SQLAlchemy are noticed.
    """

    marks_transactions = True

    def __init__(self, dialect: Dialect, install: Install, clock: Clock | None) -> None:
        self.clock = clock or (None if dialect.server_clock else HostClock())
        self._install = install
        self.priorities, self.drain_cache = Priorities(), DrainCache()
        self.floors, self.refusals = ClaimFloors(dialect.keeps_dead_entries, clock), RefusedRows()
        self.speak(dialect)

    def speak(self, dialect: Dialect) -> None:
        """Use the statements of a dialect; a connection may reach a different server than its URL names."""
        self.dialect = dialect
        self.tables, self.statements = self._install(dialect, self.clock is not None)

    @property
    def hold(self) -> Step | None:
        """The step that must come before the first write in a caller's transaction, if the database needs one."""
        return Step(self.statements.queues.hold, {}) if self.dialect.writes_alone else None

    # Steps.

    def step(self, statement: Statement, values: Mapping[str, Any]) -> Step:
        """Return the step for a statement, with the time if this store has a clock."""
        if self.clock is None:
            return Step(statement, values)
        return Step(statement, {**values, "now": self.dialect.write_moment(self.clock.now())})

    def given(
        self,
        statement: OverRows,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        more: Mapping[str, Any] | None = None,
    ) -> Step:
        """Return a step over rows; a column with equal values is bound once."""
        return self.columns(statement, dict(zip(columns, zip(*rows, strict=True), strict=True)), more)

    def columns(
        self, statement: OverRows, values: Mapping[str, Sequence[Any]], more: Mapping[str, Any] | None = None
    ) -> Step:
        """Return a step over rows that are passed column by column."""
        rows = len(next(iter(values.values())))
        alike = {name: column[0] for name, column in values.items() if column.count(column[0]) == rows}
        if len(alike) == len(values) and rows > 1:  # all rows are equal, but their number matters
            alike.popitem()
        absent = frozenset(name for name in statement.optional if name in alike and alike[name] is None)
        bound = {f"given_{name}": value for name, value in alike.items() if name not in absent}
        differing = {name: column for name, column in values.items() if name not in alike}
        dialect = self.dialect
        if statement.inserts:
            packed = dialect.pack_to_insert("given", differing, statement.types)
        else:
            packed = dialect.pack("given", differing)
        return self.step(statement.alike(frozenset(alike) - absent, absent), {**bound, **packed, **(more or {})})

    def row(self, entry: Entry) -> tuple[Any, ...]:
        """Return an entry's values for the columns of ENTRY without the id."""
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

    def rows(self, entries: Sequence[Entry]) -> dict[str, Sequence[Any]]:
        """Return the values of entries for the columns of ENTRY without the id, column by column."""
        return {"queue": [entry.queue for entry in entries], **self.contents(entries)}

    def contents(self, given: Sequence[Entry | Moved]) -> dict[str, Sequence[Any]]:
        """Return the same without the queue, for entries or moves."""
        dialect = self.dialect
        return {
            "key": [one.key for one in given],
            "kind": [one.kind for one in given],
            "payload": [one.payload for one in given],
            "headers": [one.headers for one in given],
            "group": [one.group for one in given],
            "priority": [one.priority for one in given],
            "due": [None if one.due is None else dialect.write_moment(one.due) for one in given],
            "delay": [None if one.delay is None else dialect.write_span(one.delay) for one in given],
        }

    def chunks(self, items: Sequence[T], size: Callable[[T], int] | None = None) -> Iterator[Sequence[T]]:
        """Split items into chunks for one statement each, by number and, if `size` is given, by characters."""
        if size is None or len(items) <= 1 or sum(map(size, items)) <= self.dialect.chunk_bytes:
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


class Plans:
    """Plans for one subject.

    Args:
        context: shared by all plans of the store.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
