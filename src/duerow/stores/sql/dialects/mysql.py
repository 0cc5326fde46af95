"""MariaDB 10.6 and later, through PyMySQL and asyncmy: rows are locked first and then written by their primary keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from sqlalchemy import (
    URL,
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Double,
    FromClause,
    Insert,
    Integer,
    Numeric,
    Select,
    SmallInteger,
    Table,
    TableClause,
    Text,
    and_,
    bindparam,
    case,
    cast,
    collate,
    column,
    false,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    text,
)
from sqlalchemy import Dialect as SqlDialect
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects.mysql import DATETIME, VARCHAR, insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateIndex, CreateSchema, CreateTable, ExecutableDDLElement
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.elements import ClauseElement
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.visitors import iterate, replacement_traverse
from sqlalchemy.types import TypeEngine

from duerow.clock import span
from duerow.errors import (
    ConfigurationError,
    Conflict,
    DuerowError,
    SchemaOutdated,
    StoreRefused,
    StoreUnavailable,
)
from duerow.store import Capabilities, IndexKind, Record
from duerow.stores.sql.dialects.base import LONGEST_KEY, ArrowWay, JsonText, Keyed, Member, const, decode_json
from duerow.stores.sql.statements.parts import FOUND, TOLD, Adding, Kept, Locked

BYTEWISE: Final = "utf8mb4_nopad_bin"
"""Compares text byte for byte, trailing spaces included, and orders it by code points."""

LONGEST_WORD: Final = 255

OLDEST: Final = (10, 6)
"""The first version with SKIP LOCKED and JSON_TABLE."""

_encode = msgspec.json.Encoder().encode

_INTEGER = "^-?[0-9]{1,19}$"
_LEAST_INTEGER, _MOST_INTEGER = "-9223372036854775808", "9223372036854775807"

_SAFE = "sql_safe_updates = 0"
"""A session may refuse writes whose condition has no constants; ours are joined to what they write."""

_LARGEST = "1.7976931348623157e308"

_MOMENT: Final = DATETIME(fsp=6)

_WORDS: Final = frozenset(("queue", "key", "group", "correlation", "process", "name"))
"""Columns of given rows by which rows are looked up; their values are as short as a word."""

CONFLICTS: Final = {1205, 1213, 1062, 1020, 3572}
"""Lock timeout, deadlock, a duplicate key, which only a race can bring about, and a row changed since it was read."""

UNAVAILABLE: Final = {
    *(2002, 2003, 2006, 2013, 2014, 2055, 1927, 1152, 1156, 1157, 1158, 1159, 1160, 1161, 1184),
    *(1040, 1041, 1053, 1203, 1226, 1290, 1836, 1021, 1114, 1317, 1969, 3024, 1028, 1030, 4031),
}
"""No connection, or lost; too many of them; the server stops, only reads, is out of memory or disk, or cancels."""

_NO_TABLES: Final = {1146, 1054, 4091}
_FORBIDDEN: Final = {1044, 1045, 1049, 1142, 1143, 1227, 1370, 1698, 1251, 1130}


class _Now(FunctionElement[datetime]):
    """The time of the server at the beginning of the statement."""

    type = _MOMENT
    inherit_cache = True


@compiles(_Now)
def _write_now(element: _Now, compiler: Any, **kw: Any) -> str:
    return "UTC_TIMESTAMP(6)"


class _Float(FunctionElement[float]):
    """A value as a float; SQLAlchemy does not know that MariaDB casts to it."""

    type = Double()
    inherit_cache = True


@compiles(_Float)
def _write_float(element: _Float, compiler: Any, **kw: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **kw)} AS DOUBLE)"


class _Change(Executable, ClauseElement):
    """An UPDATE of rows that are looked up by given ones, or by their primary keys: none is read that is not written.

    All its values are told by what the rows were before, as everywhere else.

    Args:
        table: whose rows.
        given: the given rows.
        which: which rows of the table.
        values: the new values by the names of columns.
    """

    inherit_cache = False
    is_dml = True
    is_select = False
    returning_column_descriptions = ()

    def __init__(
        self, table: Table, given: FromClause | None, which: ColumnElement[bool], values: Mapping[str, Any]
    ) -> None:
        self.table, self.given, self.which, self.values = table, given, which, values


@compiles(_Change)
def _write_change(element: _Change, compiler: Any, **kw: Any) -> str:
    where = compiler.process(element.which)
    sets = ", ".join(
        f"{compiler.process(element.table.c[name])} = {compiler.process(element.values[name])}"
        for name in element.values
    )
    table = compiler.process(element.table, asfrom=True)
    mode = f"SET STATEMENT {_SAFE}, sql_mode = 'SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES' FOR "
    if element.given is None:
        return f"{mode}UPDATE {table} FORCE INDEX (PRIMARY) SET {sets} WHERE {where}"  # noqa: S608 - made of what SQLAlchemy wrote
    given = compiler.process(element.given, asfrom=True)
    return f"{mode}UPDATE {given} STRAIGHT_JOIN {table} ON {where} SET {sets}"  # noqa: S608 - made of what SQLAlchemy wrote


class _Remove(Executable, ClauseElement):
    """A DELETE of rows that are looked up by given ones."""

    inherit_cache = False
    is_dml = True
    is_select = False
    returning_column_descriptions = ()

    def __init__(self, table: Table, given: FromClause, which: ColumnElement[bool]) -> None:
        self.table, self.given, self.which = table, given, which


@compiles(_Remove)
def _write_remove(element: _Remove, compiler: Any, **kw: Any) -> str:
    table = compiler.process(element.table, asfrom=True)
    where = compiler.process(element.which)
    given = compiler.process(element.given, asfrom=True)
    return f"SET STATEMENT {_SAFE} FOR DELETE {table} FROM {given} STRAIGHT_JOIN {table} ON {where}"


def _bound(value: Any) -> Any:
    """Return an expression in which the time is the one that was told."""

    def replace(element: Any, **_: Any) -> Any:
        return _told() if isinstance(element, _Now) else None

    return replacement_traverse(value, {}, replace) if isinstance(value, ClauseElement) else value


def _told() -> ColumnElement[Any]:
    return cast(bindparam(TOLD, type_=_MOMENT), _MOMENT)


def _refers_to(values: Sequence[Any], given: FromClause) -> bool:
    columns = set(given.c)
    return any(part in columns for value in values if isinstance(value, ClauseElement) for part in iterate(value))


class MySQL:
    """A write of rows whose answer matters is two: a locking read, and a write by primary key in one transaction."""

    name = "mysql"
    names = frozenset(("mysql", "mariadb"))
    capabilities = Capabilities(wakes_consumers=False)
    moment: TypeEngine[Any] = _MOMENT
    span: TypeEngine[Any] = BigInteger()
    json = JsonText("LONGTEXT")
    word: TypeEngine[Any] = VARCHAR(LONGEST_WORD)
    told_word: TypeEngine[Any] = Text()
    text: TypeEngine[Any] = VARCHAR(700)
    bytewise = BYTEWISE
    checks_json = False
    partial_indexes = False
    derived: Mapping[str, tuple[TypeEngine[Any], str]] = {
        "line": (SmallInteger(), "IF(due_at IS NULL, NULL, `group` IS NOT NULL)"),
        "rests": (SmallInteger(), "IF(due_at IS NULL AND behind_at IS NULL, 1, NULL)"),
        "stopped": (SmallInteger(), "IF(due_at IS NULL AND behind_at IS NULL AND status <> 'dead', 1, NULL)"),
        "live_key": (VARCHAR(LONGEST_WORD), "IF(status IN ('new', 'error'), `key`, NULL)"),
        "live_group": (VARCHAR(LONGEST_WORD), "IF(status IN ('new', 'error'), `group`, NULL)"),
        "lent_group": (VARCHAR(LONGEST_WORD), "IF(leased_by IS NOT NULL, `group`, NULL)"),
    }
    asks_for_indexes = True
    answers_held = True
    takes_parts = True
    entities = False
    ranges_by_rows = False
    writes_alone = False
    server_clock = True
    keeps_dead_entries = False
    chunk = 5_000
    chunk_bytes = 2 << 20  # a packet has 16 MiB unless the server says otherwise, and a character up to 8 bytes
    apart: tuple[Executable, Executable] | None = None

    def plain(self) -> SqlDialect:
        """Return SQLAlchemy's dialect, as of MariaDB, with placeholders by position."""
        return mysql.dialect(is_mariadb=True, paramstyle="format")

    # Time, text and JSON.

    def now(self) -> ColumnElement[Any]:
        """Return the time at which the statement began, in UTC whatever the session's time zone is."""
        return _Now()

    def told(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return it cast: drivers bind a moment as text."""
        return cast(moment, _MOMENT)

    def later(self, moment: ColumnElement[Any], span: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a moment so much later."""
        return func.timestampadd(literal_column("MICROSECOND"), span, moment, type_=self.moment)

    def microseconds(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return how long it is since 1970."""
        return func.timestampdiff(literal_column("MICROSECOND"), const("1970-01-01"), moment, type_=BigInteger())

    def from_text(self, text: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the text as it is."""
        return text

    def as_text(self, json: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the column as it is: JSON is kept as text."""
        return json

    def member(self, document: ColumnElement[Any], names: Sequence[str]) -> Member:
        """Look the path up with JSON_EXTRACT; what is not JSON, or is nested too deep for it, has no members."""
        path = literal("$" + "".join(map(_step, names)), Text())
        value = func.json_extract(document, path, type_=Text())
        kind = func.json_type(value, type_=Text())
        is_number = kind.in_([const("INTEGER"), const("DOUBLE")])
        within = cast(value, Numeric(20, 0)).between(literal_column(_LEAST_INTEGER), literal_column(_MOST_INTEGER))
        is_whole = case(
            (and_(is_number, value.op("REGEXP", is_comparison=True)(const(_INTEGER))), within), else_=false()
        )
        return Member(
            absent=func.coalesce(kind, const("NULL")) == const("NULL"),
            text=collate(case((kind == const("STRING"), func.json_unquote(value))), self.bytewise),
            boolean=collate(case((kind == const("BOOLEAN"), value)), self.bytewise),
            whole=case((is_whole, cast(value, BigInteger))),
            real=case((is_whole, null()), (and_(is_number, _is_finite(value)), _Float(value))),
            json=value,
        )

    def key(self, document: ColumnElement[Any], names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """Return the value if it is of the kind."""
        found = self.member(document, names)
        match kind:
            case "text":
                return func.left(found.text, const(LONGEST_KEY))
            case "boolean":
                return found.boolean
        is_number = func.json_type(found.json, type_=Text()).in_([const("INTEGER"), const("DOUBLE")])
        return case((is_number, _Float(found.json)))

    def indexed_key(self, table: Table, name: str, names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """Return the column that was made for the index."""
        kinds: dict[IndexKind, TypeEngine[Any]] = {"text": Text(), "boolean": Text()}
        return literal_column(f"{table.name}.`{name}`", type_=kinds.get(kind, Double()))

    def create_index(
        self,
        name: str,
        table: Table,
        names: Sequence[str],
        kind: IndexKind,
        which: ColumnElement[bool],
        apart: bool,
    ) -> Sequence[Any]:
        """Make a column of the key, which takes no room in the rows, and its index, while others go on writing."""
        compiler = self.plain().statement_compiler(self.plain(), None)
        readable = func.json_valid(table.c.payload) == const(1)  # what is nested too deep makes a write fail otherwise
        held = case((and_(which, readable), self.key(table.c.payload, names, kind)))
        written = compiler.process(held, include_table=False, literal_binds=True).replace(":", "\\:")
        typed = {"text": f"VARCHAR({LONGEST_KEY})", "boolean": "VARCHAR(5)"}.get(kind, "DOUBLE")
        named = self._named(table)
        return [
            text(
                f"ALTER TABLE {named} ADD COLUMN IF NOT EXISTS `{name}` {typed} GENERATED ALWAYS AS ({written}) VIRTUAL"
            ),
            text(f"CREATE INDEX IF NOT EXISTS `{name}` ON {named} (`{name}`, id)"),
        ]

    def drop_index(self, name: str, table: Table, apart: bool) -> Sequence[Any]:
        """Take both away."""
        named = self._named(table)
        return [
            text(f"ALTER TABLE {named} DROP INDEX IF EXISTS `{name}`"),
            text(f"ALTER TABLE {named} DROP COLUMN IF EXISTS `{name}`"),
        ]

    def _named(self, table: Table) -> str:
        return self.plain().identifier_preparer.format_table(table)

    def key_of(self, number: int | float) -> ColumnElement[Any]:
        """Return the float next to it."""
        return self.real(float(number))

    def indexes(self, table: Table) -> Executable:
        """Read them from the catalogue; all can be used."""
        known = TableClause(
            "statistics",
            column("table_schema"),
            column("table_name"),
            column("index_name"),
            schema="information_schema",
        )
        here = known.c.table_schema == self._schema(table)
        return select(known.c.index_name, const(1)).where(here, known.c.table_name == table.name).distinct()

    def real(self, value: float) -> ColumnElement[Any]:
        """Return a bound DOUBLE."""
        return _Float(literal(value, Double()))

    def like(self, text: ColumnElement[Any], pattern: str) -> ColumnElement[bool]:
        """Return LIKE as it is, with its own escape character."""
        return text.like(literal(pattern, Text()))

    def read_json(self, value: Any) -> Any:
        """Return the text decoded."""
        return None if value is None else decode_json(value)

    def write_moment(self, moment: datetime | None) -> str | None:
        """Return the moment in UTC as text: a driver binds it so, and so does JSON."""
        return None if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")

    def write_span(self, length: timedelta | None) -> int | None:
        """Return microseconds."""
        return None if length is None else span(length)

    def read_moment(self, value: Any) -> datetime | None:
        """Return the moment in UTC, as it is kept."""
        return None if value is None else value.replace(tzinfo=UTC)

    def moment_reader(self, value: Any) -> Callable[[Any], Any] | None:
        """Return what says that it is in UTC."""
        return _in_utc

    def record(self, row: Sequence[Any]) -> Record:
        """Return the row as a record, its moments in UTC."""
        values: list[Any] = [_in_utc(value) if isinstance(value, datetime) else value for value in row]
        return Record(*values)

    # Given rows.

    def given(self, name: str, columns: Mapping[str, TypeEngine[Any]], alike: frozenset[str]) -> Any:
        """Return JSON_TABLE of one JSON array, each member an array of what differs, beside what is alike."""
        differing = [label for label in columns if label not in alike]
        shown = [f"{name}_rows.`{label}`" for label in differing]
        shown += [f"{_cast(f':{name}_{label}', columns[label])} AS `{label}`" for label in columns if label in alike]
        rows = f" FROM {_json_table(name, {label: columns[label] for label in differing})}" if differing else ""
        binds = [bindparam(f"{name}_{label}", type_=columns[label]) for label in columns if label in alike]
        if differing:
            binds.append(bindparam(name, type_=Text()))
        typed = [column(label, columns[label]) for label in [*differing, *(each for each in columns if each in alike)]]
        return text(f"SELECT {', '.join(shown)}{rows}").bindparams(*binds).columns(*typed).subquery(name)

    def pack(self, name: str, columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Return the columns that differ as JSON text; a single list of values for `among` as it is."""
        if list(columns) == ["value"]:
            return {f"{name}_value": tuple(columns["value"]) or (None,)}
        if not columns:
            return {}
        if len(columns) == 1:
            return {name: _encode(next(iter(columns.values()))).decode()}
        return {name: _encode(list(zip(*columns.values(), strict=True))).decode()}

    def one_of(self, column: ColumnElement[Any], ids: Select[Any]) -> ColumnElement[bool]:
        """Return a condition that nobody executes: see `change_picked`."""
        return column.in_(ids)

    def among(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        """Return `IN` of a list that the driver writes out."""
        return _in_list(column, f"{name}_value")

    def look_up(
        self,
        shown: Sequence[ColumnElement[Any]],
        given: FromClause,
        which: Sequence[ColumnElement[bool]],
        names: Mapping[str, ColumnElement[Any]],
        locked: bool,
    ) -> Select[Any]:
        """Return a join that begins with the given rows, and reads what is there now at any isolation level."""
        table = next(iter(names.values())).table
        equal = and_(*(column == given.c[name] for name, column in names.items()), *which)
        return self.joined(select(*shown), given, table, equal).with_for_update(read=not locked)

    def joined(
        self, found: Select[Any], given: FromClause, table: FromClause, match: ColumnElement[bool]
    ) -> Select[Any]:
        """Return a join that begins with the given rows."""
        return found.prefix_with("STRAIGHT_JOIN").join_from(given, table, match)

    def same(self, ours: ColumnElement[Any], theirs: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return that they are equal."""
        return ours == theirs

    # Writes, and what they answer.

    def insert(self, table: Table) -> Insert:
        """Return MySQL's INSERT."""
        return insert(table)

    def change(
        self,
        table: Table,
        which: Sequence[ColumnElement[bool]],
        values: Mapping[str, Any],
        returning: Sequence[ColumnElement[Any]] = (),
        given: FromClause | None = None,
    ) -> Executable:
        """Lock the rows, reading what they will be, and write them."""
        if not returning:
            return _Change(table, given, and_(*which), values)
        shown = [*self._changed(table, values, returning), *table.primary_key, self.now()]
        match = and_(*which)
        found = select(*shown).where(match) if given is None else self.joined(select(*shown), given, table, match)
        again = (
            [*which, self._is_found(table)] if given is not None and _refers_to(list(values.values()), given) else []
        )
        write = self._write(table, values, given if again else None, [_bound(each) for each in again])
        return self._locked(table, found.with_for_update(), write)

    def change_picked(
        self,
        table: Table,
        picked: Select[Any],
        which: Sequence[ColumnElement[bool]],
        values: Mapping[str, Any],
        returning: Sequence[ColumnElement[Any]],
    ) -> Executable:
        """Lock the rows that the query reads, reading what they will be, and write them."""
        shown = [*self._changed(table, values, returning), *table.primary_key, self.now()]
        return self._locked(table, picked.with_only_columns(*shown), self._write(table, values, None, []))

    def remove(
        self,
        table: Table,
        given: FromClause,
        names: Sequence[str],
        which: Sequence[ColumnElement[bool]] = (),
        returning: Sequence[ColumnElement[Any]] = (),
    ) -> Executable:
        """Lock the rows, reading what they are, and take them away."""
        match = and_(*(table.c[name] == given.c[name] for name in names), *which)
        if not returning:
            return _Remove(table, given, match)
        shown = [*returning, *table.primary_key, self.now()]
        found = self.joined(select(*shown), given, table, match)
        return self._locked(table, found.with_for_update(), self._taken_away(table))

    def remove_picked(
        self,
        table: Table,
        picked: Select[Any],
        which: Sequence[ColumnElement[bool]],
        returning: Sequence[ColumnElement[Any]] = (),
    ) -> Executable:
        """Lock the rows that the query reads, reading what they are, and take them away."""
        shown = [*returning, *table.primary_key, self.now()]
        if table in picked.get_final_froms():
            return self._locked(table, picked.with_only_columns(*shown), self._taken_away(table))
        keys = picked.subquery("picked")
        match = and_(*(ours == keys.c[ours.name] for ours in table.primary_key))
        return self._locked(
            table, self.joined(select(*shown), keys, table, match).with_for_update(), self._taken_away(table)
        )

    def _changed(
        self, table: Table, values: Mapping[str, Any], returning: Sequence[ColumnElement[Any]]
    ) -> list[ColumnElement[Any]]:
        """Return what is to be answered of rows, told by the values before they are changed."""
        new = {table.c[name]: value for name, value in values.items()}

        def replace(element: Any, **_: Any) -> Any:
            found = new.get(element) if isinstance(element, Column) else None
            return found.self_group() if isinstance(found, ClauseElement) else found

        return [replacement_traverse(each, {}, replace) for each in returning]

    def _write(
        self, table: Table, values: Mapping[str, Any], given: FromClause | None, which: Sequence[ColumnElement[bool]]
    ) -> _Change:
        told = {name: _bound(value) for name, value in values.items()}
        return _Change(table, given, and_(*(which or [self._is_found(table)])), told)

    def _taken_away(self, table: Table) -> _Remove:
        keys = list(table.primary_key)
        found = self.given(FOUND, {key.name: key.type for key in keys}, frozenset())
        return _Remove(table, found, and_(*(key == found.c[key.name] for key in keys)))

    def _is_found(self, table: Table) -> ColumnElement[bool]:
        (key,) = table.primary_key
        return _in_list(key, FOUND)

    def _locked(self, table: Table, lock: Select[Any], write: Any) -> Locked:
        return Locked(lock, write, len(table.primary_key), _listed if isinstance(write, _Change) else _packed)

    def add_free(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        only: ColumnElement[bool],
        returning: Sequence[ColumnElement[Any]],
        told_ids: bool,
    ) -> Executable:
        """Let a row whose key is held lock its holder, and leave that as it is."""
        id = added.table.c.id
        passing = added.on_duplicate_key_update(id=id)
        if told_ids or not returning:
            answered: Executable = passing.returning(*returning) if returning else passing
            return answered
        fresh = func.lastval(literal_column(_ids(added.table.name, added.table.schema)))
        return Kept(passing.returning(*returning, id == fresh))

    def add_new(self, table: Table, values: Mapping[str, ColumnElement[Any]], key: ColumnElement[Any]) -> Executable:
        """Look for the row, and add it if there is none: two at once end in a conflict, and the second looks again."""
        look = select(key).where(key == values[key.name]).with_for_update()
        return Adding(look, insert(table).values(dict(values)).returning(key))

    def put(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        new: Callable[[Any], Mapping[str, Any]],
        only: ColumnElement[bool] | None = None,
    ) -> Any:
        """Return it with ON DUPLICATE KEY UPDATE."""
        values = dict(new(added.inserted))
        if only is not None:
            values = {name: case((only, value), else_=added.table.c[name]) for name, value in values.items()}
        return added.on_duplicate_key_update(**values)

    def answer_put(self, put: Any, returning: Sequence[ColumnElement[Any]], written: ColumnElement[bool]) -> Executable:
        """Leave out the rows that were met but not written."""
        return Kept(put.returning(*returning, written))

    # Reads.

    def first(self, column: ColumnElement[Any], *which: ColumnElement[bool]) -> Select[Any]:
        """Return the first in the index: min() of rows that are not told by constants reads them all."""
        return select(column).where(*which).order_by(column).limit(const(1))

    def nulls_last(self, column: ColumnElement[Any], descending: bool = False) -> Sequence[ColumnElement[Any]]:
        """Order by whether it is null: that comes first by itself, and last only in descending order."""
        return [column.desc()] if descending else [column.is_(None), column]

    def below(
        self, query: Select[Any], id: ColumnElement[Any], bound: ColumnElement[Any], held: bool
    ) -> ColumnElement[Any]:
        """Compare the first of all with the bound: that is no constant, so rows from it on would all be looked at."""
        first = query.order_by(id).limit(const(1))
        first = first.with_for_update(read=True, skip_locked=True) if held else first
        return func.nullif(func.least(first.scalar_subquery(), bound), bound)

    def none_below(self, query: Select[Any], id: ColumnElement[Any], bound: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return that there is no first, or that it is not below."""
        return self.below(query, id, bound, held=False).is_(None)

    def in_group(self, rows: FromClause, grouped: bool) -> ColumnElement[bool]:
        """Return what the index of lines has; nothing without a due time is in it."""
        found: ColumnElement[bool] = rows.c.line == const(int(grouped))
        return found

    def live_key(self, rows: FromClause, live: ColumnElement[bool]) -> Keyed:
        """Return the column that is null unless the message is alive."""
        return rows.c.live_key, (rows.c.live_key.is_not(None),)

    def live_group(self, rows: FromClause, live: ColumnElement[bool]) -> Keyed:
        """Return the column that is null unless the message is alive."""
        return rows.c.live_group, ()

    def lent_group(self, rows: FromClause) -> Keyed:
        """Return the column that is null unless somebody has the message."""
        return rows.c.lent_group, ()

    def resting(self, rows: FromClause) -> tuple[ColumnElement[bool], ...]:
        """Return what the index of those that rest has."""
        return (rows.c.rests == const(1),)

    def stopped(self, rows: FromClause) -> tuple[ColumnElement[bool], ...]:
        """Return what the index of those that are stopped has."""
        return (rows.c.stopped == const(1),)

    def by_line(self, found: Select[Any], table: Table, grouped: bool) -> Select[Any]:
        """Name the index: whatever is read in another order has to be sorted, and all of it is locked."""
        return found.with_hint(table, f"FORCE INDEX ({table.name}_due)")

    def ended_lease(self, message: Table, attempts: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the failure of the attempt whose lease ended unsettled, as JSON text."""
        ended = func.date_format(message.c.leased_until, const("%Y-%m-%d %H:%i:%s"))
        said = func.concat(
            const("lease of "),
            message.c.leased_by,
            const(" ended at "),
            ended,
            const(" UTC, attempt "),
            message.c.attempts,
            const(" of "),
            func.coalesce(attempts, const("any number")),
        )
        return func.concat(
            const('{"message":'),
            func.json_quote(said),
            const(',"traceback":null,"type":"LeaseEnded"}'),
            type_=self.json,
        )

    def wake(self, waiting: Table, which: ColumnElement[bool], now: ColumnElement[Any], channel: str) -> None:
        """Nothing to do: consumers poll."""
        return

    def next_ids(self, message: Table, prefix: str, schema: str | None) -> Executable:
        """Return values of the sequence, which belong to no transaction."""
        ids = _ids(message.name, schema)
        numbers = "JSON_TABLE(CONCAT('[0', REPEAT(',0', :count - 1), ']'), '$[*]' COLUMNS (n INT PATH '$')) AS numbers"
        query = text(f"SELECT NEXTVAL({ids}) AS id FROM {numbers}")  # noqa: S608 - of names that were checked
        return query.bindparams(bindparam("count", type_=Integer())).columns(column("id", BigInteger))

    # The tables.

    def id_column(self, prefix: str, schema: str | None) -> Column[int]:
        """Return a column whose default is the next value of a sequence of its own."""
        default = text(f"NEXTVAL({_ids(f'{prefix}message', schema)})")
        return Column("id", BigInteger, primary_key=True, autoincrement=False, server_default=default)

    def number_column(self) -> Column[int]:
        """Return a column that numbers the rows of its table by itself."""
        return Column("id", BigInteger, primary_key=True, autoincrement=True)

    def ddl(self, statement: Any) -> Any:
        """Let it run again, since each is final by itself; and have the tables compare text as the promises need it."""
        if isinstance(statement, CreateTable | CreateIndex):
            statement.if_not_exists = True
        if isinstance(statement, CreateTable):
            options = {"mysql_engine": "InnoDB", "mysql_default_charset": "utf8mb4", "mysql_collate": BYTEWISE}
            statement.element.kwargs.update(options)
        return statement

    def table_exists(self, table: Table) -> Executable:
        """Return a row if the database has the table."""
        known = TableClause("tables", column("table_schema"), column("table_name"), schema="information_schema")
        return select(literal_column("1")).where(
            known.c.table_schema == self._schema(table), known.c.table_name == table.name
        )

    def migration_lock(self, prefix: str) -> Executable:
        """Return a lock of the session; a change of the schema ends the transaction."""
        return select(func.get_lock(self._lock(prefix, "migrate"), const(3_600)))

    def migration_unlock(self, prefix: str) -> Executable:
        """Return what gives it back."""
        return select(func.release_lock(self._lock(prefix, "migrate")))

    def index_lock(self, prefix: str) -> tuple[Executable, Executable]:
        """Return a lock of the session."""
        name = self._lock(prefix, "index")
        return select(func.get_lock(name, const(0))), select(func.release_lock(name))

    def _lock(self, prefix: str, what: str) -> ColumnElement[Any]:
        return func.concat(func.coalesce(func.database(), const("")), const(f".{prefix}{what}"))

    def _schema(self, table: Table) -> ColumnElement[Any]:
        return func.database() if table.schema is None else literal(table.schema, Text())

    def prelude(self, prefix: str, schema: str | None) -> Sequence[ExecutableDDLElement]:
        """Return the database, and the sequence of ids."""
        ids: Any = text(f"CREATE SEQUENCE IF NOT EXISTS {_ids(f'{prefix}message', schema)} CACHE 1000")
        return [*([CreateSchema(schema, if_not_exists=True)] if schema else []), ids]

    def server(self) -> Executable:
        """Ask for the version, and for what READ COMMITTED needs."""
        asked = ("VERSION()", "@@log_bin", "@@binlog_format")
        return select(*(literal_column(each).label(f"asked_{number}") for number, each in enumerate(asked)))

    def check_server(self, row: Sequence[Any]) -> None:
        """Raise unless it is MariaDB 10.6 or later that logs rows."""
        version, logs, log_format = str(row[0]), row[1], str(row[2])
        numbers = tuple(map(int, re.findall(r"\d+", version.removeprefix("5.5.5-"))[:2]))
        if "mariadb" not in version.lower():
            raise ConfigurationError(f"this server is MySQL {version}, for which duerow has no store yet: use MariaDB")
        if numbers < OLDEST:
            raise ConfigurationError(f"this server is MariaDB {version}; duerow needs 10.6 or later, for SKIP LOCKED")
        if logs and log_format.upper() == "STATEMENT":
            raise ConfigurationError(
                "this server has binlog_format=STATEMENT, with which InnoDB refuses writes at READ COMMITTED; "
                "set binlog_format to MIXED or ROW"
            )

    # Transactions and errors.

    def mark(self, connection: Connection, mark: str, own: bool) -> None:
        """Set a savepoint, which is gone with its transaction."""
        connection.exec_driver_sql(f"SAVEPOINT duerow_{mark}")

    def marked(self, connection: Connection, mark: str, own: bool) -> bool:
        """Release the savepoint; return whether there was one."""
        try:
            connection.exec_driver_sql(f"RELEASE SAVEPOINT duerow_{mark}")
        except DBAPIError as error:
            if _code(error.orig) != _NO_SAVEPOINT:
                raise
            return False
        return True

    def restore(self, connection: Connection, own: bool) -> None:
        """Nothing to do: the savepoint was gone with the transaction."""

    def outwaited(self, error: BaseException) -> Conflict | None:
        """Return None: here transactions write beside each other."""
        return None

    def arrow(self, url: URL) -> ArrowWay | None:
        """Return None: no driver gives its rows as Arrow."""
        return None

    def explain(self, error: BaseException) -> DuerowError | None:
        """Return duerow's error for a driver's, by its number."""
        module = type(error).__module__.partition(".")[0]
        if module not in ("pymysql", "asyncmy", "MySQLdb", "sqlalchemy"):
            return None
        code = _code(error)
        if code is None:
            lost = type(error).__name__ in ("InterfaceError", "OperationalError", "InternalError")
            return StoreUnavailable(f"the connection to MariaDB failed: {error}") if lost else StoreRefused(str(error))
        if code in CONFLICTS:
            return Conflict(f"MariaDB ended this transaction in favour of another one (error {code}): {error}")
        if code == _CLOSED:
            return StoreUnavailable("the connection to MariaDB was closed")
        if code in UNAVAILABLE:
            return StoreUnavailable(f"MariaDB is not available (error {code}): {error}")
        if code in _NO_TABLES:
            return SchemaOutdated(
                f"duerow's tables are not there as this version needs them (error {code}): {error}; run migrate"
            )
        if code in _FORBIDDEN:
            return ConfigurationError(f"MariaDB does not let this user do that (error {code}): {error}")
        if code == _TOO_LARGE:
            return StoreRefused(f"a statement is larger than the server's max_allowed_packet (error {code}): {error}")
        return StoreRefused(f"MariaDB refused a statement (error {code}): {error}")


_CLOSED: Final = 0
_NO_SAVEPOINT: Final = 1305
_TOO_LARGE: Final = 1153


def _code(error: BaseException | None) -> int | None:
    """Return the number of a driver's error."""
    code = error.args[0] if error is not None and error.args else None
    return code if isinstance(code, int) else None


def _is_finite(value: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return whether a float can hold a JSON number: of one that is too large MariaDB makes the largest float."""
    largest: ColumnElement[Any] = literal_column(_LARGEST)
    written = [const(sign + _LARGEST) for sign in ("", "-")]
    return or_(func.abs(_Float(value)) < largest, value.in_(written))


def _in_utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC)


def _in_list(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    """Return that a column is one of a tuple of values, which the driver writes out with its parentheses."""
    return column.op("IN", is_comparison=True)(bindparam(name, type_=column.type, required=True))


def _listed(keys: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Return single keys as the driver writes them out: IN of a list is read by the index that is named."""
    return tuple(key for (key,) in keys)


def _packed(keys: Sequence[Sequence[Any]]) -> str:
    """Return keys as JSON: a DELETE takes no hint, and would rather read a small table, and lock all of it."""
    return _encode([key[0] if len(key) == 1 else key for key in keys]).decode()


def _ids(table: str, schema: str | None) -> str:
    """Return the name of the sequence that numbers the rows of a table."""
    name = f"`{table}_id`"
    return name if schema is None else "`" + schema.replace("`", "``") + "`." + name


def _step(name: str) -> str:
    """Return a name as a step of a JSON path, in which it is written as in JSON."""
    return f".{_encode(name).decode()}"


def _json_table(name: str, columns: Mapping[str, TypeEngine[Any]]) -> str:
    """Return the members of a bound JSON array as rows; a single column needs no arrays within the array."""
    paths = ["$"] if len(columns) == 1 else [f"$[{place}]" for place in range(len(columns))]
    typed = ", ".join(
        f"`{label}` {_type(label, columns[label])} PATH '{path}'" for label, path in zip(columns, paths, strict=True)
    )
    return f"JSON_TABLE(:{name}, '$[*]' COLUMNS ({typed})) AS {name}_rows"


def _type(label: str, kind: TypeEngine[Any]) -> str:
    """Return a type for a column of JSON_TABLE, which would cut a text that is longer."""
    if isinstance(kind, Text | VARCHAR):
        size = f"VARCHAR({LONGEST_WORD})" if label in _WORDS else "LONGTEXT"
        return f"{size} CHARACTER SET utf8mb4 COLLATE {BYTEWISE}"
    if isinstance(kind, DATETIME):
        return "DATETIME(6)"
    return "BIGINT"


def _cast(bound: str, kind: TypeEngine[Any]) -> str:
    """Return a bound value as a column of its type."""
    if isinstance(kind, Text | VARCHAR):
        return f"CONVERT({bound} USING utf8mb4) COLLATE {BYTEWISE}"
    return f"CAST({bound} AS {'DATETIME(6)' if isinstance(kind, DATETIME) else 'SIGNED'})"
