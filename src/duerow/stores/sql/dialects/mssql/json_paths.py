"""The value at a path in a JSON column, read with OPENJSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Double,
    Integer,
    Text,
    and_,
    case,
    cast,
    collate,
    column,
    func,
    literal,
    literal_column,
    select,
    try_cast,
)
from sqlalchemy.dialects.mssql import NVARCHAR

from duerow.stores.sql.dialects.base import Member, const
from duerow.stores.sql.dialects.base.json_values import decode_json, encode_json
from duerow.stores.sql.dialects.mssql.compiler import CODE_POINTS


def member(document: ColumnElement[Any], names: Sequence[str]) -> Member:
    """Look up the path with OPENJSON, which distinguishes kinds and truncates nothing; invalid JSON has no members.

    JSON_VALUE would return null for text of more than 4,000 characters, and the same value for "5" and 5.
    """
    kind, value = _looked_up(document, names, "type"), _looked_up(document, names, "value")
    is_number = kind == const(2)
    is_real = value.like(literal_column("N'%[.eE]%'"))
    whole = try_cast(value, BigInteger)
    return Member(
        absent=func.coalesce(kind, const(0)) == const(0),
        text=collate(case((kind == const(1), value)), CODE_POINTS),
        boolean=case((kind == const(3), value)),
        whole=case((and_(is_number, ~is_real), whole)),
        real=case((and_(is_number, is_real | whole.is_(None)), try_cast(value, Double))),
        json=cast(kind, NVARCHAR(1)).op("+")(literal_column("N':'")).op("+")(value).op("+")(literal_column("N'.'")),
    )


def read_json(value: Any) -> Any:
    """Return the value between its kind and a dot: without the dot, comparisons would ignore trailing spaces."""
    if value is None:
        return None
    kind, _, rest = str(value).partition(":")
    return rest[:-1] if kind == "1" else decode_json(rest[:-1])


def _looked_up(document: ColumnElement[Any], names: Sequence[str], what: str) -> Any:
    """Return the `type` or the `value` at a path; within an array, the document can be of any kind."""
    wrapped = func.concat(literal_column("N'['"), document, literal_column("N']'"), type_=Text())
    readable = case((func.isjson(wrapped, type_=Integer()) == const(1), wrapped), else_=literal_column("N'[]'"))
    steps = [
        "$",
        *("[0]" if not place else f".{encode_json(name).decode()}" for place, name in enumerate(("", *names))),
    ]
    path, last = ("$", "0") if not names else ("".join(steps[:-1]), names[-1])
    rows = func.openjson(readable, literal(path, Text())).table_valued(
        column("key", Text()), column("value", Text()), column("type", Integer()), name="member"
    )
    exact = rows.c.key.op("+")(literal_column("N'.'")) == literal(f"{last}.", Text())  # trailing spaces are significant
    found = select(rows.c[what]).where(exact)
    if names and last.isdigit():  # otherwise the index of an array element would match the name
        found = found.where(func.left(_bare_json(readable, path), const(1)) == literal_column("N'{'"))
    return found.limit(const(1)).correlate_except(rows).scalar_subquery()


def _bare_json(document: ColumnElement[Any], path: str) -> ColumnElement[Any]:
    found: Any = func.json_query(document, literal(path, Text()), type_=Text())
    for space in ("NCHAR(9)", "NCHAR(10)", "NCHAR(13)"):
        found = func.replace(found, literal_column(space), literal_column("N''"), type_=Text())
    return func.ltrim(found, type_=Text())
