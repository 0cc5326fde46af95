"""The plans for rows of a user's table, some of whose columns store a queue state."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, NoReturn, TypeVar

from sqlalchemy import Dialect as SqlDialect

from duerow.clock import Clock
from duerow.errors import ConfigurationError, DuerowError, NotSupported, shown
from duerow.message import OnDuplicate
from duerow.plan import BEGIN, Plan
from duerow.reservation import Receipt
from duerow.store import (
    Buried,
    Committed,
    Entry,
    Inspection,
    MissingPart,
    Query,
    Record,
    Refused,
    Released,
    Reserved,
    Retention,
    RolledBack,
    Store,
    Turn,
)
from duerow.store.writes import following
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.entities.columns import StateTable
from duerow.stores.sql.entities.keys import Identity
from duerow.stores.sql.entities.statements import EntityStatementContext, EntityStatements, EntityTables
from duerow.stores.sql.plans.claim import ClaimPlans
from duerow.stores.sql.plans.context import Context
from duerow.stores.sql.plans.history import HistoryPlans
from duerow.stores.sql.plans.join import JoinPlans
from duerow.stores.sql.plans.next_due import NextDuePlans
from duerow.stores.sql.plans.priorities import PriorityPlans
from duerow.stores.sql.plans.promote import PromotePlans
from duerow.stores.sql.plans.push import PushPlans
from duerow.stores.sql.plans.reserve import ReservePlans
from duerow.stores.sql.plans.savepoints import SavepointPlans
from duerow.stores.sql.plans.schema import check_database
from duerow.stores.sql.plans.settle import SettlePlans
from duerow.stores.sql.statements import RECEIPT, OverRows, Step

T = TypeVar("T")


def _check_keys(dialect: Dialect, state: StateTable) -> None:
    for key in state.keys:
        if not key.is_of(dialect.keys):
            known = ", ".join(kind.__name__ for kind in dialect.keys)
            raise ConfigurationError(
                f"{state.queue}: the column {key.name} of the primary key is {shown(key.kind)}, and on this "
                "database duerow cannot find rows through an index on such a column; the columns of a primary key can "
                f"be {known} here"
            )


class EntityContext(Context):
    """The context that the plans for the rows of one state share.

    Args:
        dialect: the database.
        identity: writes and reads the primary keys of the rows.
        state: where the state is stored.
        deletes: whether rows are deleted when they are done.
        clock: a clock to use instead of the database's.
    """

    statements: EntityStatements

    def __init__(
        self, dialect: Dialect, identity: Identity, state: StateTable, deletes: bool, clock: Clock | None
    ) -> None:
        self.identity = identity

        def install(dialect: Dialect, timed: bool) -> tuple[EntityTables, EntityStatements]:
            tables = EntityTables(dialect, state, identity)
            return tables, EntityStatements(EntityStatementContext(tables, dialect, timed), deletes)

        super().__init__(dialect, install, clock)
        # A handler's session cannot end the transaction, and a mark would take two more round trips per row.
        self.marks_transactions = dialect.writes_alone

    def columns(
        self, statement: OverRows, values: Mapping[str, Sequence[Any]], more: Mapping[str, Any] | None = None
    ) -> Step:
        """Return a step over rows, whose ids are written as the columns of the primary key."""
        return super().columns(statement, self.identity.written(values), more)


class EntityPriorities(PriorityPlans):
    """Rows have no priorities: all are in one line, which cannot be paused."""

    def look(self, *queues: str) -> Plan[None]:
        """Do nothing."""
        for queue in queues:
            self.context.priorities.add(queue, ())
            self.context.priorities.looked(queue, False, time.monotonic())
        yield from ()


class EntityMessages:
    """Reserve and settle rows; see `duerow.store.MessageStore`."""

    def __init__(self, context: EntityContext) -> None:
        self.context = context
        history, promote, priorities = HistoryPlans(context), PromotePlans(context), EntityPriorities(context)
        push = PushPlans(context, history, promote)
        # A duplicate key can only come from the user's own constraints.
        savepoints = SavepointPlans(context, promote, races_for_keys=False)
        claims = ClaimPlans(context, priorities, savepoints, history, promote)
        self._settle = SettlePlans(context, push, JoinPlans(context, push), history, promote)
        self._reserve = ReservePlans(context, claims, self._settle, history, promote)
        self.next_due = NextDuePlans(context, priorities).next_due

    def push(
        self, entries: Sequence[Entry], on_duplicate: OnDuplicate, remembered: bool = False, once: str | None = None
    ) -> NoReturn:
        """Raise NotSupported: rows are scheduled by setting their columns."""
        raise NotSupported(
            f"{self._queue} is the queue state of a table: nothing can be pushed there; insert a row, or "
            "give one a due time"
        )

    def pop(
        self,
        queue: str,
        limit: int,
        keep: Retention | None = None,
        kinds: Collection[str] | None = None,
        apart: bool = False,
    ) -> NoReturn:
        """Raise NotSupported: rows stay in their table."""
        raise NotSupported(
            f"{self._queue} is the queue state of a table: its rows cannot be popped; reserve and commit them"
        )

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
        exact: bool = True,
    ) -> Plan[Reserved]:
        """Reserve due rows, which have no kinds; see MessageStore.reserve."""
        reserve = self._reserve.reserve
        return self._by_key(reserve(queue, limit, lease, attempts, consumer, dead_letter, keep, None, apart, exact))

    def settle(self, turns: Sequence[Turn], keep: Retention | None = None) -> Plan[list[Refused]]:
        """End turns; refuse those that would send a message to another queue. See MessageStore.settle."""
        refused = [Refused(turn.receipt, error) for turn in turns if (error := self._cannot(turn)) is not None]
        if refused:
            named = {one.receipt for one in refused}
            turns = [turn for turn in turns if turn.receipt not in named]
        return refused + ((yield from self._by_key(self._settle.settle(turns, keep))) if turns else [])

    def _cannot(self, turn: Turn) -> DuerowError | None:
        end = turn.end
        if isinstance(end, RolledBack | Buried | Released | Committed) and not following(end):
            return None
        return NotSupported(
            f"row {turn.receipt.id} of {self._queue}: a row of a table can be done, retried or buried, but it cannot "
            "be moved to a queue, and settling it cannot push messages; push them in the handler's own session, "
            "within=session"
        )

    def extend(self, receipts: Sequence[Receipt], lease: timedelta) -> Plan[dict[Receipt, datetime]]:
        """Extend leases; leases of locked rows stay valid but are not extended."""
        ends = yield from self._by_key(self._settle.extend(receipts, lease))
        left = sorted({(one.id, one.token) for one in receipts if one not in ends})
        return ends | (yield from self._by_key(self._kept(left)))

    def _kept(self, receipts: Sequence[tuple[Any, int]]) -> Plan[dict[Receipt, datetime]]:
        """Return the end of each lease that is still valid."""
        ends: dict[Receipt, datetime] = {}
        for chunk in self.context.chunks(receipts):
            for id, token, until in (yield self.context.given(self.context.statements.settle.kept, RECEIPT, chunk)):
                end = self.context.dialect.read_moment(until)
                if end is not None:
                    ends[Receipt(id, token)] = end
        return ends

    def find(self, query: Query) -> Plan[list[Record]]:
        """Read rows by their ids; see MessageStore.find."""
        found: list[Record] = []
        for chunk in self.context.chunks(sorted(set(query.ids or ()))):
            step = self.context.given(self.context.statements.read.named, ("id",), [(id,) for id in chunk])
            found += [self.context.dialect.record(row) for row in self.context.identity.read((yield step))]
        return sorted(found, key=attrgetter("id"))[: query.limit]

    def _by_key(self, plan: Plan[T]) -> Plan[T]:
        """Adapt a plan that expects rows starting with an id to answers that start with the key's columns."""
        return plan if self.context.identity.is_plain else self._answered(plan)

    def _answered(self, plan: Plan[T]) -> Plan[T]:
        try:
            step = next(plan)
            while True:
                try:
                    answer = yield step
                except Exception as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(answer if step is BEGIN else self.context.identity.read(answer))
        except StopIteration as finished:
            result: T = finished.value
            return result

    @property
    def _queue(self) -> str:
        return self.context.statements.context.queue


class EntityOperations(MissingPart):
    """Explains why a row is not running, the only part of `duerow.store.OperationStore` that rows support."""

    def __init__(self, context: EntityContext, messages: EntityMessages) -> None:
        super().__init__("operations")
        self._context, self._messages = context, messages

    def inspect(self, queue: str, id: int | None, key: str | None) -> Plan[Inspection | None]:
        """Read a row by its id; see OperationStore.inspect."""
        context = self._context
        found = yield from self._messages.find(Query(queue, ids=(id,) if id is not None else ()))
        ((at,),) = yield context.step(context.statements.read.time, {})
        now = context.dialect.read_moment(at)
        if now is None:
            raise AssertionError("a database always knows the time")
        return Inspection(now, found[0], None, False, []) if found else None


class EntitySchema(MissingPart):
    """Checks the user's table, which the user creates."""

    def __init__(self, context: EntityContext) -> None:
        super().__init__("schema")
        self._context = context

    def check(self) -> Plan[None]:
        """Check the server and the table; duerow's own tables are not needed."""
        return check_database(self._context, ours=False)


class EntityStore(Store):
    """The queue of one state, which reserves and settles the user's rows without using duerow's own tables.

    Therefore it cannot record consumers, counts, schedules or settings, and cannot push.

    Args:
        dialect: the database.
        driver: the SQLAlchemy dialect of the user's engine.
        state: where the state is stored.
        deletes: whether rows are deleted when they are done.
        clock: a clock to use instead of the database's.
    """

    def __init__(
        self, dialect: Dialect, driver: SqlDialect, state: StateTable, deletes: bool, clock: Clock | None
    ) -> None:
        _check_keys(dialect, state)
        # PostgreSQL only wakes consumers recorded as sleeping; SQLite's consumers notice each change of the file.
        wakes = dialect.writes_alone
        self.capabilities = replace(dialect.capabilities, wakes_consumers=wakes, parts=frozenset(), receives=False)
        self.context = context = EntityContext(dialect, Identity(state.keys, driver), state, deletes, clock)
        self.messages = messages = EntityMessages(context)
        self.operations: Any = EntityOperations(context, messages)
        self.schema: Any = EntitySchema(context)
