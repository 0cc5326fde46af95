"""SQLite 3.35 and later, through sqlite3 and aiosqlite: one writer at a time, and time as integer microseconds."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    Insert,
    Integer,
    Select,
    Table,
    Text,
    bindparam,
    cast,
    column,
    func,
    literal,
    literal_column,
    null,
    select,
    table,
    text,
    tuple_,
)
from sqlalchemy import Dialect as SqlDialect
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.schema import ExecutableDDLElement
from sqlalchemy.sql.base import Executable
from sqlalchemy.types import TypeEngine

from duerow.clock import FIRST, LAST, micros, moment
from duerow.errors import ConfigurationError, Conflict, DuerowError, NotSupported
from duerow.errors import shown as briefly
from duerow.phrases import Argument
from duerow.store import UNFIT, Capabilities, Shapes
from duerow.stores.sql.connections.callers import Caller
from duerow.stores.sql.dialects.base import Dialect, const
from duerow.stores.sql.dialects.sqlite.errors import explained
from duerow.stores.sql.dialects.sqlite.json_paths import SqliteJson

PROGRESS: Final = 1_000
"""How many virtual machine steps pass between checks of the limit; some take as long as reading a payload."""

_NUMBER, _TEXT = frozenset((int,)), frozenset((str,))
_MAYBE, _AT = frozenset((str, type(None))), frozenset((int, type(None)))
_SHAPE: tuple[Any, ...] = (
    *(None, _TEXT, _TEXT, _MAYBE, _MAYBE, _TEXT, _AT, _AT, _AT, _NUMBER, _NUMBER, _NUMBER, _MAYBE),
    *(_NUMBER, _MAYBE),
)
_LENT = Shapes(*_SHAPE)
"""The types of the values of LENT, and of the priority and the group that may follow."""


def _commits_alone(raw: sqlite3.Connection) -> bool:
    if raw.in_transaction:
        return False
    return raw.isolation_level is None or getattr(raw, "autocommit", None) is True


def _awaited_commits_alone(raw: Any) -> bool:
    """As `_commits_alone`, for aiosqlite; attributes that only its thread may read are checked at the first step."""
    try:
        return _commits_alone(raw._conn)
    except sqlite3.ProgrammingError:  # since Python 3.12
        return False


def _file(path: str) -> Hashable:
    if not path:
        return ("a database in memory",)  # nothing distinguishes it from another one
    try:
        found = os.stat(path)
    except OSError:
        return (path,)
    return path, found.st_dev, found.st_ino


class SQLite(SqliteJson, Dialect):
    """SQLite runs in the process, so its clock is the host's; a transaction that starts by writing locks out others."""

    name = "sqlite"
    capabilities = Capabilities(hosts=False, parallel_writes=False, receives=True)
    callers: Mapping[str, Caller] = {
        "sqlite3": Caller("sqlite", _commits_alone),
        "aiosqlite": Caller("sqlite+aiosqlite", _awaited_commits_alone, awaited=True),
    }
    moment: TypeEngine[Any] = BigInteger()
    bytewise = "BINARY"
    checks_json = True
    names_at_once = 500
    writes_alone = True
    server_clock = False

    def written(self, driver: SqlDialect, raw: bool) -> SqlDialect:
        """Return the driver's own dialect, or for sqlite3 itself a dialect that passes values by name."""
        return sqlite.dialect(paramstyle="named") if raw else driver

    def now(self) -> ColumnElement[Any]:
        """Refuse: SQLite's own clock has only milliseconds, so each statement is passed the host's time."""
        raise AssertionError("SQLite is always given the time")

    def clock(self) -> ColumnElement[Any]:
        """Return SQLite's own time, to the millisecond; within a statement, both parts are from the same moment."""
        whole = "CAST(strftime('%s', 'now') AS INTEGER) * 1000000"
        return literal_column(
            f"({whole} + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000)", type_=self.moment
        )

    def later(self, moment: ColumnElement[Any], span: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a moment that is later by a span."""
        return moment + span

    def microseconds(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the moment as it is stored."""
        return moment

    def indexes(self, wanted: Table) -> Executable:
        """Read the indexes from the schema; all of them can be used."""
        names = column("type", Text()), column("name", Text()), column("tbl_name", Text())
        known = table("sqlite_master", *names, schema=wanted.schema)
        return select(known.c.name, const(1)).where(known.c.type == "index", known.c.tbl_name == wanted.name)

    def write_moment(self, moment: datetime | None) -> int | None:
        """Return microseconds since 1970."""
        return None if moment is None else micros(moment)

    def read_moment(self, value: Any) -> datetime | None:
        """Return the moment for microseconds since 1970; a value that is not a number sorts after all numbers."""
        if value is None:
            return None
        try:
            return moment(value)
        except UNFIT:
            return FIRST if isinstance(value, int | float) and value < 0 else LAST

    def moment_reader(self, value: Any) -> Callable[[Any], Any] | None:
        """Return the function that reads microseconds since 1970."""
        return moment

    def sound(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Check the types of all values: SQLite columns accept any type."""
        return _LENT.fit_all(rows)

    def given(self, name: str, columns: Mapping[str, TypeEngine[Any]], alike: frozenset[str]) -> Any:
        """Return the members of one JSON array, each an array of the values that differ, and the shared values."""
        differing = [label for label in columns if label not in alike]
        same = [bindparam(f"{name}_{label}", type_=columns[label]).label(label) for label in columns if label in alike]
        if not differing:
            return select(*same).subquery(name)
        rows = func.json_each(bindparam(name, type_=Text())).table_valued(column("value", Text()), name=f"{name}_rows")
        parts: list[Any] = [
            func.json_extract(rows.c.value, const(f"$[{place}]"), type_=columns[label]).label(label)
            for place, label in enumerate(differing)
        ]
        if len(differing) == 1:
            parts = [rows.c.value.label(differing[0])]
        return select(*parts, *same).select_from(rows).subquery(name)

    def look_up(
        self,
        shown: Sequence[ColumnElement[Any]],
        given: FromClause,
        which: Sequence[ColumnElement[bool]],
        names: Mapping[str, ColumnElement[Any]],
        locked: bool,
    ) -> Select[Any]:
        """Return the condition that a tuple is among the given rows: a join would read them for each row of a queue."""
        return select(*shown).where(tuple_(*names.values()).in_(select(*(given.c[name] for name in names))), *which)

    def insert(self, table: Table) -> Insert:
        """Return SQLite's INSERT."""
        return insert(table)

    def concatenated(self, *parts: ColumnElement[Any]) -> ColumnElement[Any]:
        """Join the parts with ||, which every version supports."""
        first, *others = parts
        whole: ColumnElement[Any] = cast(first, Text)
        for other in others:
            whole = whole.concat(cast(other, Text) if isinstance(other.type, Integer) else other)
        return whole

    def shown_moment(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Format the moment with strftime."""
        seconds = moment.op("/")(const(1_000_000))
        return func.strftime(const("%Y-%m-%d %H:%M:%S"), seconds, const("unixepoch"))

    def lease_failure(self, said: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a JSON object."""
        parts = (const("message"), said, const("traceback"), null(), const("type"), const("LeaseEnded"))
        return func.json_object(*parts, type_=self.json)

    def next_ids(self, message: Table, prefix: str, schema: str | None) -> Executable:
        """Return the numbers after the highest ever used, which is safe because no other transaction can write."""
        used = table("sqlite_sequence", column("name", Text()), column("seq", BigInteger()))
        highest = select(func.coalesce(func.max(used.c.seq), 0)).where(used.c.name == message.name).scalar_subquery()
        numbers = (
            select(literal(1, BigInteger).label("n"))
            .where(bindparam("count", type_=BigInteger()) > 0)
            .cte("numbers", recursive=True)
        )
        numbers = numbers.union_all(select(numbers.c.n + 1).where(numbers.c.n < bindparam("count", type_=BigInteger())))
        return select(highest + numbers.c.n)

    def table_exists(self, wanted: Table) -> Executable:
        """Query a row if the file has the table."""
        known = table("sqlite_master", column("type", Text()), column("name", Text()))
        return select(literal(1)).select_from(known).where(known.c.type == "table", known.c.name == wanted.name)

    def identity(self, table: Table) -> Executable:
        """Query the files; reading a table would fix the snapshot of the transaction."""
        return text("PRAGMA database_list").columns(column("seq"), column("name", Text()), column("file", Text()))

    def identified(self, rows: Sequence[Sequence[Any]]) -> tuple[Hashable, ...]:
        """Return the files regardless of path spelling, the connection's own first; a database in memory has none."""
        return tuple(_file(row[2]) for row in rows if row[1] != "temp")

    def in_first(self, table: Table) -> Executable | None:
        """Query whether the connection's own file has the table."""
        return text(f'PRAGMA main.table_info("{table.name}")').columns(column("cid"))

    def migration_lock(self, prefix: str) -> None:
        """Do nothing: only one transaction writes at a time."""
        return

    def prelude(self, prefix: str, schema: str | None) -> Sequence[ExecutableDDLElement]:
        """Refuse schemas, which SQLite does not support."""
        if schema is not None:
            raise ConfigurationError(
                "SQLite has no schemas; leave ",
                Argument("schema"),
                f" {briefly(schema)} out, or use ",
                Argument("prefix"),
            )
        return []

    def beside_tables(self, prefix: str, schema: str | None, adds: bool) -> Sequence[tuple[str, str]]:
        """Refuse: SQLite has no roles, and a file can only be protected as a whole."""
        raise NotSupported(
            "SQLite has no roles: anyone who can write to the file and its folder can do everything; the permissions "
            "of the file say who that is"
        )

    def mark(self, connection: Connection, mark: str, own: bool) -> None:
        """Set a savepoint, and make the driver begin a new transaction if the handler rolls back."""
        super().mark(connection, mark, own)
        driver: Any = connection.connection.driver_connection
        if driver.isolation_level is None:  # otherwise writes after the handler's own rollback would be committed
            driver.isolation_level = ""
            connection.info["duerow_isolation_level"] = None

    def has_no_savepoint(self, error: BaseException | None) -> bool:
        """Return whether the error is SQLITE_ERROR."""
        return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR

    def restore(self, connection: Connection, own: bool) -> None:
        """Restore autocommit, if the connection had it."""
        if "duerow_isolation_level" in connection.info:
            connection.connection.rollback()  # otherwise the next line would commit an open transaction
            driver: Any = connection.connection.driver_connection
            driver.isolation_level = connection.info.pop("duerow_isolation_level")

    def outwaited(self, error: BaseException) -> Conflict | None:
        """Return the error for plain SQLITE_BUSY; SQLite raises its extended codes without waiting."""
        if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY:
            return None
        return Conflict(
            "another transaction held the SQLite file for longer than the busy timeout; if it is one of your "
            f"own, end it first, or make this call in it, with within= ({error})",
            waited=True,
        )

    @contextmanager
    def timed(self, raw: sqlite3.Connection, milliseconds: int) -> Iterator[None]:
        """Check the clock while SQLite works. A user's own progress handler is not restored."""
        end = time.monotonic() + milliseconds / 1_000
        raw.set_progress_handler(lambda: time.monotonic() > end, PROGRESS)
        try:
            yield
        finally:
            raw.set_progress_handler(None, 0)

    def ran_out_of_time(self, error: BaseException) -> bool:
        """Return whether the error is SQLITE_INTERRUPT."""
        return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT

    def explain(self, error: BaseException) -> DuerowError | None:
        """Return duerow's error for a driver's error, based on SQLite's result code."""
        return explained(error)
