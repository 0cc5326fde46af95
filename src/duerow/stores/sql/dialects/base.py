"""What a dialect must say: how its database keeps time and rows, locks, and names errors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Final, Protocol
from uuid import UUID

import msgspec
from sqlalchemy import URL, Column, ColumnElement, Connection, FromClause, Insert, Select, Table, literal_column
from sqlalchemy import Dialect as SqlDialect
from sqlalchemy.schema import ExecutableDDLElement
from sqlalchemy.sql.base import Executable
from sqlalchemy.types import TypeEngine, UserDefinedType

from duerow.errors import Conflict, DuerowError
from duerow.payload.codec import UNREADABLE
from duerow.store import Capabilities, IndexKind, Record
from duerow.stores.sql.connections.callers import Callers


def const(value: int | str) -> ColumnElement[Any]:
    """Return a constant of ours as part of the statement's text; for no value that anybody gives."""
    return literal_column(str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'")


def decode_json(text: str) -> Any:
    """Return what a JSON text says; one that is not of our making, too deep or with numbers beyond all, as it is."""
    try:
        return msgspec.json.decode(text)
    except UNREADABLE:
        return text


LONGEST_KEY: Final = 200
"""How many characters of a text an index of a payload field holds: databases bound the size of what they index."""


KEYS: Final[tuple[type, ...]] = (int, str, UUID, date)
"""Of which types, or of types derived from them, columns of a primary key of a user's table can be in Python."""


LINE: Final = "duerow_line"
"""Under which name `Table.info` says by which index due rows are found, unless that is named after the table."""


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
    """A driver that gives rows as Arrow, by ADBC.

    Attributes:
        driver: its module; its `connect` takes the address.
        address: the database's URL as the driver takes it.
        prepare: a query that is carried out first on each connection.
        written: SQLAlchemy's dialect for the text that it takes.
    """

    driver: str
    address: str = field(repr=False)
    prepare: str
    written: SqlDialect


Keyed = tuple[ColumnElement[Any], Sequence[ColumnElement[bool]]]
"""A column by which rows are looked up, and what else must hold for its index to serve."""


class Dialect(Protocol):
    """One database's way of doing what all of them do.

    Attributes:
        name: SQLAlchemy's name of the dialect.
        names: all names that SQLAlchemy has for it.
        capabilities: what a store on it can do.
        callers: the drivers whose own connections can be given as `within=`.
        moment: the type of a moment.
        span: the type of a length of time.
        json: the type of JSON text.
        word: the type of text that is compared byte for byte and may be in an index.
        told_word: the type of such text as statements are given it, and see it in columns.
        text: the type of other text of a modest length.
        writes_alone: whether only one transaction writes at a time, and a read that turns to writing late may fail.
        server_clock: whether the database tells the time; without, each statement is given it.
        bytewise: the collation that compares text byte for byte.
        partial_indexes: whether an index can be of some rows only; without, a column of its own is null in the others.
        ranges_by_rows: whether an index serves a range between values of a given row; without, they must be constants.
        asks_for_indexes: whether a statement that an index of a payload field may serve fails where there is none.
        derived: those columns of messages: the type of each, and the expression that it is.
        takes_parts: whether some statements are carried out as several, see `statements.parts`.
        answers_held: whether an insert that passes over rows whose key is held answers the ids of the holders as well.
        keys: of which of KEYS a primary key of a user's table can be here.
        compares_rows: whether several columns can be compared together, as in (a, b) > (1, 2) and (a, b) IN ….
        dropping: what Alembic must be told to drop a column that has a default.
        checks_json: whether the table must check that its JSON is JSON.
        keeps_dead_entries: whether rows that were taken stay at the head of the index for a while, so that claims
            must start behind them.
        savepoints: what marks a place in a transaction, what goes back to it, and what has constraints checked now that
            are otherwise checked at the end, if there are such.
        chunk: how many rows one statement takes at the most.
        most_values: how many bound values one statement takes at the most; None: as many as fit into a statement.
        chunk_bytes: how many characters of payload one statement takes at the most.
        apart: two queries, the second of which answers whether each of them was a transaction of its own; None where
            an index cannot be made outside of a transaction, while others write.
    """

    name: str
    names: frozenset[str]
    capabilities: Capabilities
    callers: Callers
    moment: TypeEngine[Any]
    span: TypeEngine[Any]
    json: JsonText
    word: TypeEngine[Any]
    told_word: TypeEngine[Any]
    text: TypeEngine[Any]
    bytewise: str
    partial_indexes: bool
    derived: Mapping[str, tuple[TypeEngine[Any], str]]
    takes_parts: bool
    ranges_by_rows: bool
    asks_for_indexes: bool
    answers_held: bool
    keys: tuple[type, ...]
    compares_rows: bool
    dropping: Mapping[str, Any]
    checks_json: bool
    writes_alone: bool
    server_clock: bool
    keeps_dead_entries: bool
    savepoints: tuple[str, str, str | None]
    chunk: int
    most_values: int | None
    chunk_bytes: int
    apart: tuple[Executable, Executable] | None

    def __hash__(self) -> int:
        """Return what tells one dialect from another, for what is made once for each."""
        ...

    def plain(self) -> SqlDialect:
        """Return SQLAlchemy's dialect for printing statements without values."""
        ...

    def written(self, driver: SqlDialect, raw: bool) -> SqlDialect:
        """Return SQLAlchemy's dialect in which statements are written for a driver.

        Args:
            driver: SQLAlchemy's dialect of the driver.
            raw: whether they go to the driver itself, without SQLAlchemy.
        """
        ...

    def now(self) -> ColumnElement[Any]:
        """Return the database's own time, as statements of ours tell it; only where there is a `server_clock`."""
        ...

    def clock(self) -> ColumnElement[Any]:
        """Return the database's own time, as exactly as it has it: for statements of others, which are given none."""
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

    def indexed_key(self, table: Table, name: str, names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """Return `key` of a table's payload as the index of this name is found by."""
        ...

    def create_index(
        self,
        name: str,
        table: Table,
        names: Sequence[str],
        kind: IndexKind,
        which: ColumnElement[bool],
        apart: bool,
    ) -> Sequence[Any]:
        """Return what makes an index of a payload field.

        Args:
            name: the index's.
            table: whose payload.
            names: what lead to the field, whose `key` it holds; in the order of that and then of ids.
            kind: which values that has.
            which: of which rows.
            apart: whether to make it while others write, outside of a transaction.
        """
        ...

    def drop_index(self, name: str, table: Table, apart: bool) -> Sequence[Any]:
        """Return what takes such an index away."""
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
        """Return a moment as the driver gave it; one that is none as `duerow.clock.FIRST` or `LAST`."""
        ...

    def moment_reader(self, value: Any) -> Callable[[Any], Any] | None:
        """Return what turns moments such as this one, not null, into UTC datetimes; None if they are such already."""
        ...

    def record(self, row: Sequence[Any]) -> Record:
        """Return a row of `statements.RECORD` as a record, with its damage if it has any."""
        ...

    def sound(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Return whether rows of `statements.LENT` are of the types that they always are, where columns take any."""
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

    def told(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a bound moment as an expression of its type."""
        ...

    def locked(self, query: Select[Any], table: Table) -> Select[Any]:
        """Return a query of the ORM's so that nobody else can write the rows of a table until the transaction ends.

        Others may refer to them meanwhile, where the database can tell.
        """
        ...

    # Writes, and what they answer.

    def change(
        self,
        table: Table,
        which: Sequence[ColumnElement[bool]],
        values: Mapping[str, Any],
        returning: Sequence[ColumnElement[Any]] = (),
        given: FromClause | None = None,
    ) -> Executable:
        """Return what changes rows, and answers them as they are then.

        Args:
            table: whose rows.
            which: which of them.
            values: the new values of columns, each told by the values that the row had.
            returning: what to answer of each.
            given: the given rows that `which` and `values` speak of.
        """
        ...

    def change_picked(
        self,
        table: Table,
        picked: Select[Any],
        which: Sequence[ColumnElement[bool]],
        values: Mapping[str, Any],
        returning: Sequence[ColumnElement[Any]],
    ) -> Executable:
        """As `change`, of rows whose primary keys a query reads and locks; `which` says the same as a condition."""
        ...

    def remove(
        self,
        table: Table,
        given: FromClause,
        names: Sequence[str],
        which: Sequence[ColumnElement[bool]] = (),
        returning: Sequence[ColumnElement[Any]] = (),
    ) -> Executable:
        """Return what takes rows away that equal one of the given in the columns of these names, and answers them."""
        ...

    def remove_picked(
        self,
        table: Table,
        picked: Select[Any],
        which: Sequence[ColumnElement[bool]],
        returning: Sequence[ColumnElement[Any]] = (),
    ) -> Executable:
        """Return what takes rows away whose primary keys a query reads; `which` says the same as a condition."""
        ...

    def remove_where(
        self, table: Table, which: Sequence[ColumnElement[bool]], returning: Sequence[ColumnElement[Any]]
    ) -> Executable:
        """Return what takes the rows away of which something holds, which are few, and answers them."""
        ...

    def add_free(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        only: ColumnElement[bool],
        returning: Sequence[ColumnElement[Any]],
        told_ids: bool,
    ) -> Executable:
        """Return an INSERT of messages that passes over those whose key a live one holds, and answers the others.

        Args:
            added: the INSERT.
            keys: the columns of the unique index.
            only: of which rows it is.
            returning: what to answer, the id first.
            told_ids: whether the rows come with their ids; see also `answers_held`.
        """
        ...

    def add_new(self, table: Table, values: Mapping[str, ColumnElement[Any]], key: ColumnElement[Any]) -> Executable:
        """Return what adds a row unless there is one with its primary key, and answers the key if it did."""
        ...

    def put(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        new: Callable[[Any], Mapping[str, Any]],
        only: ColumnElement[bool] | None = None,
    ) -> Any:
        """Return an INSERT that changes the rows whose primary key is there already.

        Args:
            added: the INSERT.
            keys: the columns of the primary key.
            new: makes the new values of such a row, given the columns of the row to be inserted.
            only: which of them to change.
        """
        ...

    def answer_put(self, put: Any, returning: Sequence[ColumnElement[Any]], written: ColumnElement[bool]) -> Executable:
        """Return a `put` that answers the rows that it wrote, of which `written` holds and of no others."""
        ...

    # Reads.

    def joined(
        self, found: Select[Any], given: FromClause, table: FromClause, match: ColumnElement[bool]
    ) -> Select[Any]:
        """Return a query over given rows, for each of which a row of the table is looked up."""
        ...

    def first(self, column: ColumnElement[Any], *which: ColumnElement[bool]) -> Select[Any]:
        """Return a query for the least value of a column, which follows the equal ones in an index."""
        ...

    def below(
        self, query: Select[Any], id: ColumnElement[Any], bound: ColumnElement[Any], held: bool
    ) -> ColumnElement[Any]:
        """Return the first id of a query that is below a bound of the row that it belongs to, null if there is none.

        Args:
            query: the ids, without an order.
            id: their column.
            bound: what they are compared with.
            held: whether to lock it against changes, and pass over those that cannot be locked at once.
        """
        ...

    def none_below(self, query: Select[Any], id: ColumnElement[Any], bound: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return that a query has no such id."""
        ...

    def nulls_last(self, column: ColumnElement[Any], descending: bool = False) -> Sequence[ColumnElement[Any]]:
        """Return an order in which null comes last."""
        ...

    def in_group(self, rows: FromClause, grouped: bool) -> ColumnElement[bool]:
        """Return whether rows are in groups, or in none."""
        ...

    def live_key(self, rows: FromClause, live: ColumnElement[bool]) -> Keyed:
        """Return the column of the keys of live messages, and what else must hold for its index to serve."""
        ...

    def live_group(self, rows: FromClause, live: ColumnElement[bool]) -> Keyed:
        """As `live_key`, of groups."""
        ...

    def lent_group(self, rows: FromClause) -> Keyed:
        """As `live_key`, of the groups of messages that are lent."""
        ...

    def resting(self, rows: FromClause) -> tuple[ColumnElement[bool], ...]:
        """Return that rows are neither in line nor behind others."""
        ...

    def stopped(self, rows: FromClause) -> tuple[ColumnElement[bool], ...]:
        """Return that rows rest though they are not dead."""
        ...

    def by_line(self, found: Select[Any], table: Table, grouped: bool) -> Select[Any]:
        """Return a query of rows of a line so that it walks the line's index, and locks no more than it answers."""
        ...

    def by_group(self, found: Select[Any], table: Table) -> Select[Any]:
        """Return a query of rows that are in groups so that it looks at no others."""
        ...

    def among(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        """Return that a column is one of the bound values that are packed as the column `value` under this name."""
        ...

    def look_up(
        self,
        shown: Sequence[ColumnElement[Any]],
        given: FromClause,
        which: Sequence[ColumnElement[bool]],
        names: Mapping[str, ColumnElement[Any]],
        locked: bool,
    ) -> Select[Any]:
        """Return a query that looks up one row of a table for each of the given, by a unique index.

        Args:
            shown: columns of the table.
            given: the given rows.
            which: what else must hold of the row.
            names: the columns in which it must equal the given one, by the names that they have there.
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

    def id_column(self, prefix: str, schema: str | None) -> Column[int]:
        """Return the column of messages' ids, which the database hands out."""
        ...

    def number_column(self) -> Column[int]:
        """Return a column of numbers that the database hands out, but for messages."""
        ...

    def ddl(self, statement: Any) -> Any:
        """Return a statement of a migration as this database takes it."""
        ...

    def table_exists(self, table: Table) -> Executable:
        """Return a query with one row if the table exists."""
        ...

    def identity(self, table: Table) -> Executable:
        """Return a query for what tells a connection's database from all others, and where the table's name leads."""
        ...

    def identified(self, rows: Sequence[Sequence[Any]]) -> tuple[Hashable, ...]:
        """Return what that query found: a name for people first, and what tells; several if it may be any of them."""
        ...

    def in_first(self, table: Table) -> Executable | None:
        """Return a query with rows if the first of several databases has the table; None where there is one."""
        ...

    def migration_lock(self, prefix: str) -> Executable | None:
        """Return what lets only one process migrate at a time; None where a transaction does."""
        ...

    def migration_unlock(self, prefix: str) -> Executable | None:
        """Return what gives that back; None where the end of the transaction does."""
        ...

    def server(self) -> Executable | None:
        """Return a query for what `check_server` judges; None if any server will do."""
        ...

    def check_server(self, row: Sequence[Any]) -> None:
        """Raise ConfigurationError if this server cannot keep the promises."""
        ...

    def unfit(self, tables: Sequence[Table], ours: bool) -> Executable | None:
        """Return a query for what `check_tables` judges of tables that exist; None if any will do.

        Args:
            tables: which.
            ours: whether they are duerow's own, which look rows up by text.
        """
        ...

    def check_tables(self, rows: Sequence[Sequence[Any]]) -> None:
        """Raise ConfigurationError if the tables were changed so that they cannot keep the promises."""
        ...

    def index_lock(self, prefix: str) -> tuple[Executable, Executable]:
        """Return what takes a lock, or answers false at once, and what gives it back; for `apart`."""
        ...

    def prelude(self, prefix: str, schema: str | None) -> Sequence[ExecutableDDLElement]:
        """Return what must exist before the tables."""
        ...

    def beside_tables(self, prefix: str, schema: str | None, adds: bool) -> Sequence[tuple[str, str]]:
        """Return the rights that a role needs besides those on tables, and what each is on, as GRANT has it.

        Args:
            prefix: what the names of all tables begin with.
            schema: the schema that holds them.
            adds: whether the role adds messages, which takes the ids that the database hands out.

        Raises:
            NotSupported: the database has no roles.
        """
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

    def limited(self, text: str, milliseconds: int) -> tuple[str, str, str]:
        """Return a read so that the server ends it when it takes longer: what to say before it, it, and after it.

        Where something is said before and after it, that is in one transaction with it; empty: nothing is.
        """
        ...

    def timed(self, raw: Any, milliseconds: int) -> AbstractContextManager[None]:
        """Have a driver's connection end what is read within the block when it takes longer, where the driver does."""
        ...

    def ran_out_of_time(self, error: BaseException) -> bool:
        """Return whether a driver's error says that a read took longer than it may, by its code."""
        ...

    def arrow(self, url: URL) -> ArrowWay | None:
        """Return the driver that gives rows of this database as Arrow; None: there is none."""
        ...

    def explain(self, error: BaseException) -> DuerowError | None:
        """Return duerow's error for a driver's error, by its code; None if it is no driver's error."""
        ...
