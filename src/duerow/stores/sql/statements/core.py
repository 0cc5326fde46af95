"""What all statements of the SQL stores are made of: statements, rows of bound values, and the columns."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import (
    BigInteger,
    BindParameter,
    Boolean,
    ColumnElement,
    Integer,
    Null,
    SmallInteger,
    Text,
    bindparam,
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
from duerow.stores.sql.tables import Tables

ENTRY: Final = ("id", "queue", "key", "kind", "payload", "headers", "group", "priority", "due", "delay")
"""The columns of messages to be inserted, in the order of `plans`."""

ONE: Final = ("queue", "kind", "payload")
"""The columns for which every single push has a value."""

RECEIPT: Final = ("id", "token")

LENT: Final = (
    "id",
    "payload",
    "kind",
    "key",
    "headers",
    "status",
    "created_at",
    "first_due_at",
    "place_at",
    "attempts",
    "token",
    "leased_until",
    "last_error",
)
"""What a reserve reads: what the caller knows is left out, and a moment equal to the one before it comes as null."""

RECORD: Final = (
    "id",
    "queue",
    "payload",
    "kind",
    "key",
    "headers",
    "group",
    "priority",
    "status",
    "due_at",
    "first_due_at",
    "attempts",
    "token",
    "leased_by",
    "leased_until",
    "created_at",
    "last_attempt_at",
    "last_error",
)
"""The columns of a record, in the order of its fields."""

OUTLINE: Final = ("id", "key", "headers", "group", "priority")
"""The columns of an outline, in the order of its fields."""


WORDS: Final = frozenset(("queue", "key", "group", "name", "process", "correlation", "batch", "part", "moved_to", "to"))
"""The values that are words: compared byte for byte with columns that are in an index."""

Parts = Callable[[Mapping[str, Any]], Generator["Step", Any, list[Any]]]
"""Makes a plan, given the values of a statement that a database carries out as several: their steps, and the answer."""

_MOMENTS: Final = (
    "due_at",
    "first_due_at",
    "created_at",
    "last_attempt_at",
    "started_at",
    "finished_at",
    "until",
)
"""The moments that are given as they are, of messages and turns that come from elsewhere."""


class Statement:
    """An SQL statement.

    Attributes:
        element: SQLAlchemy's.
        parts: how to carry it out where it takes several.
        kept: whether it is for more than one use.
        texts: what whoever executes it has compiled it to, for each kind of driver, if it is kept.
        writes: whether it changes anything.
        returns: whether it answers rows.
        bounded: whether it is a read for people, which may take no longer than `read_timeout` allows.
    """

    __slots__ = ("bounded", "element", "kept", "parts", "returns", "texts", "writes")

    def __init__(self, element: Any, kept: bool = True, bounded: bool = False) -> None:
        self.element, self.bounded = element, bounded
        self.parts: Parts | None = getattr(element, "parts", None)
        self.kept = kept
        self.texts: dict[Any, Any] = {}
        self.writes = bool(element.is_dml)
        self.returns = element.is_select or bool(self.writes and element.returning_column_descriptions)


class Step(msgspec.Struct, frozen=True, gc=False):
    """One statement and its bound values; the answer is a list of rows."""

    statement: Statement
    values: Mapping[str, Any]


class OverRows:
    """A statement over rows of bound values; a column in which all rows are alike is bound once.

    Args:
        dialect: whose rows.
        types: the columns of the rows, and their types.
        build: makes the statement, given the rows as a table.
    """

    def __init__(
        self, dialect: Dialect, types: Mapping[str, TypeEngine[Any]], build: Callable[[Any], Executable]
    ) -> None:
        self.dialect, self.types, self.build = dialect, types, build
        self._statements: dict[frozenset[str], Statement] = {}

    def alike(self, alike: frozenset[str]) -> Statement:
        """Return the statement for rows that are alike in these columns."""
        if alike not in self._statements:
            given = self.dialect.given("given", self.types, alike)
            self._statements[alike] = Statement(self.build(given))
        return self._statements[alike]


class CoreStatements:
    """What the statements of every subject share.

    Args:
        tables: the installation's.
        dialect: its database.
        timed: whether each statement is given the time as the bound value `now`.

    Attributes:
        key_share: whether rows are locked so that others may refer to them meanwhile.
    """

    key_share = False

    def __init__(self, tables: Tables, dialect: Dialect, timed: bool) -> None:
        self.tables, self.dialect, self.timed = tables, dialect, timed
        self.message = tables.message
        self.now: ColumnElement[Any] = dialect.told(self._bound("now", dialect.moment)) if timed else dialect.now()
        self.lease_end = dialect.later(self.now, self._bound("lease", dialect.span))
        self._describe()

    def _describe(self) -> None:
        """Say as what rows are read: `_record` and `_lent`, and what tells them apart."""
        dialect, columns = self.dialect, self.message.c
        shown = [
            dialect.as_text(column).label(column.name) if column.type is dialect.json else column for column in columns
        ]
        names = [column.name for column in columns]
        by_name: dict[str, ColumnElement[Any]] = dict(zip(names, shown, strict=True))
        by_name["due_at"] = func.coalesce(columns.due_at, columns.behind_at, type_=dialect.moment)
        self._record = [by_name[name] for name in RECORD]
        often_alike = {
            "first_due_at": func.nullif(columns.first_due_at, columns.created_at, type_=dialect.moment),
            "place_at": func.nullif(columns.place_at, columns.first_due_at, type_=dialect.moment),
        }
        self._lent = [often_alike.get(name, by_name[name]) for name in LENT]
        self._lent[LENT.index("leased_until")] = dialect.microseconds(self.lease_end)
        self._live = live(self.message)
        self._resting = dialect.resting(self.message)
        self.conditions = Conditions(dialect, self.message)

    @property
    def channel(self) -> str:
        """The name under which sleeping consumers are woken."""
        return f"{self.tables.prefix}wake"

    @property
    def _entry_types(self) -> dict[str, TypeEngine[Any]]:
        dialect = self.dialect
        texts = (Text(), Text(), Text(), Text(), Text(), Text())
        kinds = (BigInteger(), *texts, SmallInteger(), dialect.moment, dialect.span)
        return dict(zip(ENTRY, kinds, strict=True))

    @property
    def _ids(self) -> tuple[ColumnElement[Any], ...]:
        """What tells a row from all others: the columns of its primary key."""
        return (self.message.c.id,)

    @property
    def _key(self) -> ColumnElement[Any]:
        """The key of a row."""
        return self.message.c.key

    @property
    def _group(self) -> ColumnElement[Any]:
        """The group of a row."""
        return self.message.c.group

    @property
    def _turned(self) -> dict[str, Any]:
        """What every write that ends a lease sets."""
        return {"token": self.message.c.token + const(1), "leased_by": null(), "leased_until": null()}

    def _finished(self, at: ColumnElement[Any]) -> dict[str, Any]:
        """What a write sets that may end a message for good: when that was, where rows say it."""
        return {}

    def _over(self, names: Sequence[str], build: Callable[[Any], Executable]) -> OverRows:
        """Return a statement over rows with these columns, of which each always has the same type."""
        types = {
            **self._entry_types,
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
        return OverRows(self.dialect, {name: self._kind(name, types[name]) for name in names}, build)

    def _bound(self, name: str, kind: TypeEngine[Any]) -> BindParameter[Any]:
        return bindparam(name, type_=self._kind(name.removesuffix("_in"), kind))

    def _kind(self, name: str, kind: TypeEngine[Any]) -> TypeEngine[Any]:
        """Return the type of a value of this name."""
        return self.dialect.told_word if name in WORDS else kind

    def _json(self, value: ColumnElement[Any]) -> ColumnElement[Any]:
        return self.dialect.from_text(value)

    @property
    def _of_queue(self) -> ColumnElement[bool]:
        return self.message.c.queue == self._bound("queue_in", Text())

    def of_queue(self, name: str) -> ColumnElement[bool]:
        """The rows of a queue that is named in the statement's text, as in the indexes of its payload fields."""
        return self.message.c.queue == const(check_queue_name(name))

    def _in_group(self, grouped: bool) -> ColumnElement[bool]:
        return self.dialect.in_group(self.message, grouped)

    @property
    def _in_live_group(self) -> tuple[ColumnElement[bool], ...]:
        group, live = self.dialect.live_group(self.message, self._live)
        return (group.is_not(None), *live)

    def _of_group(self, rows: Any, given: Any) -> tuple[ColumnElement[bool], ...]:
        """The live rows of the group that is given by its queue and its name."""
        group, alive = self.dialect.live_group(rows, live(rows))
        return rows.c.queue == given.queue, group == given.group, *alive

    def _lent_of_group(self, rows: Any, given: Any) -> tuple[ColumnElement[bool], ...]:
        """The one row of a group that is lent."""
        group, lent = self.dialect.lent_group(rows)
        return rows.c.queue == given.queue, group == given.group, *lent

    @property
    def _paused(self) -> ColumnElement[Any]:
        queue = self.tables.queue.c
        said = select(queue.paused).where(queue.name == self._bound("queue_in", Text())).scalar_subquery()
        return func.coalesce(said, const(1) == const(0))

    @property
    def _takes_messages(self) -> ColumnElement[bool]:
        """The queue of a push is not being drained."""
        queue = self.tables.queue.c
        return ~exists().where(queue.name == self._bound("queue_in", Text()), queue.draining)

    @property
    def _kinds(self) -> tuple[tuple[ColumnElement[bool], ...], ...]:
        """The rows in groups, and those that rest: what is neither is in a line without groups."""
        return self._in_live_group, self._resting

    def _due(self, due: ColumnElement[Any], delay: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return when a message is due that was pushed with a due time, a delay or neither."""
        if isinstance(due, Null) and isinstance(delay, Null):
            return self.now
        later = self.dialect.later(self.now, delay)
        return func.coalesce(due, later, self.now, type_=self.dialect.moment)

    def _due_rows(self, grouped: bool, from_floor: bool, rows: Any = None) -> list[ColumnElement[bool]]:
        """The due rows of a line, which are those of a queue with one priority, in groups or not."""
        rows = self.message if rows is None else rows
        columns = rows.c
        due = [
            columns.queue == self._bound("queue_in", Text()),
            columns.priority == self._bound("priority_in", SmallInteger()),
            columns.due_at <= self.now,
            self.dialect.in_group(rows, grouped),
        ]
        return [*due, columns.due_at >= self._bound("floor", self.dialect.moment)] if from_floor else due

    def _woken(self, which: ColumnElement[bool]) -> Any:
        return self.dialect.wake(self.tables.waiting, which, self.now, self.channel)


def live(rows: Any) -> ColumnElement[bool]:
    """Return whether the rows are messages that are not dead."""
    found: ColumnElement[bool] = rows.c.status.in_([const(status) for status in LIVE])
    return found


def unserved(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a column of text in a form that no index serves, where rows are to be read in the order of another one."""
    return func.coalesce(column, const(""), type_=column.type)
