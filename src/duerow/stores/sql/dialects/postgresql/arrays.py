"""Rows of bound values as arrays, one per column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    ColumnElement,
    Select,
    Text,
    any_,
    bindparam,
    cast,
    func,
    select,
)
from sqlalchemy.types import TypeEngine

from duerow.stores.sql.dialects.base.given_rows import GivenRows

_SEPARATOR = "\x1f"


class PostgresArrays(GivenRows):
    """Rows of bound values as arrays, one per column."""

    def given(self, name: str, columns: Mapping[str, TypeEngine[Any]], alike: frozenset[str]) -> Any:
        """Return unnest of one array per column whose values differ, and the shared values."""
        differing = {label: kind for label, kind in columns.items() if label not in alike}
        same = [
            cast(bindparam(f"{name}_{label}", type_=columns[label]), columns[label]).label(label)
            for label in columns
            if label in alike
        ]
        if not differing:
            return select(*same).subquery(name)
        # In a list of columns, the rows are made one at a time; in FROM, they would all be stored first.
        rows = select(
            *(
                func.unnest(_array_of(f"{name}_{label}", kind), type_=kind).label(label)
                for label, kind in differing.items()
            )
        )
        if not same:
            return rows.subquery(name)
        unnested = rows.subquery(f"{name}_rows")  # on its own, so that the planner sees the other values as constants
        return select(*unnested.c, *same).subquery(name)

    def pack(self, name: str, columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Return one array literal per column: for thousands of values, that is far faster than the drivers' arrays."""
        return {f"{name}_{label}": _literal(values) for label, values in columns.items()}

    def one_of(self, column: ColumnElement[Any], ids: Select[Any]) -> ColumnElement[bool]:
        """Return `= ANY (ARRAY(…))`, which always uses the column's index; evaluated only once, so its limit holds."""
        return column == any_(func.array(ids.scalar_subquery(), type_=ARRAY(BigInteger)))

    def one_of_rows(self, columns: Sequence[ColumnElement[Any]], found: Select[Any]) -> list[ColumnElement[bool]]:
        """Return a join with a WITH query, which is evaluated once because it locks; rows are found by primary key."""
        due = found.cte("due")
        return [column == picked for column, picked in zip(columns, due.c, strict=True)]

    def among(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        """Return `= ANY (array)`: for `IN (SELECT …)`, PostgreSQL may read a whole index and compare each entry.

        Without an index, every row is compared. A subquery then reads the array once, because reading it for each row
        would take as long as reading the row.
        """
        values = _array_of(f"{name}_value", column.type)
        if not isinstance(column, Column):
            values = cast(select(values).scalar_subquery(), ARRAY(column.type))
        return column == any_(values)


def _array_of(name: str, kind: TypeEngine[Any]) -> ColumnElement[Any]:
    """Return a bound array literal as an array."""
    return cast(cast(bindparam(name, type_=Text()), Text), ARRAY(kind))


def _literal(values: Sequence[Any]) -> str:
    """Return values as the text of a PostgreSQL array."""
    kinds = set(map(type, values))
    if kinds <= {int}:
        return "{" + ",".join(map(str, values)) + "}"
    if kinds == {str}:
        joined = _SEPARATOR.join(values)
        if joined.count(_SEPARATOR) == len(values) - 1:
            return '{"' + _escaped(joined).replace(_SEPARATOR, '","') + '"}'
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: Any) -> str:
    return "NULL" if value is None else f'"{_escaped(str(value))}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
