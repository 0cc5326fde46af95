"""The same statements for the rows of a user's own table, some of whose columns store a queue state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    and_,
    case,
    func,
    null,
    select,
)
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import LINE, Dialect, const
from duerow.stores.sql.entities.columns import StateTable, index_name
from duerow.stores.sql.entities.keys import Identity
from duerow.stores.sql.statements import (
    IN_LINE,
    LENT,
    RECEIPT,
    RECORD,
    OverRows,
    Statement,
    StatementContext,
    Statements,
)
from duerow.stores.sql.statements.queues import QueueStatements
from duerow.stores.sql.statements.read import ReadStatements
from duerow.stores.sql.statements.reserve import ReserveStatements
from duerow.stores.sql.statements.settle import SettleStatements
from duerow.stores.sql.tables import Tables


class EntityTables(Tables):
    """One of the user's tables; statements refer to the columns of a state by their role, not by their actual name.

    Args:
        dialect: the table's database.
        state: the table and columns that store the state.
        identity: writes and reads the primary keys of the rows.
    """

    def __init__(self, dialect: Dialect, state: StateTable, identity: Identity) -> None:
        self.prefix, self.schema, self.state, self.identity = "", state.schema, state, identity
        kinds: dict[str, Any] = {
            "status": Text(),
            "due_at": dialect.moment,
            "place_at": dialect.moment,
            "first_due_at": dialect.moment,
            "attempts": Integer(),
            "token": BigInteger(),
            "leased_by": Text(),
            "leased_until": dialect.moment,
            "last_attempt_at": dialect.moment,
            "last_error": dialect.json,
            "finished_at": dialect.moment,
        }
        ids: list[Column[Any]] = [
            Column(key.name, kind, key=name, primary_key=True)
            for key, (name, kind) in zip(state.keys, identity.kinds.items(), strict=True)
        ]
        columns: list[Column[Any]] = [Column(state.column(part), kind, key=part) for part, kind in kinds.items()]
        indexes = {LINE: index_name(state.name, state.prefix, "due")}
        self.message = Table(state.name, MetaData(schema=state.schema), *ids, *columns, info=indexes)


class EntityStatementContext(StatementContext):
    """The context that statements for the rows of one state share: rows have no queue, key, group, priority or payload.

    All rows are in one line. A lease is valid as long as the row still has the token and the due time that the lease
    wrote, so a plain UPDATE of the due time ends it.

    Args:
        tables: the table.
        dialect: the table's database.
        timed: whether each statement is passed the time as the bound value `now`.
    """

    key_share = True

    def __init__(self, tables: EntityTables, dialect: Dialect, timed: bool) -> None:
        self.queue, self.identity = tables.state.queue, tables.identity
        super().__init__(tables, dialect, timed)

    def _describe(self) -> None:
        """Supply values for the columns that the rows do not have."""
        dialect, columns = self.dialect, self.message.c
        since = func.coalesce(columns.first_due_at, columns.due_at, columns.place_at, self.now, type_=dialect.moment)
        by_name: dict[str, Any] = {
            "queue": const(self.queue),
            "payload": const("null"),
            "kind": const("json"),
            "key": null(),
            "headers": null(),
            "group": null(),
            "priority": const(0),
            "created_at": since,
            "first_due_at": since,
            "last_error": dialect.as_text(columns.last_error),
            "leased_by": case((self.unsettled, columns.leased_by)),
            "leased_until": case((self.unsettled, columns.leased_until)),
        }
        ids = [columns[name] for name in self.identity.names]
        self.record = [*ids, *(by_name[name] if name in by_name else columns[name] for name in RECORD if name != "id")]
        lent = {
            **by_name,
            "created_at": func.coalesce(columns.first_due_at, columns.place_at, type_=dialect.moment),
            "first_due_at": null(),
            "leased_until": dialect.microseconds(self.lease_end),
        }
        self.lent = [*ids, *(lent[name] if name in lent else columns[name] for name in LENT if name != "id")]

    @property
    def ids(self) -> tuple[ColumnElement[Any], ...]:
        """The columns of the primary key."""
        return tuple(self.message.c[name] for name in self.identity.names)

    @property
    def key(self) -> ColumnElement[Any]:
        """Null: rows have only their primary key."""
        return null()

    @property
    def group(self) -> ColumnElement[Any]:
        """Null: rows are not in groups."""
        return null()

    @property
    def left_line(self) -> dict[str, Any]:
        """The new values of a row that leaves the line; rows never wait behind others."""
        return {"due_at": null()}

    def same_row(self, given: Any) -> tuple[ColumnElement[bool], ...]:
        """Return the condition that all columns of the primary key match the given row."""
        return tuple(self.dialect.keyed(self.message.c[name], given.c[name]) for name in self.identity.names)

    def is_among(self, found: Select[Any]) -> Sequence[ColumnElement[bool]]:
        """Look up a key with one column like the id of messages, and a key with several columns as a row value."""
        if len(self.ids) == 1:
            return (self.dialect.one_of(*self.ids, found),)
        return self.dialect.one_of_rows(self.ids, found)

    def over(
        self,
        names: Sequence[str],
        build: Callable[[Any], Executable],
        optional: frozenset[str] = frozenset(),
        inserts: bool = False,
    ) -> OverRows:
        """Return statements over rows, with the columns of the primary key in place of the id."""
        if self.identity.is_plain or "id" not in names:
            return super().over(names, build, optional, inserts)
        others = [name for name in names if name != "id"]
        types = super().over(others, build).types if others else {}
        return OverRows(self.dialect, {**self.identity.kinds, **types}, build, optional, inserts)

    @property
    def unsettled(self) -> ColumnElement[bool]:
        """A row is due when its lease ends: the turn was not ended, and the row was not given another due time."""
        return self.message.c.due_at == self.message.c.leased_until

    @property
    def untouched(self) -> tuple[ColumnElement[bool], ...]:
        """Return the condition that the due time is still the one that the lease wrote."""
        return (self.dialect.same(self.message.c.due_at, self.message.c.leased_until),)

    @property
    def lent_status(self) -> ColumnElement[Any]:
        """A finished row that was manually given a due time is alive again."""
        status = self.message.c.status
        return case((status == const("dead"), const("error")), (status == const("done"), const("new")), else_=status)

    def finished(self, at: ColumnElement[Any]) -> dict[str, Any]:
        """Record when the row finished."""
        return {"finished_at": at}

    def due_rows(self, grouped: bool, from_floor: bool, rows: Any = None) -> list[ColumnElement[bool]]:
        """All due rows are in one line."""
        columns = self.message.c if rows is None else rows.c
        due = columns.due_at <= self.now
        return [due, columns.due_at >= self.unseen("floor", self.dialect.moment)] if from_floor else [due]


class EntityReserve(ReserveStatements):
    """Statements that reserve rows."""

    context: EntityStatementContext

    @lru_cache(maxsize=8)  # noqa: B019 - lives as long as the store
    def pick(self, grouped: bool, from_floor: bool, kinds: int = 0) -> Statement:
        """Lock the oldest due rows and read their ids and due times, and the floor as in `reserve`."""
        shown = (*self.context.ids, self.message.c.due_at, null())
        due, floor = self._first_due(shown, grouped, from_floor, kinds)
        return Statement(due.add_columns(*floor))

    @cached_property
    def lend(self) -> OverRows:
        """Lease the rows that were picked, as `reserve` does."""

        def build(given: Any) -> Executable:
            answer = [*self.context.lent, const(0), null()]
            return self.dialect.change(self.message, self.context.same_row(given), self._lend, answer, given)

        return self.over(("id",), build)

    @lru_cache(maxsize=1)  # noqa: B019 - lives as long as the store
    def next_due(self, kinds: int = 0) -> OverRows:
        """Read when the next row becomes due, from the bound `floor` on, and the current time. Rows have no kinds."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            in_line = columns.due_at >= self.context.unseen("floor", self.dialect.moment)
            first = select(func.min(columns.due_at)).where(in_line).scalar_subquery()
            return select(given.c.queue, first, self.now).select_from(given)

        return self.over(IN_LINE, build)


class EntitySettle(SettleStatements):
    """Statements that end or extend the leases of rows.

    Args:
        context: the context that all statements share.
        deletes: whether rows are deleted when they are done.
    """

    context: EntityStatementContext

    def __init__(self, context: EntityStatementContext, deletes: bool) -> None:
        super().__init__(context)
        self.deletes = deletes

    @cached_property
    def commit(self) -> OverRows:
        """Mark the rows whose token and due time match as done, or delete them; return their receipts."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            if self.deletes:
                names = (*self.context.identity.names, "token")
                return self.dialect.remove(
                    self.message, given, names, self.context.untouched, [*self.context.ids, columns.token]
                )
            done = {"status": const("done"), "due_at": null(), "last_error": null()}  # successful rows show no error
            return self._turn(given, **done, **self.context.finished(self.now))

        return self.over(RECEIPT, build)

    @cached_property
    def extend(self) -> OverRows:
        """Extend leases to now + lease; return id, token and the new end for rows that match and are not locked.

        A handler that writes in its row's transaction has locked the row, so no consumer can claim it in the meantime.
        Waiting for the lock would let the other leases expire.
        """
        columns, until = self.message.c, self.context.lease_end

        def build(given: Any) -> Executable:
            found = self.dialect.joined(select(*self.context.ids), given, self.message, self.context.held_by(given))
            free = found.with_for_update(of=self.message, skip_locked=True, key_share=True)
            values = {"due_at": until, "leased_until": until}
            answer = [*self.context.ids, columns.token, columns.leased_until]
            which = self.context.same_row(free.cte("free"))
            return self.dialect.change_picked(self.message, free, which, values, answer)

        return self.over(RECEIPT, build)

    @cached_property
    def kept(self) -> OverRows:
        """Read id, token and lease end of the rows whose token and due time match."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            shown = (*self.context.ids, columns.token, columns.leased_until)
            return self.dialect.joined(select(*shown), given, self.message, self.context.held_by(given))

        return self.over(RECEIPT, build)


class EntityRead(ReadStatements):
    """Statements that read rows."""

    @cached_property
    def named(self) -> OverRows:
        """Read rows by their ids."""

        def build(given: Any) -> Executable:
            return self.dialect.joined(
                select(*self.context.record), given, self.message, and_(*self.context.same_row(given))
            )

        return self.over(("id",), build)


class EntityQueues(QueueStatements):
    """Statements about the queue of a state, for which duerow's tables have no rows."""

    @cached_property
    def wake(self) -> None:
        """None: users schedule rows in their own transactions, which do not notify consumers."""
        return


class EntityStatements(Statements):
    """The statements for the rows of one state.

    Args:
        context: the context that they share.
        deletes: whether rows are deleted when they are done.
    """

    context: EntityStatementContext
    reserve: EntityReserve
    settle: EntitySettle
    read: EntityRead
    queues: EntityQueues

    def __init__(self, context: EntityStatementContext, deletes: bool) -> None:
        super().__init__(context)
        self.reserve, self.settle = EntityReserve(context), EntitySettle(context, deletes)
        self.read, self.queues = EntityRead(context), EntityQueues(context)
