"""The expressions over columns, and the bound values, that all statements of an installation share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Boolean,
    ColumnElement,
    Integer,
    Null,
    Select,
    SmallInteger,
    Text,
    and_,
    bindparam,
    case,
    exists,
    func,
    null,
    select,
)
from sqlalchemy.sql.base import Executable
from sqlalchemy.types import TypeEngine

from duerow.message import LIVE, check_queue_name
from duerow.stores.sql.conditions import Conditions
from duerow.stores.sql.dialects.base import Dialect, const
from duerow.stores.sql.statements.core import ENTRY, LENT, RECORD, OverRows
from duerow.stores.sql.statements.in_parts import ForEach
from duerow.stores.sql.tables import Tables

WORDS: Final = frozenset(("queue", "key", "group", "name", "process", "correlation", "batch", "part", "moved_to", "to"))
"""The values that are words, which are compared byte by byte with indexed columns."""

_MOMENTS: Final = ("due_at", "first_due_at", "created_at", "last_attempt_at", "started_at", "finished_at", "until")
"""The times of imported messages and turns, which are bound unchanged."""


class StatementContext:
    """The tables and the dialect of an installation, and recurring parts of its statements.

    Args:
        tables: the tables of the installation.
        dialect: its database.
        timed: whether each statement gets the time as the bound value `now`.

    Attributes:
        key_share: whether row locks let other tables reference the rows.
        message: the table whose rows are handed out.
        now: the time.
        lease_end: the end of a lease that begins now.
        record: the columns of RECORD.
        lent: the columns of LENT.
        live: whether a row is not dead.
        resting: the condition for rows that are neither in line nor behind others.
        conditions: writes users' conditions on rows of `message`.
    """

    key_share = False

    def __init__(self, tables: Tables, dialect: Dialect, timed: bool) -> None:
        self.tables, self.dialect, self.timed = tables, dialect, timed
        self.message = tables.message
        self.now: ColumnElement[Any] = dialect.told(self.bound("now", dialect.moment)) if timed else dialect.now()
        self.lease_end = dialect.later(self.now, self.bound("lease", dialect.span))
        self._describe()

    def _describe(self) -> None:
        """Set the columns `record` and `lent` with which rows are read, and the conditions `live` and `resting`."""
        dialect, columns = self.dialect, self.message.c
        shown = [
            dialect.as_text(column).label(column.name) if column.type is dialect.json else column for column in columns
        ]
        names = [column.name for column in columns]
        by_name: dict[str, ColumnElement[Any]] = dict(zip(names, shown, strict=True))
        by_name["due_at"] = func.coalesce(columns.due_at, columns.behind_at, type_=dialect.moment)
        self.record = [by_name[name] for name in RECORD]
        often_alike = {
            "first_due_at": func.nullif(columns.first_due_at, columns.created_at, type_=dialect.moment),
            "place_at": func.nullif(columns.place_at, columns.first_due_at, type_=dialect.moment),
        }
        self.lent = [often_alike.get(name, by_name[name]) for name in LENT]
        self.lent[LENT.index("leased_until")] = dialect.microseconds(self.lease_end)
        self.live = live(self.message)
        self.resting = dialect.resting(self.message)
        self.conditions = Conditions(dialect, self.message)

    @property
    def channel(self) -> str:
        """The name of the channel that wakes sleeping consumers."""
        return f"{self.tables.prefix}wake"

    @property
    def entry_types(self) -> dict[str, TypeEngine[Any]]:
        """The types of the columns of ENTRY."""
        dialect = self.dialect
        texts = (Text(), Text(), Text(), Text(), Text(), Text())
        kinds = (BigInteger(), *texts, SmallInteger(), dialect.moment, dialect.span)
        return dict(zip(ENTRY, kinds, strict=True))

    @property
    def ids(self) -> tuple[ColumnElement[Any], ...]:
        """The columns of the primary key."""
        return (self.message.c.id,)

    @property
    def key(self) -> ColumnElement[Any]:
        """The key of a row."""
        return self.message.c.key

    @property
    def group(self) -> ColumnElement[Any]:
        """The group of a row."""
        return self.message.c.group

    @property
    def turned(self) -> dict[str, Any]:
        """The columns that are set by every write that ends a lease."""
        return {"token": self.message.c.token + const(1), "leased_by": null(), "leased_until": null()}

    def finished(self, at: ColumnElement[Any]) -> dict[str, Any]:
        """The columns that are set by a write that may end a message for good: the time, if rows record it."""
        return {}

    def over(
        self,
        names: Sequence[str],
        build: Callable[[Any], Executable],
        optional: frozenset[str] = frozenset(),
        inserts: bool = False,
    ) -> OverRows:
        """Return a statement over rows with these columns; see OverRows."""
        return OverRows(self.dialect, self._given_types(names), build, optional, inserts)

    def for_each(self, names: Sequence[str], ask: Callable[[Any], Select[Any]]) -> ForEach:
        """Return a query for each of some rows with these columns; see ForEach."""
        return ForEach(self.dialect, self._given_types(names), ask)

    def _given_types(self, names: Sequence[str]) -> dict[str, TypeEngine[Any]]:
        types = {
            **self.entry_types,
            "payload": self.dialect.told_json,
            "headers": self.dialect.told_json,
            "token": BigInteger(),
            "error": Text(),
            "outcome": Text(),
            "moved_to": Text(),
            "behind": Boolean(),
            "grouped": Boolean(),
            "low": Integer(),
            "high": Integer(),
            "correlation": Text(),
            "set_id": BigInteger(),
            "part_id": BigInteger(),
            "content": Text(),
            "parts": Integer(),
            "remember": self.dialect.span,
            "name": Text(),
            "staging_id": BigInteger(),
            "place": Integer(),
            "status": Text(),
            "attempts": Integer(),
            "worker": Text(),
            "last_error": Text(),
            **dict.fromkeys(_MOMENTS, self.dialect.moment),
        }
        return {name: self.kind_of(name, types[name]) for name in names}

    def bound(self, name: str, kind: TypeEngine[Any]) -> BindParameter[Any]:
        """Return a bound value."""
        return bindparam(name, type_=self.kind_of(name.removesuffix("_in"), kind))

    def unseen(self, name: str, kind: TypeEngine[Any]) -> ColumnElement[Any]:
        """Return a bound value that the planner does not see; see `Dialect.unseen`."""
        return self.dialect.unseen(self.bound(name, kind))

    def kind_of(self, name: str, kind: TypeEngine[Any]) -> TypeEngine[Any]:
        """Return the type of the bound value with this name."""
        return self.dialect.told_word if name in WORDS else kind

    def json(self, value: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a JSON value, given its text."""
        return self.dialect.from_text(value)

    @property
    def in_queue(self) -> ColumnElement[bool]:
        """The rows of the queue whose name is bound as `queue_in`."""
        return self.message.c.queue == self.bound("queue_in", Text())

    def of_queue(self, name: str) -> ColumnElement[bool]:
        """The rows of a queue whose name is in the statement's text, as in the indexes on its payload fields."""
        return self.message.c.queue == const(check_queue_name(name))

    def in_group(self, grouped: bool) -> ColumnElement[bool]:
        """The rows of a line that are in groups, or that are not in groups."""
        return self.dialect.in_group(self.message, grouped)

    @property
    def in_live_group(self) -> tuple[ColumnElement[bool], ...]:
        """The live rows that are in a group."""
        group, live = self.dialect.live_group(self.message, self.live)
        return (group.is_not(None), *live)

    def of_group(self, rows: Any, given: Any) -> tuple[ColumnElement[bool], ...]:
        """The live rows of a group, given its queue and its name."""
        group, alive = self.dialect.live_group(rows, live(rows))
        return rows.c.queue == given.queue, *self.dialect.same_group(group, given.group), *alive

    def lent_of_group(self, rows: Any, given: Any) -> tuple[ColumnElement[bool], ...]:
        """The leased row of a group."""
        group, lent = self.dialect.lent_group(rows)
        return rows.c.queue == given.queue, group == given.group, *lent

    def is_paused(self, name: ColumnElement[Any]) -> ColumnElement[Any]:
        """Whether the queue with this name is paused."""
        queue = self.tables.queue.c
        said = select(queue.paused).where(queue.name == name).scalar_subquery()
        return func.coalesce(said, const(1) == const(0))

    @property
    def takes_messages(self) -> ColumnElement[bool]:
        """Whether the queue of a push accepts messages: it is not being drained."""
        queue = self.tables.queue.c
        return ~exists().where(queue.name == self.bound("queue_in", Text()), queue.draining)

    @property
    def kinds(self) -> tuple[tuple[ColumnElement[bool], ...], ...]:
        """The conditions for rows in groups and for rows at rest; all other rows are in a line without groups."""
        return self.in_live_group, self.resting

    def due(self, due: ColumnElement[Any], delay: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the due time of a message that is pushed with a due time, a delay or neither."""
        said = [] if isinstance(due, Null) else [due]
        said += [] if isinstance(delay, Null) else [self.dialect.later(self.now, delay)]
        return func.coalesce(*said, self.now, type_=self.dialect.moment) if said else self.now

    def due_rows(self, grouped: bool, from_floor: bool, rows: Any = None) -> list[ColumnElement[bool]]:
        """The due rows of a line: rows of a queue with one priority, in groups or not."""
        rows = self.message if rows is None else rows
        columns = rows.c
        due = [
            columns.queue == self.unseen("queue_in", Text()),
            columns.priority == self.unseen("priority_in", SmallInteger()),
            columns.due_at <= self.now,
            self.dialect.in_group(rows, grouped),
        ]
        return [*due, columns.due_at >= self.unseen("floor", self.dialect.moment)] if from_floor else due

    def woken(self, which: ColumnElement[bool]) -> Any:
        """Return the statement that wakes sleeping consumers of some queues; None if the database cannot wake them."""
        return self.dialect.wake(self.tables.waiting, which, self.now, self.channel)

    def held_by(self, given: Any) -> ColumnElement[bool]:
        """Return the condition that a row is the given one, and that the turn with the given token still owns it."""
        return and_(*self.same_row(given), self.same_token(given), *self.untouched)

    # Overridden for rows of a user's own table.

    def same_row(self, given: Any) -> tuple[ColumnElement[bool], ...]:
        """Return the condition that a row is the given one; its token does not matter."""
        return (self.dialect.keyed(self.message.c.id, given.c.id),)

    def same_token(self, given: Any) -> ColumnElement[bool]:
        """Return the condition that a row has the given token."""
        return self.dialect.same(self.message.c.token, given.c.token)

    def is_among(self, found: Select[Any]) -> Sequence[ColumnElement[bool]]:
        """Return the condition that a query finds the row's id."""
        return (self.dialect.one_of(self.message.c.id, found),)

    @property
    def untouched(self) -> tuple[ColumnElement[bool], ...]:
        """The conditions, in addition to the token, under which a holder still owns its turn: none."""
        return ()

    @property
    def unsettled(self) -> ColumnElement[bool]:
        """Whether a row still has the lease of a turn that was not ended."""
        return self.message.c.leased_until.is_not(None)

    @property
    def lent_status(self) -> ColumnElement[Any]:
        """The status of a row that is handed out: its own status if that is live, otherwise "done"."""
        status = self.message.c.status
        return case((live(self.message), status), else_=const("done"))

    @property
    def left_line(self) -> dict[str, Any]:
        """The columns that are set by a write that takes a row out of line for good."""
        return {"due_at": null(), "behind_at": null()}


class StatementGroup:
    """Statements for one subject.

    Args:
        context: shared by all statements.
    """

    def __init__(self, context: StatementContext) -> None:
        self.context = context
        self.tables, self.dialect = context.tables, context.dialect
        self.message, self.now = context.message, context.now
        self.bound, self.over, self.for_each, self.json = context.bound, context.over, context.for_each, context.json


def live(rows: Any) -> ColumnElement[bool]:
    """Return whether the rows are messages that are not dead."""
    found: ColumnElement[bool] = rows.c.status.in_([const(status) for status in LIVE])
    return found


def unserved(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a text column in a form that no index serves, so that the planner uses another index."""
    return func.coalesce(column, const(""), type_=column.type)
