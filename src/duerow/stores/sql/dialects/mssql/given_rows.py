"""Rows of bound values in T-SQL: one bound JSON text, which OPENJSON reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    FromClause,
    Integer,
    Select,
    SmallInteger,
    Text,
    bindparam,
    column,
    literal_column,
    select,
    text,
)
from sqlalchemy.dialects.mssql import DATETIME2, NVARCHAR
from sqlalchemy.types import TypeEngine

from duerow.stores.sql.dialects.base import JsonText
from duerow.stores.sql.dialects.base.given_rows import GivenRows
from duerow.stores.sql.dialects.base.json_values import encode_json
from duerow.stores.sql.dialects.mssql.compiler import BYTEWISE, NTH, Word
from duerow.stores.sql.dialects.mssql.keys import is_users, typed

_LIST: Final = Text()


class TsqlRows(GivenRows):
    """Rows of bound values in T-SQL: one bound JSON text, which OPENJSON reads."""

    def given(self, name: str, columns: Mapping[str, TypeEngine[Any]], alike: frozenset[str]) -> Any:
        """Return OPENJSON of one bound array of rows, and the shared values: the array is one of 2,100 parameters."""
        differing = [label for label in columns if label not in alike]
        shown = ["CAST(line.[key] AS INT) AS nth" if differing else "1 AS nth"]
        shown += [_given(f"cell.[{label}]", label, columns[label]) for label in differing]
        shown += [_alike(f":{name}_{label}", label, columns[label]) for label in columns if label in alike]
        rows = f" FROM {_json_rows(name, {label: columns[label] for label in differing})}" if differing else ""
        binds = [bindparam(f"{name}_{label}", type_=columns[label]) for label in columns if label in alike]
        if differing:
            binds.append(bindparam(name, type_=_LIST))
        typed = [column(label, columns[label]) for label in [*differing, *(each for each in columns if each in alike)]]
        query = text(f"SELECT {', '.join(shown)}{rows}")
        return query.bindparams(*binds).columns(column(NTH, Integer()), *typed).subquery(name)

    def pack(self, name: str, columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Return the columns that differ as JSON text: an array of rows, or a single list of values for `among`."""
        if list(columns) == ["value"]:
            return {f"{name}_value": encode_json(list(columns["value"])).decode()}
        return {name: encode_json(list(zip(*columns.values(), strict=True))).decode()} if columns else {}

    def among(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        """Return an `IN` condition on the values of a bound array."""
        value = _given("[value]", "value", column.type)
        query = text(f"SELECT {value} FROM OPENJSON(CAST(:{name}_value AS NVARCHAR(MAX)))")  # noqa: S608 - built from duerow's own names
        listed = query.bindparams(bindparam(f"{name}_value", type_=_LIST)).columns(literal_column("value", column.type))
        return column.in_(select(listed.subquery(f"{name}_listed").c.value))

    def joined(
        self, found: Select[Any], given: FromClause, table: FromClause, match: ColumnElement[bool]
    ) -> Select[Any]:
        """Return a join in which each row of the table is looked up."""
        return found.join_from(given, table, match).with_hint(table, "FORCESEEK")


def _json_rows(name: str, columns: Mapping[str, TypeEngine[Any]]) -> str:
    """Return the rows of a bound JSON array, each an array of cells, with their numbers."""
    typed = ", ".join(
        f"[{label}] {'NVARCHAR(4000)' if is_users(label, kind) else _read_as(kind)} '$[{place}]'"
        for place, (label, kind) in enumerate(columns.items())
    )
    return f"OPENJSON(CAST(:{name} AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ({typed}) AS cell"


def _read_as(kind: TypeEngine[Any]) -> str:
    """Return the type with which a cell is read."""
    match kind:
        case Word():
            return "NVARCHAR(4000)"
        case DATETIME2():
            return "DATETIME2(6)"
        case Boolean():
            return "BIT"
        case BigInteger():
            return "BIGINT"
        case SmallInteger():
            return "SMALLINT"
        case Integer():
            return "INT"
    return "NVARCHAR(MAX)"


def _given(cell: str, label: str, kind: TypeEngine[Any]) -> str:
    """Return a cell as a column of its type."""
    if is_users(label, kind):
        return f"{typed(cell, kind)} AS [{label}]"
    if isinstance(kind, Word):
        return f"CAST(CAST({cell} AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [{label}]"
    if label == "value" and isinstance(kind, Integer):
        return f"CAST({cell} AS {_read_as(kind)}) AS [{label}]"
    if isinstance(kind, Text | NVARCHAR | JsonText):  # otherwise two collations would conflict
        return f"{cell} COLLATE {BYTEWISE} AS [{label}]"
    return f"{cell} AS [{label}]"


def _alike(placeholder: str, label: str, kind: TypeEngine[Any]) -> str:
    """Return the value of a column that is the same in all rows."""
    return f"{typed(placeholder, kind) if is_users(label, kind) else placeholder} AS [{label}]"
