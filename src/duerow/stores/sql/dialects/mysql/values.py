"""How values are passed to MySQL and MariaDB: time, text, JSON and rows of bound values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Date,
    DateTime,
    Double,
    FromClause,
    Numeric,
    Select,
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
    text,
    tuple_,
)
from sqlalchemy.dialects.mysql import DATETIME, VARCHAR
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import NullType, TypeDecorator, TypeEngine

from duerow.clock import FIRST
from duerow.store import IndexKind
from duerow.stores.sql.dialects.base import LONGEST_KEY, Member, const
from duerow.stores.sql.dialects.base.given_rows import GivenRows
from duerow.stores.sql.dialects.base.json_values import encode_json
from duerow.stores.sql.dialects.base.payload_indexes import PayloadIndexes
from duerow.stores.sql.dialects.mysql.server import BYTEWISE

LONGEST_WORD: Final = 255

_INTEGER = "^-?[0-9]{1,19}$"
_LEAST_INTEGER, _MOST_INTEGER = "-9223372036854775808", "9223372036854775807"


_LARGEST = "1.7976931348623157e308"


MOMENT: Final = DATETIME(fsp=6)


NTH: Final = "nth_given"
"""The column of given rows that numbers them from 1, in their order."""

_WORDS: Final = frozenset(("queue", "key", "group", "correlation", "process", "name"))
"""Columns of given rows that are used to look up rows; their values are as short as a word."""


class MySqlNow(FunctionElement[datetime]):
    """The server's time at the start of the statement."""

    type = MOMENT
    inherit_cache = True


@compiles(MySqlNow)
def _write_now(element: MySqlNow, compiler: Any, **kw: Any) -> str:
    return "UTC_TIMESTAMP(6)"


class AsFloat(FunctionElement[float]):
    """A value as a float; SQLAlchemy does not know that these databases support the cast."""

    type = Double()
    inherit_cache = True


@compiles(AsFloat)
def _write_float(element: AsFloat, compiler: Any, **kw: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **kw)} AS DOUBLE)"


class MySqlValues(GivenRows, PayloadIndexes):
    """How values are passed to both databases: time, text, JSON and rows of bound values.

    Attributes:
        numbers_given: whether given rows have their position in the column NTH.
    """

    numbers_given = False

    # Time, text and JSON.

    def now(self) -> ColumnElement[Any]:
        """Return the time when the statement began, in UTC whatever the session's time zone is."""
        return MySqlNow()

    def told(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the moment with a cast: drivers bind it as text."""
        return cast(moment, MOMENT)

    def later(self, moment: ColumnElement[Any], span: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a moment that is later by a span."""
        return func.timestampadd(literal_column("MICROSECOND"), span, moment, type_=MOMENT)

    def microseconds(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the number of microseconds since 1970."""
        return func.timestampdiff(literal_column("MICROSECOND"), const("1970-01-01"), moment, type_=BigInteger())

    def member(self, document: ColumnElement[Any], names: Sequence[str]) -> Member:
        """Look up the path with JSON_EXTRACT; text that is not JSON, or is nested too deep, has no members."""
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
        """Return the value if it is of this kind."""
        found = self.member(document, names)
        match kind:
            case "text":
                return func.left(found.text, const(LONGEST_KEY))
            case "boolean":
                return found.boolean
        is_number = func.json_type(found.json, type_=Text()).in_([const("INTEGER"), const("DOUBLE")])
        return case((is_number, AsFloat(found.json)))

    def real(self, value: float) -> ColumnElement[Any]:
        """Return a bound DOUBLE."""
        return AsFloat(literal(value, Double()))

    def like(self, text: ColumnElement[Any], pattern: str) -> ColumnElement[bool]:
        """Return LIKE with an escape character that works in every session mode."""
        escaped = re.sub(r"\\(.)|\|", lambda found: f"|{found[1] or '|'}", pattern, flags=re.DOTALL)
        return text.like(literal(escaped, Text()), escape="|")

    def write_moment(self, moment: datetime | None) -> str | None:
        """Return the moment in UTC as text, the form for drivers and JSON."""
        return None if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")

    def read_moment(self, value: Any) -> datetime | None:
        """Return the moment in UTC, as it is stored; drivers return an impossible date such as `0000-00-00` as text."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if isinstance(value, datetime) else FIRST

    # Given rows.

    def given(self, name: str, columns: Mapping[str, TypeEngine[Any]], alike: frozenset[str]) -> Any:
        """Return JSON_TABLE of one JSON array, with an array per row of the values that differ, and shared values."""
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
        """Return the members of a bound JSON array as rows; a single column needs no nested arrays."""
        paths = ["$"] if len(columns) == 1 else [f"$[{place}]" for place in range(len(columns))]
        typed = [
            f"`{label}` {self._type(label, columns[label])} PATH '{path}'"
            for label, path in zip(columns, paths, strict=True)
        ]
        typed += [f"{NTH} FOR ORDINALITY"] if self.numbers_given else []
        return f"JSON_TABLE(:{name}, '$[*]' COLUMNS ({', '.join(typed)})) AS {name}_rows"

    def _type(self, label: str, kind: TypeEngine[Any]) -> str:
        """Return a type for a column of JSON_TABLE that is large enough, because JSON_TABLE truncates longer text."""
        kind = _plain(kind)
        if isinstance(kind, Uuid):
            return "VARCHAR(36) CHARACTER SET ascii"  # converted to the compared column's character set
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
        """Return a single list of values for `among` unchanged, and everything else as JSON."""
        if list(columns) == ["value"]:
            return {f"{name}_value": tuple(columns["value"]) or (None,)}
        return super().pack(name, columns)

    def among(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        """Return an `IN` condition with a list that the driver writes out."""
        return in_list([column], f"{name}_value")

    def look_up(
        self,
        shown: Sequence[ColumnElement[Any]],
        given: FromClause,
        which: Sequence[ColumnElement[bool]],
        names: Mapping[str, ColumnElement[Any]],
        locked: bool,
    ) -> Select[Any]:
        """Return a join that starts with the given rows, and reads the latest state at any isolation level."""
        return super().look_up(shown, given, which, names, False).with_for_update(read=not locked)

    def joined(
        self, found: Select[Any], given: FromClause, table: FromClause, match: ColumnElement[bool]
    ) -> Select[Any]:
        """Return a join that starts with the given rows."""
        return found.prefix_with("STRAIGHT_JOIN").join_from(given, table, match)


def _is_finite(value: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return whether a float can hold a JSON number: MariaDB turns larger ones into the largest float."""
    largest: ColumnElement[Any] = literal_column(_LARGEST)
    written = [const(sign + _LARGEST) for sign in ("", "-")]
    return or_(func.abs(AsFloat(value)) < largest, value.in_(written))


def in_list(columns: Sequence[ColumnElement[Any]], name: str) -> ColumnElement[bool]:
    """Return the condition that columns equal one of several values or rows, which the driver writes out."""
    whole: ColumnElement[Any] = columns[0] if len(columns) == 1 else tuple_(*columns)
    return whole.op("IN", is_comparison=True)(bindparam(name, type_=NullType(), required=True))


def _at(document: ColumnElement[Any], names: Sequence[str]) -> ColumnElement[Any]:
    """Return the value at a path."""
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
    """Return a member by the position of its name: MariaDB rejects paths with names that start with a minus sign."""
    names = collate(func.json_keys(document, type_=Text()), BYTEWISE)
    sought = re.sub("[!%_]", r"!\g<0>", name)
    place = func.json_unquote(func.json_search(names, const("one"), literal(sought, Text()), const("!")))
    return func.json_extract(_extracted(document, ".*"), place, type_=Text())


def step(name: str) -> str:
    """Return a name as a step of a JSON path, quoted as in JSON."""
    return f".{encode_json(name).decode()}"


def _plain(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    """Return the type that stores a primary key column of a user's own type."""
    while isinstance(kind, TypeDecorator):
        kind = kind.impl_instance
    return kind


def _of_bound(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    """Return the type of a value that is already in the database's form."""
    return Text() if isinstance(kind, TypeDecorator | Uuid) else kind
