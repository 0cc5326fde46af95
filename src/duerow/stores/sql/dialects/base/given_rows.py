"""Rows of bound values, and how they are used to find rows of a table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, and_, select, tuple_
from sqlalchemy import Dialect as SqlDialect
from sqlalchemy.sql.base import Executable
from sqlalchemy.types import TypeEngine

from duerow.stores.sql.dialects.base.expressions import Expressions
from duerow.stores.sql.dialects.base.json_values import encode_json

Spelling = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Writes the values of a step in another way."""


class GivenRows(Expressions):
    """Rows of bound values: by default one JSON array, with an array per row of the values that differ."""

    @abstractmethod
    def given(self, name: str, columns: Mapping[str, TypeEngine[Any]], alike: frozenset[str]) -> Any:
        """Return a table of bound values; a column with the same value in all rows is bound once.

        If every column has the same value in all rows, the table has one row.
        """

    def pack(self, name: str, columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Return the bound values of a `given` table's columns that differ from row to row.

        A single column is packed as a plain array, not as an array of arrays.
        """
        if not columns:
            return {}
        if len(columns) == 1:
            return {name: encode_json(next(iter(columns.values()))).decode()}
        return {name: encode_json(list(zip(*columns.values(), strict=True))).decode()}

    def given_to_insert(self, name: str, columns: Mapping[str, TypeEngine[Any]], alike: frozenset[str]) -> Any:
        """Return the same as `given` for rows that are only inserted, and not joined with a table."""
        return self.given(name, columns, alike)

    def pack_to_insert(
        self, name: str, columns: Mapping[str, Sequence[Any]], types: Mapping[str, TypeEngine[Any]]
    ) -> dict[str, Any]:
        """Return the bound values of a `given_to_insert` table's columns that differ from row to row.

        Args:
            name: the table's name.
            columns: the values, column by column.
            types: the types of the columns.
        """
        return self.pack(name, columns)

    def spelling(self, driver: SqlDialect) -> Spelling | None:
        """Return a function that writes a step's values as a driver takes them; None: it takes what `pack` returns."""
        return None

    def over(
        self,
        build: Callable[[Any], Executable],
        name: str,
        columns: Mapping[str, TypeEngine[Any]],
        alike: frozenset[str],
    ) -> Executable:
        """Return the statement that `build` makes, given a table of bound values; see `given`."""
        return build(self.given(name, columns, alike))

    def keyed(self, key: ColumnElement[Any], given: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return whether a row has the key of a given row; the key has an index, by which the row is to be found."""
        return key == given

    def among(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        """Return whether a column equals one of the bound values packed as the column `value` under this name."""
        return column.in_(select(self.given(name, {"value": column.type}, frozenset()).c.value))

    def joined(
        self, found: Select[Any], given: FromClause, table: FromClause, match: ColumnElement[bool]
    ) -> Select[Any]:
        """Return a query that looks up a row of the table for each of the given rows."""
        return found.join_from(given, table, match)

    def look_up(
        self,
        shown: Sequence[ColumnElement[Any]],
        given: FromClause,
        which: Sequence[ColumnElement[bool]],
        names: Mapping[str, ColumnElement[Any]],
        locked: bool,
    ) -> Select[Any]:
        """Return a query that looks up one row of a table for each of the given rows, by a unique index.

        Args:
            shown: columns of the table.
            given: the given rows.
            which: further conditions on the row.
            names: the columns that must match the given row, keyed by their names in the given row.
            locked: whether to lock the rows against changes, in the given order, where rows can be locked.
        """
        table = next(iter(names.values())).table
        equal = and_(*(self.keyed(column, given.c[name]) for name, column in names.items()), *which)
        found = self.joined(select(*shown), given, table, equal)
        return found.with_for_update(of=table) if locked else found

    def one_of_rows(self, columns: Sequence[ColumnElement[Any]], found: Select[Any]) -> list[ColumnElement[bool]]:
        """Return whether several columns together equal a row of a subquery, which is evaluated once."""
        return [tuple_(*columns).in_(found)]
