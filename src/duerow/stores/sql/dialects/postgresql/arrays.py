"""Rows of bound values as arrays, one per column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    BindParameter,
    Boolean,
    Column,
    ColumnElement,
    Delete,
    Select,
    Text,
    Update,
    any_,
    bindparam,
    cast,
    func,
    select,
)
from sqlalchemy import Dialect as SqlDialect
from sqlalchemy.dialects.postgresql import array
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.visitors import replacement_traverse
from sqlalchemy.types import NullType, TypeEngine

from duerow.stores.sql.dialects.base.given_rows import GivenRows, Spelling
from duerow.stores.sql.dialects.base.json_values import JsonText
from duerow.stores.sql.dialects.postgresql.array_values import (
    ArrayValue,
    BigIntArray,
    JsonArray,
    TextArray,
    literal,
    takes_array_values,
)

_TEXT: Final = frozenset((str, type(None)))


class PostgresArrays(GivenRows):
    """Rows of bound values as arrays, one per column."""

    def given(self, name: str, columns: Mapping[str, TypeEngine[Any]], alike: frozenset[str]) -> Any:
        """Return unnest of one array per column whose values differ, and the shared values.

        Arrays are read by subqueries, so that PostgreSQL plans a join without knowing how many rows there are: for
        thousands, it might read whole tables where duerow's settings for the planner are missing, and for a few, it
        would plan a prepared statement anew each time.
        """
        return _unnested(name, columns, alike, _array_of)

    def given_to_insert(self, name: str, columns: Mapping[str, TypeEngine[Any]], alike: frozenset[str]) -> Any:
        """Return the same with arrays as the driver sends them."""
        return _unnested(name, columns, alike, _sent_array_of)

    def pack(self, name: str, columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Return one array literal per column: for thousands of values, that is far faster than the drivers' arrays."""
        return {f"{name}_{label}": literal(values) for label, values in columns.items()}

    def pack_to_insert(
        self, name: str, columns: Mapping[str, Sequence[Any]], types: Mapping[str, TypeEngine[Any]]
    ) -> dict[str, Any]:
        """Return one array per column, if possible of a type that duerow sends in binary form."""
        return {f"{name}_{label}": _array(values, types[label]) for label, values in columns.items()}

    def spelling(self, driver: SqlDialect) -> Spelling | None:
        """Return a function that writes arrays as text, unless the driver takes them as they are."""
        return None if takes_array_values(driver) else _as_text

    def over(
        self,
        build: Callable[[Any], Executable],
        name: str,
        columns: Mapping[str, TypeEngine[Any]],
        alike: frozenset[str],
    ) -> Executable:
        """Return the statement; where only the key of the rows differs, it looks up an array of keys without a join."""
        given = self.given(name, columns, alike)
        statement: Any = build(given)
        differing = [label for label in columns if label not in alike]
        if not differing:  # one row, whose values the planner knows
            statement = replacement_traverse(statement, {}, partial(_plain, given))
        if len(differing) != 1 or not isinstance(statement, Update | Delete):
            return statement  # type: ignore[no-any-return]
        [key] = differing
        keys = _array_of(f"{name}_{key}", columns[key])
        shared = {given.c[label]: _shared(f"{name}_{label}", columns[label]) for label in columns if label in alike}
        joined = False

        def replace(element: Any, **_: Any) -> Any:
            nonlocal joined
            if isinstance(element, _Keyed) and element.theirs is given.c[key]:
                return element.ours == any_(keys)
            joined = joined or element is given or element is given.c[key]
            return shared.get(element)

        alone: Any = replacement_traverse(statement, {}, replace)
        return statement if joined else alone

    def keyed(self, key: ColumnElement[Any], given: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return `= ANY (ARRAY[…])`, for which PostgreSQL can only look up each of several rows in the index.

        For `=`, it may read the whole index and compare each row with the given ones. It does so after a vacuum of a
        table with few rows and many dead index entries, and then for each batch, until the table is analyzed.
        """
        return _Keyed(key, given)

    def any_of(self, column: ColumnElement[Any], values: Sequence[BindParameter[Any]]) -> ColumnElement[bool]:
        """Return `= ANY (array)`; a subquery makes the array once, and not for each row."""
        return column == any_(_unseen(cast(array(values), ARRAY(column.type))))

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
        values = _read(f"{name}_value", column.type)
        return column == any_(values if isinstance(column, Column) else _unseen(values))


def _unnested(
    name: str,
    columns: Mapping[str, TypeEngine[Any]],
    alike: frozenset[str],
    array_of: Callable[[str, TypeEngine[Any]], ColumnElement[Any]],
) -> Any:
    differing = {label: kind for label, kind in columns.items() if label not in alike}
    same = [_shared(f"{name}_{label}", columns[label]).label(label) for label in columns if label in alike]
    if not differing:
        return select(*same).subquery(name)
    # In a list of columns, the rows are made one at a time; in FROM, they would all be stored first.
    rows = select(
        *(func.unnest(array_of(f"{name}_{label}", kind), type_=kind).label(label) for label, kind in differing.items())
    )
    if not same:
        return rows.subquery(name)
    unnested = rows.subquery(f"{name}_rows")  # on its own, so that the planner sees the other values as constants
    return select(*unnested.c, *same).subquery(name)


def _shared(name: str, kind: TypeEngine[Any]) -> ColumnElement[Any]:
    """Return a bound value that all rows have."""
    return cast(bindparam(name, type_=kind), kind)


def _array_of(name: str, kind: TypeEngine[Any]) -> ColumnElement[Any]:
    """Return a bound array literal as an array of which the planner sees nothing."""
    return _unseen(_read(name, kind))


def _sent_array_of(name: str, kind: TypeEngine[Any]) -> ColumnElement[Any]:
    """Return a bound value of `pack_to_insert` as such an array."""
    return _unseen(cast(_Sent(bindparam(name, type_=NullType())), ARRAY(kind)))


def _read(name: str, kind: TypeEngine[Any]) -> ColumnElement[Any]:
    """Return a bound array literal as an array."""
    return cast(cast(bindparam(name, type_=Text()), Text), ARRAY(kind))


def _unseen(values: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return an array that is read once; the cast keeps `= ANY` from taking the subquery for one with many rows."""
    return cast(Unseen(values), values.type)


class Unseen(FunctionElement[Any]):
    """A subquery that only returns a value: the planner does not look into it."""

    inherit_cache = True

    def __init__(self, value: ColumnElement[Any]) -> None:
        super().__init__(value)
        self.type = value.type


@compiles(Unseen)
def _write_unseen(element: Unseen, compiler: Any, **kw: Any) -> str:
    [value] = element.clauses
    return f"(SELECT {compiler.process(value, **kw)})"


class _Keyed(FunctionElement[bool]):
    """Whether a row has the key of a given row."""

    inherit_cache = True
    type = Boolean()

    @property
    def ours(self) -> ColumnElement[Any]:
        return next(iter(self.clauses))

    @property
    def theirs(self) -> ColumnElement[Any]:
        return list(self.clauses)[1]


@compiles(_Keyed)
def _write_keyed(element: _Keyed, compiler: Any, **kw: Any) -> str:
    written: str = compiler.process(element.ours == any_(array([element.theirs])), **kw)
    return written


def _plain(given: Any, element: Any, **_: Any) -> Any:
    """Compare the key with `=` if it is one of the given row."""
    if isinstance(element, _Keyed) and element.theirs.table is given:
        return element.ours == element.theirs
    return None


class _Sent(FunctionElement[Any]):
    """A bound array as the driver sends it: as an array, or as text."""

    inherit_cache = True
    type = NullType()


@compiles(_Sent)
def _write_sent(element: _Sent, compiler: Any, **kw: Any) -> str:
    [bound] = element.clauses
    sent: str = compiler.process(bound, **kw)
    return sent if takes_array_values(compiler.dialect) else f"CAST({sent} AS TEXT)"


def _as_text(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: str(value) if isinstance(value, ArrayValue) else value for name, value in values.items()}


def _array(values: Sequence[Any], kind: TypeEngine[Any]) -> ArrayValue | str:
    if type(kind) is BigInteger:
        try:
            return BigIntArray(values)
        except (TypeError, OverflowError):
            return literal(values)
    if type(kind) in (JsonText, Text) and _TEXT.issuperset(map(type, values)):
        return JsonArray(values) if type(kind) is JsonText else TextArray(values)
    return literal(values)
