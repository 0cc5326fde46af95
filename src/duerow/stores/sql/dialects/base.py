"""What a dialect must say: how its database keeps time and rows, locks, and names errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

import msgspec
from sqlalchemy import URL, ColumnElement, Connection, FromClause, Insert, Select, Table, literal_column
from sqlalchemy import Dialect as SqlDialect
from sqlalchemy.schema import ExecutableDDLElement
from sqlalchemy.sql.base import Executable
from sqlalchemy.types import TypeEngine, UserDefinedType

from duerow.errors import Conflict, DuerowError
from duerow.store import Capabilities, IndexKind, Record


def const(value: int | str) -> ColumnElement[Any]:
    """Return a constant of ours as part of the statement's text; for no value that anybody gives."""
    return literal_column(str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'")


def decode_json(text: str) -> Any:
    """Return what a JSON text says; one that is not of our making, with numbers that none can hold, as it is."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


LONGEST_KEY: Final = 200
"""How many characters of a text an index of a payload field holds: databases bound the size of what they index."""


class JsonText(UserDefinedType[str]):
    """JSON that is written and read as the codec's own text; no driver may parse it on the way."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        """Return the column's type in DDL and casts."""
        return self.name


@dataclass(frozen=True)
class Member:
    """What a path leads to in a JSON column; each expression is null for what is of another kind.

    Attributes:
        absent: true if there is nothing, or JSON null; else false.
        text: text, compared by code point.
        boolean: a boolean, as the word true or false.
        whole: an integer of 64 bits.
        real: any other number, as a finite float.
        json: the value for `Dialect.read_json`, null if there is none.
    """

    absent: ColumnElement[bool]
    text: ColumnElement[Any]
    boolean: ColumnElement[Any]
    whole: ColumnElement[Any]
    real: ColumnElement[Any]
    json: ColumnElement[Any]


@dataclass(frozen=True)
class ArrowWay:
    """A connection that gives rows as Arrow.

    Attributes:
        connection: an ADBC connection of Python's own kind (PEP 249), each statement by itself.
        written: SQLAlchemy's dialect for the text that it takes.
    """

    connection: Any
    written: SqlDialect


class Dialect(Protocol):
    """One database's way of doing what all of them do.

    Attributes:
        name: SQLAlchemy's name of the dialect.
        capabilities: what a store on it can do.
        moment: the type of a moment.
        span: the type of a length of time.
        json: the type of JSON text.
        writes_alone: whether only one transaction writes at a time, and a read that turns to writing late may fail.
        server_clock: whether the database tells the time; without, each statement is given it.
        bytewise: the collation that compares text byte for byte.
        checks_json: whether the table must check that its JSON is JSON.
        keeps_dead_entries: whether rows that were taken stay at the head of the index for a while, so that claims
            must start behind them.
        chunk: how many rows one statement takes at the most.
        apart: two queries, the second of which answers whether each of them was a transaction of its own; None where
            an index cannot be made outside of a transaction, while others write.
    """

    name: str
    capabilities: Capabilities
    moment: TypeEngine[Any]
    span: TypeEngine[Any]
    json: JsonText
    bytewise: str
    checks_json: bool
    writes_alone: bool
    server_clock: bool
    keeps_dead_entries: bool
    chunk: int
    apart: tuple[Executable, Executable] | None

    def plain(self) -> SqlDialect:
        """Return SQLAlchemy's dialect for printing statements without values."""
        ...

    def now(self) -> ColumnElement[Any]:
        """Return the database's own time, if it has one."""
        ...

    def later(self, moment: ColumnElement[Any], span: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a moment so much later."""
        ...

    def microseconds(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a moment that is the same for all rows as microseconds since 1970: a number costs a driver least."""
        ...

    def from_text(self, text: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return bound text as a JSON column takes it."""
        ...

    def as_text(self, json: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a JSON column as the text that was written."""
        ...

    def member(self, document: ColumnElement[Any], names: Sequence[str]) -> Member:
        """Return what names lead to, through objects, in a JSON column; no row makes the statement fail."""
        ...

    def key(self, document: ColumnElement[Any], names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """Return what an index holds of a payload field: null for what is of another kind, the beginning of a text.

        The names are part of the statement's text, as they are in the index: ASCII letters, digits, `_` and `-` alone.
        No payload makes it fail. What is equal as a `Member` is equal here, and what is less is not more.
        """
        ...

    def key_of(self, number: int | float) -> ColumnElement[Any]:
        """Return a number as `key` is compared with it."""
        ...

    def indexes(self, table: Table) -> Executable:
        """Return a query for the names of a table's indexes, and whether each can be used."""
        ...

    def real(self, value: float) -> ColumnElement[Any]:
        """Return a float as `Member.real` is compared with it."""
        ...

    def like(self, text: ColumnElement[Any], pattern: str) -> ColumnElement[bool]:
        """Return that text is of a pattern in which `%`, `_` and a backslash mean what `duerow.where` says."""
        ...

    def read_json(self, value: Any) -> Any:
        """Return a value of `Member.json` decoded, None for null."""
        ...

    def write_moment(self, moment: datetime | None) -> Any:
        """Return a moment as the driver takes it."""
        ...

    def write_span(self, span: timedelta | None) -> Any:
        """Return a length of time as the driver takes it."""
        ...

    def read_moment(self, value: Any) -> datetime | None:
        """Return a moment as the driver gave it."""
        ...

    def moment_reader(self, value: Any) -> Callable[[Any], Any] | None:
        """Return what turns moments such as this one, not null, into UTC datetimes; None if they are such already."""
        ...

    def record(self, row: Sequence[Any]) -> Record:
        """Return a row of `statements.RECORD` as a record."""
        ...

    def given(self, name: str, columns: Mapping[str, TypeEngine[Any]], alike: frozenset[str]) -> Any:
        """Return a table made of bound values; the columns that are alike in all rows are bound once.

        With no other column it has one row.
        """
        ...

    def pack(self, name: str, columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Return the bound values of a `given` table's columns that differ from row to row."""
        ...

    def one_of(self, column: ColumnElement[Any], ids: Select[Any]) -> ColumnElement[bool]:
        """Return that a column is one of those that a subquery finds, evaluated once."""
        ...

    def one_of_rows(self, columns: Sequence[ColumnElement[Any]], found: Select[Any]) -> list[ColumnElement[bool]]:
        """Return that several columns together are one of the rows that a subquery finds, evaluated once."""
        ...

    def delete_matches(self, message: Table, given: FromClause) -> list[ColumnElement[bool]]:
        """Return that a row to be deleted equals one of the given, its token among them, in the columns of both."""
        ...

    def among(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        """Return that a column is one of the bound values that are packed as the column `value` under this name."""
        ...

    def look_up(
        self,
        shown: Sequence[ColumnElement[Any]],
        given: FromClause,
        which: Sequence[ColumnElement[bool]],
        names: Sequence[ColumnElement[Any]],
        locked: bool,
    ) -> Select[Any]:
        """Return a query that looks up one row of a table for each of the given, by a unique index.

        Args:
            shown: columns of the table.
            given: the given rows, with a column of the name of each of `names`.
            which: what else must hold of the row.
            names: the columns in which it must equal the given one.
            locked: whether to lock the rows against changes, one after the other as given, where rows can be locked.
        """
        ...

    def same(self, ours: ColumnElement[Any], theirs: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return that two tokens are equal, in a form that does not mislead the planner."""
        ...

    def insert(self, table: Table) -> Insert:
        """Return an INSERT that knows this database's ON CONFLICT."""
        ...

    def ended_lease(self, message: Table, attempts: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the text, as codec.encode_failure writes it, of the lease that a row carries unsettled."""
        ...

    def wake(
        self, waiting: Table, which: ColumnElement[bool], now: ColumnElement[Any], channel: str
    ) -> Executable | None:
        """Return the statement that wakes the sleeping consumers of some queues; None if pushes wake none."""
        ...

    def next_ids(self, message: Table, prefix: str, schema: str | None) -> Executable:
        """Return the statement that hands out `count` ids, never handed out before, ascending."""
        ...

    def table_exists(self, table: Table) -> Executable:
        """Return a query with one row if the table exists."""
        ...

    def migration_lock(self, prefix: str) -> Executable | None:
        """Return what lets only one process migrate at a time; None where a transaction does."""
        ...

    def index_lock(self, prefix: str) -> tuple[Executable, Executable]:
        """Return what takes a lock, or answers false at once, and what gives it back; for `apart`."""
        ...

    def prelude(self, schema: str | None) -> Sequence[ExecutableDDLElement]:
        """Return what must exist before the tables."""
        ...

    def mark(self, connection: Connection, mark: str, own: bool) -> None:
        """Leave a mark in the transaction that has begun, and let a handler write as on any other connection.

        Args:
            connection: where a handler is about to write.
            mark: hexadecimal digits, for this transaction alone.
            own: whether the connection has the settings of duerow's own engine.
        """
        ...

    def marked(self, connection: Connection, mark: str, own: bool) -> bool:
        """Return whether the mark is still there, so that it is still the same transaction; once for each mark."""
        ...

    def restore(self, connection: Connection, own: bool) -> None:
        """Have the connection as it was before the mark; its transaction has ended."""
        ...

    def outwaited(self, error: BaseException) -> Conflict | None:
        """Return the error of a step that has waited its turn to write as long as it may; None if it is no such."""
        ...

    def arrow(self, url: URL) -> ArrowWay | None:
        """Open a connection of a driver that gives rows as Arrow, by ADBC; None: there is none, or none is installed.

        Raises:
            StoreUnavailable: the server cannot be reached.
        """
        ...

    def explain(self, error: BaseException) -> DuerowError | None:
        """Return duerow's error for a driver's error, by its code; None if it is no driver's error."""
        ...
