"""Writes, and the rows they return."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Insert, Select, Table, delete, select, tuple_, update
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base.expressions import Expressions


class Writes(Expressions):
    """Writes, and the rows they return. By default they are single statements, with RETURNING and ON CONFLICT."""

    # Changing rows.

    def change(
        self,
        table: Table,
        which: Sequence[ColumnElement[bool]],
        values: Mapping[str, Any],
        returning: Sequence[ColumnElement[Any]] = (),
        given: FromClause | None = None,
    ) -> Executable:
        """Return a statement that changes rows and returns their new state.

        Args:
            table: the table.
            which: the conditions on the rows.
            values: the new values of columns, in terms of the old ones.
            returning: the expressions to return for each row.
            given: the given rows that `which` and `values` refer to.
        """
        changed = update(table).where(*which).values(values)
        return changed.returning(*returning) if returning else changed

    def change_picked(
        self,
        table: Table,
        picked: Select[Any],
        which: Sequence[ColumnElement[bool]],
        values: Mapping[str, Any],
        returning: Sequence[ColumnElement[Any]],
    ) -> Executable:
        """As `change`, for rows whose primary keys a query reads and locks; `which` is the same condition."""
        return update(table).where(*which).values(values).returning(*returning)

    # Removing rows.

    def remove(
        self,
        table: Table,
        given: FromClause,
        names: Sequence[str],
        which: Sequence[ColumnElement[bool]] = (),
        returning: Sequence[ColumnElement[Any]] = (),
    ) -> Executable:
        """Return a statement that removes rows that match a given row in these columns, and returns them."""
        gone = delete(table).where(*which, *self.equal_given(table, given, names))
        return gone.returning(*returning) if returning else gone

    def equal_given(self, table: Table, given: FromClause, names: Sequence[str]) -> list[ColumnElement[bool]]:
        """Return the condition that a row matches a given row in these columns."""
        theirs = select(*(given.c[name] for name in names))
        if len(names) == 1:
            return [table.c[names[0]].in_(theirs)]
        return [tuple_(*(table.c[name] for name in names)).in_(theirs)]

    def remove_picked(
        self,
        table: Table,
        picked: Select[Any],
        which: Sequence[ColumnElement[bool]],
        returning: Sequence[ColumnElement[Any]] = (),
    ) -> Executable:
        """Return a statement that removes rows whose primary keys a query reads; `which` is the same condition."""
        gone = delete(table).where(*which)
        return gone.returning(*returning) if returning else gone

    def remove_where(
        self, table: Table, which: Sequence[ColumnElement[bool]], returning: Sequence[ColumnElement[Any]]
    ) -> Executable:
        """Return a statement that removes the few rows that match a condition, and returns them."""
        return delete(table).where(*which).returning(*returning)

    # Adding rows.

    @abstractmethod
    def insert(self, table: Table) -> Insert:
        """Return an INSERT with this database's ON CONFLICT."""

    def add_free(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        only: ColumnElement[bool],
        returning: Sequence[ColumnElement[Any]],
        told_ids: bool,
    ) -> Executable:
        """Return an INSERT of messages that skips those whose key a live message has, and returns the others.

        Args:
            added: the INSERT.
            keys: the columns of the unique index.
            only: the condition for rows to be in that index.
            returning: the expressions to return, the id first.
            told_ids: whether the rows already have ids; see also `answers_held`.
        """
        passing = added.on_conflict_do_nothing(index_elements=list(keys), index_where=only)
        answered: Executable = passing.returning(*returning) if returning else passing
        return answered

    def add_new(self, table: Table, values: Mapping[str, ColumnElement[Any]], key: ColumnElement[Any]) -> Executable:
        """Return a statement that adds a row unless its primary key exists, and returns the key if it did."""
        added: Any = self.insert(table).values(values)
        answered: Executable = added.on_conflict_do_nothing(index_elements=[key]).returning(key)
        return answered

    def put(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        new: Callable[[Any], Mapping[str, Any]],
        only: ColumnElement[bool] | None = None,
    ) -> Any:
        """Return an INSERT that updates the rows whose primary key already exists.

        Args:
            added: the INSERT.
            keys: the columns of the primary key.
            new: returns the new values of an existing row, given the columns of the row to be inserted.
            only: the condition for existing rows to be changed.
        """
        return added.on_conflict_do_update(index_elements=list(keys), set_=new(added.excluded), where=only)

    def answer_put(self, put: Any, returning: Sequence[ColumnElement[Any]], written: ColumnElement[bool]) -> Executable:
        """Return a `put` that returns the rows it wrote, which are exactly those that match `written`."""
        answered: Executable = put.returning(*returning)
        return answered
