"""The same statements over the rows of a user's own table, which carry a queue state in some of their columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    FromClause,
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
from duerow.stores.sql.statements import LENT, RECEIPT, RECORD, OverRows, Statement, StatementContext, Statements
from duerow.stores.sql.statements.queues import QueueStatements
from duerow.stores.sql.statements.read import ReadStatements
from duerow.stores.sql.statements.reserve import ReserveStatements
from duerow.stores.sql.statements.settle import SettleStatements
from duerow.stores.sql.tables import Tables


class EntityTables(Tables):
    """One table of the user's; the columns of a state are known by what they are, not by what they are called.

    Args:
        dialect: its database.
        state: where the state is.
        identity: what its rows' primary keys are in statements.
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
    """What statements over the rows of one state share: rows have no queue, key, group, priority or payload.

    What is left is in one line, and a turn is its holder's as long as token and due time are those of its lease, so
    that a plain UPDATE of the due time ends it.

    Args:
        tables: the table.
        dialect: its database.
        timed: whether each statement is given the time as the bound value `now`.
    """

    key_share = True

    def __init__(self, tables: EntityTables, dialect: Dialect, timed: bool) -> None:
        self.queue, self.identity = tables.state.queue, tables.identity
        super().__init__(tables, dialect, timed)

    def _describe(self) -> None:
        """Fill in what the rows do not say."""
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
        """Rows have no key but their own."""
        return null()

    @property
    def group(self) -> ColumnElement[Any]:
        """Rows are in no group."""
        return null()

    @property
    def left_line(self) -> dict[str, Any]:
        """Rows wait behind no others."""
        return {"due_at": null()}

    def same_row(self, given: Any) -> tuple[ColumnElement[bool], ...]:
        """All columns of the primary key are those of the given row."""
        return tuple(self.message.c[name] == given.c[name] for name in self.identity.names)

    def is_among(self, found: Select[Any]) -> Sequence[ColumnElement[bool]]:
        """A key of one column is looked up as that of messages, one of several as a row."""
        if len(self.ids) == 1:
            return (self.dialect.one_of(*self.ids, found),)
        return self.dialect.one_of_rows(self.ids, found)

    def over(
        self, names: Sequence[str], build: Callable[[Any], Executable], optional: frozenset[str] = frozenset()
    ) -> OverRows:
        """Rows that are told by their ids are told by the columns of their primary keys."""
        if self.identity.is_plain or "id" not in names:
            return super().over(names, build, optional)
        others = [name for name in names if name != "id"]
        types = super().over(others, build).types if others else {}
        return OverRows(self.dialect, {**self.identity.kinds, **types}, build, optional)

    @property
    def unsettled(self) -> ColumnElement[bool]:
        """A row is due at the end of its lease: nobody ended that turn, nor gave the row another due time."""
        return self.message.c.due_at == self.message.c.leased_until

    @property
    def untouched(self) -> tuple[ColumnElement[bool], ...]:
        """The due time is the one that the lease wrote."""
        return (self.dialect.same(self.message.c.due_at, self.message.c.leased_until),)

    @property
    def lent_status(self) -> ColumnElement[Any]:
        """A row that was finished, and was given a due time by hand, is alive again."""
        status = self.message.c.status
        return case((status == const("dead"), const("error")), (status == const("done"), const("new")), else_=status)

    def finished(self, at: ColumnElement[Any]) -> dict[str, Any]:
        """Note when it was."""
        return {"finished_at": at}

    def due_rows(self, grouped: bool, from_floor: bool, rows: Any = None) -> list[ColumnElement[bool]]:
        """All due rows are in one line."""
        columns = self.message.c if rows is None else rows.c
        due = columns.due_at <= self.now
        return [due, columns.due_at >= self.bound("floor", self.dialect.moment)] if from_floor else [due]

    def held_by(self, given: FromClause) -> ColumnElement[bool]:
        """Return that a row is the given one, and still its holder's."""
        return and_(*self.same_row(given), self.same_token(given), *self.untouched)


class EntityReserve(ReserveStatements):
    """Statements that hand out rows."""

    context: EntityStatementContext

    @lru_cache(maxsize=8)  # noqa: B019 - lives as long as the store
    def pick(self, grouped: bool, from_floor: bool, kinds: int = 0) -> Statement:
        """Lock the oldest due rows and read their ids and due times, and the floor as in `reserve`."""
        shown = (*self.context.ids, self.message.c.due_at, null(), *self._oldest(grouped, from_floor, kinds))
        return Statement(self._first_due(shown, grouped, from_floor, kinds))

    @cached_property
    def lend(self) -> OverRows:
        """Lend rows that were picked, as `reserve` does."""

        def build(given: Any) -> Executable:
            answer = [*self.context.lent, const(0), null()]
            return self.dialect.change(self.message, self.context.same_row(given), self._lend, answer, given)

        return self.over(("id",), build)

    @lru_cache(maxsize=1)  # noqa: B019 - lives as long as the store
    def next_due(self, kinds: int = 0) -> OverRows:
        """Read when the next row is due, of those due from the bound `floor` on; and the time. Rows have no kinds."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            in_line = columns.due_at >= self.bound("floor", self.dialect.moment)
            first = select(func.min(columns.due_at)).where(in_line).scalar_subquery()
            return select(first, self.now).select_from(given)

        return self.over(("grouped", "priority"), build)


class EntitySettle(SettleStatements):
    """Statements that end or extend the leases of rows.

    Args:
        context: what all statements share.
        deletes: whether a row that is done is deleted.
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
            done = {"status": const("done"), "due_at": null(), "last_error": null()}  # what went well shows no error
            return self._turn(given, **done, **self.context.finished(self.now))

        return self.over(RECEIPT, build)

    @cached_property
    def extend(self) -> OverRows:
        """Let leases run until now + lease; return id, token and the new end of those that match and are not locked.

        A handler that writes in its row's transaction has the row locked: nobody can claim it meanwhile, and to wait
        for it would let the other leases end.
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
        """Read id, token and the end of the lease of the rows whose token and due time match."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            shown = (*self.context.ids, columns.token, columns.leased_until)
            return self.dialect.joined(select(*shown), given, self.message, self.context.held_by(given))

        return self.over(RECEIPT, build)


class EntityRead(ReadStatements):
    """Statements that look at rows."""

    @cached_property
    def named(self) -> OverRows:
        """Read rows by their ids."""

        def build(given: Any) -> Executable:
            return self.dialect.joined(
                select(*self.context.record), given, self.message, and_(*self.context.same_row(given))
            )

        return self.over(("id",), build)


class EntityQueues(QueueStatements):
    """What is known of the queue of a state: nothing."""

    @cached_property
    def wake(self) -> None:
        """Nothing is woken: who schedules rows in transactions of their own tells nobody."""
        return


class EntityStatements(Statements):
    """The statements over the rows of one state.

    Args:
        context: what they share.
        deletes: whether a row that is done is deleted.
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
