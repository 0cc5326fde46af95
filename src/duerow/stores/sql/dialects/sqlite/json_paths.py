"""The value at a path in a JSON column, its form in an index, and how it is compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Text,
    and_,
    case,
    func,
    literal,
    literal_column,
    select,
)

from duerow.store import IndexKind
from duerow.stores.sql.dialects.base import LONGEST_KEY, Member, const
from duerow.stores.sql.dialects.base.json_values import decode_json, encode_json
from duerow.stores.sql.dialects.base.payload_indexes import PayloadIndexes

_ODD = re.compile(r"""["\\\x00-\x1f]""")
"""Characters that JSON escapes; versions of SQLite differ in how paths write them."""

_GLOB = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}


class SqliteJson(PayloadIndexes):
    """The value at a path in a JSON column, its form in an index, and how it is compared."""

    def member(self, document: ColumnElement[Any], names: Sequence[str]) -> Member:
        """Look up the path with json_extract, or with json_each if a path cannot express one of the names.

        Invalid JSON is skipped: the tables do not check the JSON of headers, and a manual write can bypass the check of
        its payload.
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
        """Extract the value if it is of this kind; SQLite compares integers and floats exactly."""
        path = const("$" + "".join(f'."{name}"' for name in names))
        type_, value = func.json_type(document, path, type_=Text()), func.json_extract(document, path)
        match kind:
            case "text":
                return case((type_ == const("text"), func.substr(value, const(1), const(LONGEST_KEY), type_=Text())))
            case "boolean":
                return case((type_.in_([const("true"), const("false")]), type_))
        return case((type_.in_([const("integer"), const("real")]), value))

    def key_of(self, number: int | float) -> ColumnElement[Any]:
        """Return an integer unchanged if it fits 64 bits, else a float."""
        if isinstance(number, int) and -(1 << 63) <= number < 1 << 63:
            return literal(number, BigInteger())
        return self.real(float(number))

    def real(self, value: float) -> ColumnElement[Any]:
        """Return a float that SQLite itself reads from JSON, as it does in payloads: its last bit may be wrong."""
        return func.json_extract(literal(encode_json(value).decode(), Text()), const("$"))

    def like(self, text: ColumnElement[Any], pattern: str) -> ColumnElement[bool]:
        """Return GLOB, because LIKE ignores case."""
        return text.op("GLOB", is_comparison=True)(literal(_glob(pattern), Text()))

    def read_json(self, value: Any) -> Any:
        """Return the first member of a list: SQLite returns extracted values as JSON only within a list."""
        return None if value is None else decode_json(value)[0]


def _extracted(
    document: ColumnElement[Any], names: Sequence[str]
) -> tuple[ColumnElement[Any], ColumnElement[Any], ColumnElement[Any]]:
    """Return the type, the value and the JSON of the value at a path."""
    path = literal("$" + "".join(f'."{name}"' for name in names), Text())
    return (
        func.json_type(document, path, type_=Text()),
        func.json_extract(document, path),
        func.json_extract(document, path, path),
    )


def _walked(
    document: ColumnElement[Any], names: Sequence[str]
) -> tuple[ColumnElement[Any], ColumnElement[Any], ColumnElement[Any]]:
    """As `_extracted`, descending from object to object by comparing member names."""
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
    """Return a member in a form that json_array keeps as an object, a list or a boolean."""
    words = case((member.type.in_([const("true"), const("false")]), func.json(member.type)))
    nested = case((member.type.in_([const("object"), const("array")]), func.json(member.value)))
    return func.coalesce(words, nested, member.value)


def _glob(pattern: str) -> str:
    """Convert a `like` pattern to a GLOB pattern."""
    characters = iter(pattern)
    parts = []
    for character in characters:
        meant = next(characters) if character == "\\" else None
        if meant is None:
            parts.append(_GLOB.get(character, character))
        else:
            parts.append(f"[{meant}]" if meant in "*?[" else meant)
    return "".join(parts)
