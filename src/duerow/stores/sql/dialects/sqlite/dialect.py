"""SQLite 3.35 and later, through sqlite3 and aiosqlite: one writer at a time, time as integers of microseconds."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from sqlalchemy import (
    URL,
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    Insert,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    case,
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
from sqlalchemy.exc import OperationalError
from sqlalchemy.schema import ExecutableDDLElement
from sqlalchemy.sql.base import Executable
from sqlalchemy.types import TypeEngine

from duerow.clock import FIRST, LAST, micros, moment, span
from duerow.errors import ConfigurationError, Conflict, DuerowError, NotSupported, StoreRefused, StoreUnavailable
from duerow.phrases import Argument
from duerow.store import UNFIT, Capabilities, IndexKind, Record, Shapes, examined
from duerow.stores.sql.connections.callers import Caller
from duerow.stores.sql.dialects.base import LONGEST_KEY, JsonText, Member, const, decode_json
from duerow.stores.sql.dialects.returning import WritesReturnRows

_MOMENTS = (9, 10, 14, 15, 16)
_encode = msgspec.json.Encoder().encode

PROGRESS: Final = 1_000
"""After how many steps of its machine SQLite lets a limit be looked at; some take as long as to read a payload."""

_NUMBER, _TEXT = frozenset((int,)), frozenset((str,))
_MAYBE, _AT = frozenset((str, type(None))), frozenset((int, type(None)))
_SHAPE: tuple[Any, ...] = (
    *(None, _TEXT, _TEXT, _MAYBE, _MAYBE, _TEXT, _AT, _AT, _AT, _NUMBER, _NUMBER, _NUMBER, _MAYBE),
    *(_NUMBER, _MAYBE),
)
_LENT = Shapes(*_SHAPE)
"""The types of LENT, and of the priority and the group that may follow."""

_ODD = re.compile(r"""["\\\x00-\x1f]""")
"""Characters that JSON text escapes, for which versions of SQLite differ in how a path says them."""

_GLOB = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}


def _commits_alone(raw: sqlite3.Connection) -> bool:
    if raw.in_transaction:
        return False
    return raw.isolation_level is None or getattr(raw, "autocommit", None) is True


def _awaited_commits_alone(raw: Any) -> bool:
    """As `_commits_alone`, of aiosqlite's; what only its own thread may read is judged there, at the first step."""
    try:
        return _commits_alone(raw._conn)
    except sqlite3.ProgrammingError:  # from Python 3.12 on
        return False


def _file(path: str) -> Hashable:
    if not path:
        return ("a database in memory",)  # which nothing tells from another one
    try:
        found = os.stat(path)
    except OSError:
        return (path,)
    return path, found.st_dev, found.st_ino


OF_ROW: Final = {sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH}
"""What a row would hold is refused: a size, a constraint or a trigger, a type."""


class SQLite(WritesReturnRows):
    """Runs in the process, so its clock is the host's; a transaction that begins by writing has the file for itself."""

    name = "sqlite"
    names = frozenset(("sqlite",))
    capabilities = Capabilities(hosts=False, parallel_writes=False, receives=True)
    callers: Mapping[str, Caller] = {
        "sqlite3": Caller("sqlite", _commits_alone),
        "aiosqlite": Caller("sqlite+aiosqlite", _awaited_commits_alone, awaited=True),
    }
    moment: TypeEngine[Any] = BigInteger()
    span: TypeEngine[Any] = BigInteger()
    json = JsonText("TEXT")
    bytewise = "BINARY"
    word: TypeEngine[Any] = Text(collation="BINARY")
    checks_json = True
    writes_alone = True
    server_clock = False
    keeps_dead_entries = False
    savepoints: tuple[str, str, str | None] = "SAVEPOINT duerow_row", "ROLLBACK TO SAVEPOINT duerow_row", None
    apart: tuple[Executable, Executable] | None = None

    def plain(self) -> SqlDialect:
        """Return SQLAlchemy's dialect for printing statements without values."""
        return sqlite.dialect()

    def written(self, driver: SqlDialect, raw: bool) -> SqlDialect:
        """Return the driver's own; sqlite3 itself is given values by name."""
        return sqlite.dialect(paramstyle="named") if raw else driver

    def now(self) -> ColumnElement[Any]:
        """Return nothing: SQLite's own clock has milliseconds only, so each statement is given the host's."""
        raise AssertionError("SQLite is always given the time")

    def clock(self) -> ColumnElement[Any]:
        """Return SQLite's own time, in milliseconds; both parts are read at the same moment of a statement."""
        whole = "CAST(strftime('%s', 'now') AS INTEGER) * 1000000"
        return literal_column(
            f"({whole} + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000)", type_=self.moment
        )

    def later(self, moment: ColumnElement[Any], span: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a moment so much later."""
        return moment + span

    def microseconds(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return it as it is kept."""
        return moment

    def from_text(self, text: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the text as it is; the table checks that it is JSON."""
        return text

    def as_text(self, json: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the column as it is: JSON is kept as text."""
        return json

    def member(self, document: ColumnElement[Any], names: Sequence[str]) -> Member:
        """Look the path up with json_extract, or by way of json_each if a name is one that a path cannot say.

        What is no JSON is passed over: no table checks that of headers, and who writes by hand need not have payloads
        checked.
        """
        checked = case((func.json_valid(document) == const(1), document))
        kind, value, json = (
            _walked(checked, names) if any(map(_ODD.search, names)) or "" in names else _extracted(checked, names)
        )
        finite = and_(value > literal_column("-9e999"), value < literal_column("9e999"))
        is_number = kind.in_([const("integer"), const("real")])
        return Member(
            absent=func.coalesce(kind, const("null")) == const("null"),
            text=case((kind == const("text"), value)),
            boolean=case((kind.in_([const("true"), const("false")]), kind)),
            whole=case((and_(is_number, func.typeof(value) == const("integer")), value)),
            real=case((and_(is_number, func.typeof(value) == const("real"), finite), value)),
            json=json,
        )

    def key(self, document: ColumnElement[Any], names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """Extract the value if it is of the kind; integers and floats compare with each other exactly."""
        path = const("$" + "".join(f'."{name}"' for name in names))
        type_, value = func.json_type(document, path, type_=Text()), func.json_extract(document, path)
        match kind:
            case "text":
                return case((type_ == const("text"), func.substr(value, const(1), const(LONGEST_KEY), type_=Text())))
            case "boolean":
                return case((type_.in_([const("true"), const("false")]), type_))
        return case((type_.in_([const("integer"), const("real")]), value))

    def key_of(self, number: int | float) -> ColumnElement[Any]:
        """Return an integer as it is if it has 64 bits, else a float."""
        if isinstance(number, int) and -(1 << 63) <= number < 1 << 63:
            return literal(number, BigInteger())
        return self.real(float(number))

    def indexes(self, wanted: Table) -> Executable:
        """Read them from the schema; all can be used."""
        names = column("type", Text()), column("name", Text()), column("tbl_name", Text())
        known = table("sqlite_master", *names, schema=wanted.schema)
        return select(known.c.name, const(1)).where(known.c.type == "index", known.c.tbl_name == wanted.name)

    def real(self, value: float) -> ColumnElement[Any]:
        """Return a float that SQLite reads from JSON itself, as those of payloads: it may err in the last bit."""
        return func.json_extract(literal(_encode(value).decode(), Text()), const("$"))

    def like(self, text: ColumnElement[Any], pattern: str) -> ColumnElement[bool]:
        """Return GLOB, since LIKE heeds no case."""
        return text.op("GLOB", is_comparison=True)(literal(_glob(pattern), Text()))

    def read_json(self, value: Any) -> Any:
        """Return the first member of a list: SQLite writes what it extracts as JSON only within one."""
        return None if value is None else decode_json(value)[0]

    def write_moment(self, moment: datetime | None) -> int | None:
        """Return microseconds since 1970."""
        return None if moment is None else micros(moment)

    def write_span(self, length: timedelta | None) -> int | None:
        """Return microseconds."""
        return None if length is None else span(length)

    def read_moment(self, value: Any) -> datetime | None:
        """Return the moment of so many microseconds since 1970; what is no number sorts behind all that are."""
        if value is None:
            return None
        try:
            return moment(value)
        except UNFIT:
            return FIRST if isinstance(value, int | float) and value < 0 else LAST

    def moment_reader(self, value: Any) -> Callable[[Any], Any] | None:
        """Return what counts from 1970."""
        return moment

    def record(self, row: Sequence[Any]) -> Record:
        """Return the row as a record, its moments as datetimes."""
        values = list(row)
        for place in _MOMENTS:
            if values[place] is not None:
                values[place] = self.read_moment(values[place])
        return examined(values)

    def sound(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Look at the types of all values: a column of SQLite takes any."""
        return _LENT.fit_all(rows)

    def given(self, name: str, columns: Mapping[str, TypeEngine[Any]], alike: frozenset[str]) -> Any:
        """Return the members of one JSON array, each an array of what differs, beside what is alike."""
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

    def pack(self, name: str, columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Return the columns that differ as JSON text; a single one needs no arrays within the array."""
        if not columns:
            return {}
        if len(columns) == 1:
            return {name: _encode(next(iter(columns.values()))).decode()}
        return {name: _encode(list(zip(*columns.values(), strict=True))).decode()}

    def one_of(self, column: ColumnElement[Any], ids: Select[Any]) -> ColumnElement[bool]:
        """Return `IN (SELECT …)`, which SQLite evaluates once."""
        return column.in_(ids)

    def one_of_rows(self, columns: Sequence[ColumnElement[Any]], found: Select[Any]) -> list[ColumnElement[bool]]:
        """Return that the row value is one of the found, which SQLite evaluates once."""
        return [tuple_(*columns).in_(found)]

    def delete_matches(self, message: Table, given: FromClause, ids: Sequence[str]) -> list[ColumnElement[bool]]:
        """Return that the row value is one of the given, since a DELETE cannot join."""
        names = (*ids, "token")
        return [tuple_(*(message.c[name] for name in names)).in_(select(*(given.c[name] for name in names)))]

    def among(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        """Return `IN (SELECT …)`, of the members of a JSON array."""
        return column.in_(select(self.given(name, {"value": column.type}, frozenset()).c.value))

    def look_up(
        self,
        shown: Sequence[ColumnElement[Any]],
        given: FromClause,
        which: Sequence[ColumnElement[bool]],
        names: Mapping[str, ColumnElement[Any]],
        locked: bool,
    ) -> Select[Any]:
        """Return that the tuple is one of the given: in a join SQLite would read the given rows for each of a queue."""
        return select(*shown).where(tuple_(*names.values()).in_(select(*(given.c[name] for name in names))), *which)

    def same(self, ours: ColumnElement[Any], theirs: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return that they are equal."""
        return ours == theirs

    def insert(self, table: Table) -> Insert:
        """Return SQLite's INSERT."""
        return insert(table)

    def ended_lease(self, message: Table, attempts: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the failure of the attempt whose lease ended unsettled, as JSON text."""
        ended = func.strftime(
            const("%Y-%m-%d %H:%M:%S"), message.c.leased_until.op("/")(const(1_000_000)), const("unixepoch")
        )
        said = (
            cast(const("was in hand when its worker died: lease of "), Text)
            .concat(message.c.leased_by)
            .concat(const(" ended at "))
            .concat(ended)
            .concat(const(" UTC, attempt "))
            .concat(cast(message.c.attempts, Text))
            .concat(const(" of "))
            .concat(func.coalesce(cast(attempts, Text), const("any number")))
        )
        parts = (const("message"), said, const("traceback"), null(), const("type"), const("LeaseEnded"))
        return func.json_object(*parts, type_=self.json)

    def wake(self, waiting: Table, which: ColumnElement[bool], now: ColumnElement[Any], channel: str) -> None:
        """Nothing to do: consumers watch the file's data version."""
        return

    def next_ids(self, message: Table, prefix: str, schema: str | None) -> Executable:
        """Return the numbers behind the highest ever used; safe since nobody else writes meanwhile."""
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
        """Return a row if the file has the table."""
        known = table("sqlite_master", column("type", Text()), column("name", Text()))
        return select(literal(1)).select_from(known).where(known.c.type == "table", known.c.name == wanted.name)

    def identity(self, table: Table) -> Executable:
        """Ask for the files; a read of any table would fix what the transaction sees."""
        return text("PRAGMA database_list").columns(column("seq"), column("name", Text()), column("file", Text()))

    def identified(self, rows: Sequence[Sequence[Any]]) -> tuple[Hashable, ...]:
        """Return the files, the connection's own first; each is known whatever its path, and memory by none."""
        return tuple(_file(row[2]) for row in rows if row[1] != "temp")

    def in_first(self, table: Table) -> Executable | None:
        """Ask whether the connection's own file has the table."""
        return text(f'PRAGMA main.table_info("{table.name}")').columns(column("cid"))

    def migration_lock(self, prefix: str) -> None:
        """Nothing to do: a transaction that writes is alone."""
        return

    def index_lock(self, prefix: str) -> tuple[Executable, Executable]:
        """Return nothing: a transaction that writes is alone."""
        raise AssertionError("SQLite makes indexes inside a transaction")

    def prelude(self, prefix: str, schema: str | None) -> Sequence[ExecutableDDLElement]:
        """Refuse schemas, which SQLite does not have."""
        if schema is not None:
            raise ConfigurationError(
                "SQLite has no schemas; leave ", Argument("schema"), f" {schema!r:.80} out, or use ", Argument("prefix")
            )
        return []

    def beside_tables(self, prefix: str, schema: str | None, adds: bool) -> Sequence[tuple[str, str]]:
        """Refuse: a file is protected as a whole."""
        raise NotSupported(
            "SQLite has no roles: whoever may write the file and its folder may do everything; the permissions of the "
            "file say who that is"
        )

    def mark(self, connection: Connection, mark: str, own: bool) -> None:
        """Set a savepoint, which is gone with its transaction."""
        connection.exec_driver_sql(f"SAVEPOINT duerow_{mark}")
        driver: Any = connection.connection.driver_connection
        if driver.isolation_level is None:  # else what follows a rollback of the handler's own would last
            driver.isolation_level = ""
            connection.info["duerow_isolation_level"] = None

    def marked(self, connection: Connection, mark: str, own: bool) -> bool:
        """Release the savepoint; return whether there was one."""
        try:
            connection.exec_driver_sql(f"RELEASE SAVEPOINT duerow_{mark}")
        except OperationalError as error:
            if getattr(error.orig, "sqlite_errorcode", None) != sqlite3.SQLITE_ERROR:
                raise
            return False
        return True

    def restore(self, connection: Connection, own: bool) -> None:
        """Let the connection commit each statement by itself again, if it did."""
        if "duerow_isolation_level" in connection.info:
            connection.connection.rollback()  # what is still open would be committed by the next line
            driver: Any = connection.connection.driver_connection
            driver.isolation_level = connection.info.pop("duerow_isolation_level")

    def outwaited(self, error: BaseException) -> Conflict | None:
        """Return the error for SQLITE_BUSY itself; its extended codes come at once."""
        if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY:
            return None
        return Conflict(
            "another transaction had the SQLite file for itself for longer than the busy timeout; if it is one of your "
            f"own, end it first, or make this call in it, with within= ({error})",
            waited=True,
        )

    def limited(self, text: str, milliseconds: int) -> tuple[str, str, str]:
        """Leave it to the driver."""
        return "", text, ""

    @contextmanager
    def timed(self, raw: sqlite3.Connection, milliseconds: int) -> Iterator[None]:
        """Look at the clock while SQLite works. A progress handler of the user's own is not put back."""
        end = time.monotonic() + milliseconds / 1_000
        raw.set_progress_handler(lambda: time.monotonic() > end, PROGRESS)
        try:
            yield
        finally:
            raw.set_progress_handler(None, 0)

    def ran_out_of_time(self, error: BaseException) -> bool:
        """Return whether it is SQLITE_INTERRUPT."""
        return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT

    def arrow(self, url: URL) -> None:
        """Return None: its drivers guess the type of a column by its first values, and all values are Python's own."""

    def explain(self, error: BaseException) -> DuerowError | None:
        """Return duerow's error for a driver's, by SQLite's result code."""
        if not isinstance(error, sqlite3.Error):
            return None
        code = getattr(error, "sqlite_errorcode", None)
        primary = None if code is None else code & 0xFF
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return Conflict(f"the SQLite file is locked by another writer: {error}")
        if primary in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_INTERRUPT):
            return StoreUnavailable(f"SQLite cannot reach its file: {error}")
        if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_AUTH):
            return ConfigurationError(f"SQLite cannot use this file: {error}")
        return StoreRefused(f"SQLite refused a statement: {error}", of_row=primary in OF_ROW)


def _extracted(
    document: ColumnElement[Any], names: Sequence[str]
) -> tuple[ColumnElement[Any], ColumnElement[Any], ColumnElement[Any]]:
    """Return the type, the value and the JSON of what a path leads to."""
    path = literal("$" + "".join(f'."{name}"' for name in names), Text())
    return (
        func.json_type(document, path, type_=Text()),
        func.json_extract(document, path),
        func.json_extract(document, path, path),
    )


def _walked(
    document: ColumnElement[Any], names: Sequence[str]
) -> tuple[ColumnElement[Any], ColumnElement[Any], ColumnElement[Any]]:
    """Return the same, found by going from object to object, comparing the names of their members."""
    found, wanted = [], []
    for name in names:
        members = func.json_each(document).table_valued("key", "value", "type").alias()
        found.append(members)
        wanted.append(members.c.key == literal(name, Text()))
        document = case((members.c.type == const("object"), members.c.value))
    last = found[-1].c

    def only(shown: ColumnElement[Any]) -> ColumnElement[Any]:
        return select(shown).select_from(*found).where(*wanted).limit(1).correlate_except(*found).scalar_subquery()

    digits = func.printf(const("[%!.17g]"), last.value)
    json = case((last.type == const("real"), digits), else_=func.json_array(_as_json(last)))
    return only(last.type), only(last.value), only(json)


def _as_json(member: Any) -> ColumnElement[Any]:
    """Return a member so that json_array takes objects, lists and booleans for what they are."""
    words = case((member.type.in_([const("true"), const("false")]), func.json(member.type)))
    nested = case((member.type.in_([const("object"), const("array")]), func.json(member.value)))
    return func.coalesce(words, nested, member.value)


def _glob(pattern: str) -> str:
    """Return a `like` pattern as GLOB says it."""
    characters = iter(pattern)
    parts = []
    for character in characters:
        meant = next(characters) if character == "\\" else None
        if meant is None:
            parts.append(_GLOB.get(character, character))
        else:
            parts.append(f"[{meant}]" if meant in "*?[" else meant)
    return "".join(parts)
