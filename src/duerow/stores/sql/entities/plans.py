"""The same plans over the rows of a user's own table, which carry a queue state in some of their columns."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, TypeVar

from sqlalchemy import Dialect as SqlDialect

from duerow.clock import Clock, HostClock
from duerow.errors import ConfigurationError, DuerowError, NotSupported
from duerow.plan import BEGIN, Plan
from duerow.reservation import Receipt
from duerow.store import (
    Buried,
    Committed,
    Counted,
    Inspection,
    Query,
    QueueSettings,
    Record,
    Refused,
    Released,
    Reserved,
    Retention,
    RolledBack,
    SchedulesFound,
    Turn,
)
from duerow.stores.sql.claim_floor import ClaimFloors
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.entities.columns import StateTable
from duerow.stores.sql.entities.keys import Identity
from duerow.stores.sql.entities.statements import EntityStatements, EntityTables
from duerow.stores.sql.plans import SqlStore, Step
from duerow.stores.sql.priorities import DrainCache, Priorities
from duerow.stores.sql.refused_rows import RefusedRows
from duerow.stores.sql.statements import RECEIPT, OverRows

T = TypeVar("T")


def _check_keys(dialect: Dialect, state: StateTable) -> None:
    for key in state.keys:
        if not key.is_of(dialect.keys):
            known = ", ".join(kind.__name__ for kind in dialect.keys)
            raise ConfigurationError(
                f"{state.queue}: the column {key.name} of the primary key is {key.kind!r:.80}, of which duerow cannot "
                f"find the rows on this database by an index; the columns of a primary key can be {known} here"
            )


class EntityStore(SqlStore):
    """The queue of one state: it hands out and settles rows of the user's. duerow keeps no table of its own here.

    So there is nothing in which to note consumers, counts, schedules or what is said of queues, and nowhere to push.

    Args:
        dialect: which database.
        driver: SQLAlchemy's dialect of the user's engine.
        state: where the state is.
        deletes: whether a row that is done is deleted.
        clock: tells the time instead of the database.
    """

    races_for_keys = False  # a duplicate key is one of the user's own

    def __init__(
        self, dialect: Dialect, driver: SqlDialect, state: StateTable, deletes: bool, clock: Clock | None
    ) -> None:
        _check_keys(dialect, state)
        self.identity = Identity(state.keys, driver)
        # PostgreSQL wakes those who were noted as sleeping; on SQLite whoever sleeps sees each change of the file.
        self.capabilities = replace(dialect.capabilities, wakes_consumers=dialect.writes_alone)
        self.clock = clock or (None if dialect.server_clock else HostClock())
        self._of = state, deletes
        self.speak(dialect)
        # A handler has a session that does not end its transaction: to mark it would take two more round trips a row.
        self.marks_transactions = dialect.writes_alone
        self.lines, self.doors, self.floors = Priorities(), DrainCache(), ClaimFloors(dialect.keeps_dead_entries)
        self.refusals = RefusedRows()

    def speak(self, dialect: Dialect) -> None:
        """Have the statements of a dialect; see `Core.speak`."""
        state, deletes = self._of
        self.dialect = dialect
        self.tables = EntityTables(dialect, state, self.identity)
        self.statements: EntityStatements = EntityStatements(self.tables, dialect, self.clock is not None, deletes)

    def _look_for_lines(self, queue: str) -> Plan[None]:
        """All rows are in the one line that is always known, and nobody can pause it."""
        self.lines.add(queue, ())
        self.lines.looked(queue, False, time.monotonic())
        yield from ()

    def check(self) -> Plan[None]:
        """Ask whether the server and the table can keep the promises; of duerow's own tables none is needed."""
        yield from self._check_database(ours=False)

    def reserve(
        self,
        queue: str,
        limit: int,
        lease: timedelta,
        attempts: int | None,
        consumer: str,
        dead_letter: str | None = None,
        keep: Retention | None = None,
        kinds: Collection[str] | None = None,
        apart: bool = False,
    ) -> Plan[Reserved]:
        """Lend due rows, which have no kinds; see Store.reserve."""
        return self._by_key(super().reserve(queue, limit, lease, attempts, consumer, dead_letter, keep, None, apart))

    def _columns(
        self, statement: OverRows, values: Mapping[str, Sequence[Any]], more: Mapping[str, Any] | None = None
    ) -> Step:
        """Return a step over rows, of which the ids are written as the columns of the primary key."""
        return super()._columns(statement, self.identity.written(values), more)

    def _by_key(self, plan: Plan[T]) -> Plan[T]:
        """Return a plan all of whose answers begin with an id, as one that is answered with the columns of the key."""
        return plan if self.identity.is_plain else self._answered(plan)

    def _answered(self, plan: Plan[T]) -> Plan[T]:
        try:
            step = next(plan)
            while True:
                try:
                    answer = yield step
                except Exception as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(answer if step is BEGIN else self.identity.read(answer))
        except StopIteration as finished:
            result: T = finished.value
            return result

    def settle(self, turns: Sequence[Turn], keep: Retention | None = None) -> Plan[list[Refused]]:
        """End turns; those that would send a message anywhere are refused. See Store.settle."""
        refused = [Refused(turn.receipt, error) for turn in turns if (error := self._cannot(turn)) is not None]
        if refused:
            named = {one.receipt for one in refused}
            turns = [turn for turn in turns if turn.receipt not in named]
        return refused + ((yield from self._by_key(super().settle(turns, keep))) if turns else [])

    def _cannot(self, turn: Turn) -> DuerowError | None:
        end = turn.end
        if isinstance(end, RolledBack | Buried | Released) or (isinstance(end, Committed) and not end.then):
            return None
        return NotSupported(
            f"row {turn.receipt.id} of {self.statements.queue}: the queue state of a table's rows can be done, tried "
            "again or given up, but a row cannot be moved to a queue, nor push messages when it is settled; push "
            "them in the handler's own session, within=session"
        )

    def extend(self, receipts: Sequence[Receipt], lease: timedelta) -> Plan[dict[Receipt, datetime]]:
        """Let leases run longer; those of rows that are locked are still theirs, and end when they do."""
        ends = yield from self._by_key(super().extend(receipts, lease))
        left = sorted({(one.id, one.token) for one in receipts if one not in ends})
        return ends | (yield from self._by_key(self._kept(left)))

    def _kept(self, receipts: Sequence[tuple[Any, int]]) -> Plan[dict[Receipt, datetime]]:
        """Return when the leases end that still go on."""
        ends: dict[Receipt, datetime] = {}
        for chunk in self._chunks(receipts):
            for id, token, until in (yield self._given(self.statements.kept, RECEIPT, chunk)):
                end = self.dialect.read_moment(until)
                if end is not None:
                    ends[Receipt(id, token)] = end
        return ends

    def find(self, query: Query) -> Plan[list[Record]]:
        """Read rows by their ids; see Store.find."""
        found: list[Record] = []
        for chunk in self._chunks(sorted(set(query.ids or ()))):
            step = self._given(self.statements.named, ("id",), [(id,) for id in chunk])
            found += [self.dialect.record(row) for row in self.identity.read((yield step))]
        return sorted(found, key=attrgetter("id"))[: query.limit]

    def inspect(self, queue: str, id: int | None, key: str | None) -> Plan[Inspection | None]:
        """Read a row by its id; see Store.inspect."""
        found = yield from self.find(Query(queue, ids=(id,) if id is not None else ()))
        ((at,),) = yield self._step(self.statements.time, {})
        now = self.dialect.read_moment(at)
        if now is None:
            raise AssertionError("a database always knows the time")
        return Inspection(now, found[0], None, False, []) if found else None

    def settings(self, queue: str | None = None) -> Plan[list[QueueSettings]]:
        """Nothing is said of it."""
        yield from ()
        return []

    def note_consumer(self, name: str, queues: Sequence[str], kinds: Sequence[str], version: str) -> Plan[None]:
        """Note nothing."""
        yield from ()

    def note_counts(self, process: str, rows: Sequence[Counted]) -> Plan[None]:
        """Note nothing."""
        yield from ()

    def prune(self, limit: int) -> Plan[int]:
        """Nothing is kept."""
        yield from ()
        return 0

    def schedules(self, name: str | None = None, due: bool = False) -> Plan[SchedulesFound]:
        """There are none."""
        yield from ()
        return SchedulesFound((self.clock or HostClock()).now(), None, [])
