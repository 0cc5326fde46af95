"""How MySQL and MariaDB are given values: time, text, JSON and rows of bound values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Date,
    DateTime,
    Double,
    FromClause,
    Numeric,
    Select,
    Table,
    Text,
    Uuid,
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
    tuple_,
)
from sqlalchemy.dialects.mysql import DATETIME, VARCHAR
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import NullType, TypeDecorator, TypeEngine

from duerow.clock import FIRST, span
from duerow.store import IndexKind, Record, examined
from duerow.stores.sql.dialects.base import LONGEST_KEY, Member, const, decode_json
from duerow.stores.sql.dialects.mysql.server import BYTEWISE

LONGEST_WORD: Final = 255

_MOMENTS: Final = (9, 10, 14, 15, 16)


encode = msgspec.json.Encoder().encode


_INTEGER = "^-?[0-9]{1,19}$"
_LEAST_INTEGER, _MOST_INTEGER = "-9223372036854775808", "9223372036854775807"


_LARGEST = "1.7976931348623157e308"


MOMENT: Final = DATETIME(fsp=6)


NTH: Final = "nth_given"
"""The column of given rows that numbers them from 1, in their order."""

_WORDS: Final = frozenset(("queue", "key", "group", "correlation", "process", "name"))
"""Columns of given rows by which rows are looked up; their values are as short as a word."""


class MySqlNow(FunctionElement[datetime]):
    """The time of the server at the beginning of the statement."""

    type = MOMENT
    inherit_cache = True


@compiles(MySqlNow)
def _write_now(element: MySqlNow, compiler: Any, **kw: Any) -> str:
    return "UTC_TIMESTAMP(6)"


class AsFloat(FunctionElement[float]):
    """A value as a float; SQLAlchemy does not know that these databases cast to it."""

    type = Double()
    inherit_cache = True


@compiles(AsFloat)
def _write_float(element: AsFloat, compiler: Any, **kw: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **kw)} AS DOUBLE)"


class Values:
    """The half of the dialect that is about single values.

    Attributes:
        bytewise: the collation that compares text byte for byte.
        numbers_given: whether given rows have their place in NTH.
    """

    bytewise = BYTEWISE
    numbers_given = False
    compares_rows = True
    dropping: Mapping[str, Any] = {}

    # Time, text and JSON.

    def now(self) -> ColumnElement[Any]:
        """Return the time at which the statement began, in UTC whatever the session's time zone is."""
        return MySqlNow()

    def clock(self) -> ColumnElement[Any]:
        """Return the same."""
        return self.now()

    def told(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return it cast: drivers bind a moment as text."""
        return cast(moment, MOMENT)

    def later(self, moment: ColumnElement[Any], span: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a moment so much later."""
        return func.timestampadd(literal_column("MICROSECOND"), span, moment, type_=MOMENT)

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
        value = _at(document, names)
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
            real=case((is_whole, null()), (and_(is_number, _is_finite(value)), AsFloat(value))),
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
        return case((is_number, AsFloat(found.json)))

    def key_of(self, number: int | float) -> ColumnElement[Any]:
        """Return the float next to it."""
        return self.real(float(number))

    def real(self, value: float) -> ColumnElement[Any]:
        """Return a bound DOUBLE."""
        return AsFloat(literal(value, Double()))

    def like(self, text: ColumnElement[Any], pattern: str) -> ColumnElement[bool]:
        """Return LIKE with an escape character that no mode of a session takes away."""
        escaped = re.sub(r"\\(.)|\|", lambda found: f"|{found[1] or '|'}", pattern, flags=re.DOTALL)
        return text.like(literal(escaped, Text()), escape="|")

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
        """Return the moment in UTC, as it is kept; a day that no calendar has, as `0000-00-00`, comes as text."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if isinstance(value, datetime) else FIRST

    def sound(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Return that they are: a column holds what its type says."""
        return True

    def moment_reader(self, value: Any) -> Callable[[Any], Any] | None:
        """Return what says that it is in UTC."""
        return _in_utc

    def record(self, row: Sequence[Any]) -> Record:
        """Return the row as a record, its moments in UTC."""
        values = list(row)
        for place in _MOMENTS:
            values[place] = self.read_moment(values[place])
        return examined(values)

    # Given rows.

    def given(self, name: str, columns: Mapping[str, TypeEngine[Any]], alike: frozenset[str]) -> Any:
        """Return JSON_TABLE of one JSON array, each member an array of what differs, beside what is alike."""
        differing = [label for label in columns if label not in alike]
        shown = [f"{name}_rows.`{label}`" for label in differing]
        shown += [
            f"{self._cast(f':{name}_{label}', columns[label])} AS `{label}`" for label in columns if label in alike
        ]
        rows = f" FROM {self._json_table(name, {label: columns[label] for label in differing})}" if differing else ""
        binds = [bindparam(f"{name}_{label}", type_=_of_bound(columns[label])) for label in columns if label in alike]
        if differing:
            binds.append(bindparam(name, type_=Text()))
        typed = [column(label, columns[label]) for label in [*differing, *(each for each in columns if each in alike)]]
        if self.numbers_given:
            shown.append(f"{name}_rows.{NTH}" if differing else f"1 AS {NTH}")
            typed.append(column(NTH, BigInteger))
        return text(f"SELECT {', '.join(shown)}{rows}").bindparams(*binds).columns(*typed).subquery(name)

    def _json_table(self, name: str, columns: Mapping[str, TypeEngine[Any]]) -> str:
        """Return the members of a bound JSON array as rows; a single column needs no arrays within the array."""
        paths = ["$"] if len(columns) == 1 else [f"$[{place}]" for place in range(len(columns))]
        typed = [
            f"`{label}` {self._type(label, columns[label])} PATH '{path}'"
            for label, path in zip(columns, paths, strict=True)
        ]
        typed += [f"{NTH} FOR ORDINALITY"] if self.numbers_given else []
        return f"JSON_TABLE(:{name}, '$[*]' COLUMNS ({', '.join(typed)})) AS {name}_rows"

    def _type(self, label: str, kind: TypeEngine[Any]) -> str:
        """Return a type for a column of JSON_TABLE, which would cut a text that is longer."""
        kind = _plain(kind)
        if isinstance(kind, Uuid):
            return "VARCHAR(36) CHARACTER SET ascii"  # gives way to whatever the column is that it is compared with
        if isinstance(kind, Date):
            return "DATE"
        if isinstance(kind, Text | VARCHAR):
            size = f"VARCHAR({LONGEST_WORD})" if label in _WORDS else "LONGTEXT"
            return f"{size} CHARACTER SET utf8mb4 COLLATE {self.bytewise}"
        if isinstance(kind, DateTime):
            return "DATETIME(6)"
        return "BIGINT"

    def _cast(self, bound: str, kind: TypeEngine[Any]) -> str:
        """Return a bound value as a column of its type."""
        kind = _plain(kind)
        if isinstance(kind, Uuid):
            return f"CONVERT({bound} USING ascii)"
        if isinstance(kind, Text | VARCHAR):
            return f"CONVERT({bound} USING utf8mb4) COLLATE {self.bytewise}"
        if isinstance(kind, Date):
            return f"CAST({bound} AS DATE)"
        return f"CAST({bound} AS {'DATETIME(6)' if isinstance(kind, DateTime) else 'SIGNED'})"

    def pack(self, name: str, columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Return the columns that differ as JSON text; a single list of values for `among` as it is."""
        if list(columns) == ["value"]:
            return {f"{name}_value": tuple(columns["value"]) or (None,)}
        if not columns:
            return {}
        if len(columns) == 1:
            return {name: encode(next(iter(columns.values()))).decode()}
        return {name: encode(list(zip(*columns.values(), strict=True))).decode()}

    def one_of(self, column: ColumnElement[Any], ids: Select[Any]) -> ColumnElement[bool]:
        """Return a condition that nobody executes: see `change_picked`."""
        return column.in_(ids)

    def one_of_rows(self, columns: Sequence[ColumnElement[Any]], found: Select[Any]) -> list[ColumnElement[bool]]:
        """Return a condition that nobody executes: see `change_picked`."""
        return [tuple_(*columns).in_(found)]

    def locked(self, query: Select[Any], table: Table) -> Select[Any]:
        """Return it with FOR UPDATE."""
        return query.with_for_update(key_share=True, of=table)

    def among(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        """Return `IN` of a list that the driver writes out."""
        return in_list([column], f"{name}_value")

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


def _is_finite(value: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return whether a float can hold a JSON number: of one that is too large MariaDB makes the largest float."""
    largest: ColumnElement[Any] = literal_column(_LARGEST)
    written = [const(sign + _LARGEST) for sign in ("", "-")]
    return or_(func.abs(AsFloat(value)) < largest, value.in_(written))


def _in_utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC)


def in_list(columns: Sequence[ColumnElement[Any]], name: str) -> ColumnElement[bool]:
    """Return that columns are one of a tuple of values, or of rows, which the driver writes out with parentheses."""
    whole: ColumnElement[Any] = columns[0] if len(columns) == 1 else tuple_(*columns)
    return whole.op("IN", is_comparison=True)(bindparam(name, type_=NullType(), required=True))


def _at(document: ColumnElement[Any], names: Sequence[str]) -> ColumnElement[Any]:
    """Return what a path leads to."""
    path = ""
    for name in names:
        if name.startswith("-"):
            document, path = _by_place(_extracted(document, path), name), ""
        else:
            path += step(name)
    return _extracted(document, path)


def _extracted(document: ColumnElement[Any], path: str) -> ColumnElement[Any]:
    return func.json_extract(document, literal(f"${path}", Text()), type_=Text())


def _by_place(document: ColumnElement[Any], name: str) -> ColumnElement[Any]:
    """Return a member by the place of its name: MariaDB takes a name that begins with - for a mistake in the path."""
    names = collate(func.json_keys(document, type_=Text()), BYTEWISE)
    sought = re.sub("[!%_]", r"!\g<0>", name)
    place = func.json_unquote(func.json_search(names, const("one"), literal(sought, Text()), const("!")))
    return func.json_extract(_extracted(document, ".*"), place, type_=Text())


def step(name: str) -> str:
    """Return a name as a step of a JSON path, in which it is written as in JSON."""
    return f".{encode(name).decode()}"


def _plain(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    """Return what a type of the user's, of a column of a primary key, is kept as."""
    while isinstance(kind, TypeDecorator):
        kind = kind.impl_instance
    return kind


def _of_bound(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    """Return the type of a value that is as the database takes it already."""
    return Text() if isinstance(kind, TypeDecorator | Uuid) else kind
