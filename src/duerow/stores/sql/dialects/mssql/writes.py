"""Writes in T-SQL: UPDATE … OUTPUT of rows found through other rows, and an upsert of two statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, Select, Table, and_, case, select
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import LINE, const
from duerow.stores.sql.dialects.base.writes import Writes
from duerow.stores.sql.dialects.mssql.compiler import bare, tables_of
from duerow.stores.sql.dialects.mssql.elements import Add, NumberedInsert, Put, TsqlChange, rows_of
from duerow.stores.sql.dialects.mssql.schema import ids_of

_FOUND: Final = "ROWLOCK, UPDLOCK, FORCESEEK"
"""Look up rows by their keys, one after the other: even a small table is never read or locked as a whole."""

_FREE: Final = "ROWLOCK, UPDLOCK, READPAST, FORCESEEK"
"""The same, skipping rows that others have locked."""


class TsqlWrites(Writes):
    """Writes in T-SQL: UPDATE … OUTPUT of rows found through other rows, and an upsert of two statements."""

    def insert(self, table: Table) -> Any:
        """Return an INSERT that numbers messages in the order given."""
        added = NumberedInsert(table)
        if "due_at" in table.c and "place_at" in table.c:
            added.sequence = ids_of(table.name, table.schema)
        return added

    def change(
        self,
        table: Table,
        which: Sequence[ColumnElement[bool]],
        values: Mapping[str, Any],
        returning: Sequence[ColumnElement[Any]] = (),
        given: FromClause | None = None,
    ) -> Executable:
        """Return UPDATE … OUTPUT."""
        return TsqlChange(table, given, and_(*which), values, returning, _FOUND)

    def change_picked(
        self,
        table: Table,
        picked: Select[Any],
        which: Sequence[ColumnElement[bool]],
        values: Mapping[str, Any],
        returning: Sequence[ColumnElement[Any]],
    ) -> Executable:
        """Return UPDATE … OUTPUT of the picked rows, which tests the query's conditions again."""
        source, match = self._picked(table, picked)
        return TsqlChange(table, source, match, values, returning, _read(picked))

    def remove(
        self,
        table: Table,
        given: FromClause,
        names: Sequence[str],
        which: Sequence[ColumnElement[bool]] = (),
        returning: Sequence[ColumnElement[Any]] = (),
    ) -> Executable:
        """Return DELETE … OUTPUT."""
        match = and_(*(table.c[name] == given.c[name] for name in names), *which)
        return TsqlChange(table, given, match, None, returning, _FOUND)

    def remove_picked(
        self,
        table: Table,
        picked: Select[Any],
        which: Sequence[ColumnElement[bool]],
        returning: Sequence[ColumnElement[Any]] = (),
    ) -> Executable:
        """Return DELETE … OUTPUT of the picked rows, as `change_picked` does."""
        source, match = self._picked(table, picked)
        return TsqlChange(table, source, match, None, returning, _read(picked))

    def _picked(self, table: Table, picked: Select[Any]) -> tuple[FromClause, ColumnElement[bool]]:
        again = picked.whereclause
        source = picked.subquery("picked")
        keys = [key == source.c[key.key] for key in table.primary_key]
        if again is None or table not in tables_of(picked):
            return source, and_(*keys)
        if LINE in table.info:  # in a form that no index supports: the rows are looked up only by their keys
            again = case((again, const(1)), else_=const(0)) == const(1)
        return source, and_(*keys, again)

    def add_free(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        only: ColumnElement[bool],
        returning: Sequence[ColumnElement[Any]],
        told_ids: bool,
    ) -> Executable:
        """Look up each key with a lock that keeps others from inserting it, and add the rows whose key is free."""
        names, rows = rows_of(added)
        index, once = f"{added.table.name}_key", added.told is not None and not told_ids
        sequence = None if told_ids else added.sequence
        mixed = told_ids and not getattr(bare(rows.selected_columns["status"]), "is_literal", False)
        return Add(added.table, rows, names, keys, only, returning, index, once, added.order, sequence, mixed)

    def add_new(self, table: Table, values: Mapping[str, ColumnElement[Any]], key: ColumnElement[Any]) -> Executable:
        """Look up the row with a lock that keeps others from inserting it, and add it if it is missing."""
        rows = select(*(value.label(name) for name, value in values.items()))
        return Add(table, rows, list(values), [key], None, [key])

    def put(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        new: Callable[[Any], Mapping[str, Any]],
        only: ColumnElement[bool] | None = None,
    ) -> Any:
        """Return an UPDATE of the existing rows and an INSERT of the new ones, in one transaction."""
        return Put(added, keys, new, only, ())


def _read(picked: Select[Any]) -> str:
    """Return the hints for reading picked rows again: they skip rows locked by others if the query does."""
    asked = picked._for_update_arg
    return _FREE if asked is not None and asked.skip_locked else _FOUND
