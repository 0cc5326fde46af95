"""How statements find rows in the order of an index, and tell apart the rows of the parts of a queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, Table, func, select
from sqlalchemy.types import TypeEngine

from duerow.stores.sql.dialects.base.constants import const
from duerow.stores.sql.dialects.base.expressions import Expressions

Keyed = tuple[ColumnElement[Any], Sequence[ColumnElement[bool]]]
"""A column for looking up rows, and the further condition that its index requires."""


class Reads(Expressions):
    """How statements find rows in the order of an index. By default indexes are partial: they have a condition.

    Attributes:
        names_at_once: how many queue names one statement looks up in an index, each after the previous one; 1 if it
            would read the whole index for each name.
        partial_indexes: whether indexes are partial; see `DerivedColumns` for databases without such indexes.
        derived: columns of the message table that only indexes need, each with its type and its expression.
    """

    names_at_once = 1
    partial_indexes = True
    derived: Mapping[str, tuple[TypeEngine[Any], str]] = {}

    # Following an index.

    def locked(self, query: Select[Any], table: Table) -> Select[Any]:
        """Return an ORM query that also locks the rows of a table against writes until the transaction ends.

        Others may still insert rows that refer to them, if the database supports such locks.
        """
        return query.with_for_update(key_share=True, of=table)

    def first(self, column: ColumnElement[Any], *which: ColumnElement[bool]) -> Select[Any]:
        """Return a query for the least value of a column; an index has it after the columns compared for equality."""
        return select(func.min(column)).where(*which)

    def same_group(self, group: ColumnElement[Any], given: ColumnElement[Any]) -> tuple[ColumnElement[bool], ...]:
        """Return the condition for rows of a group, written so that an index finds them."""
        return (group == given,)

    def group_order(self, rows: FromClause) -> tuple[ColumnElement[Any], ...]:
        """Return the ORDER BY that sorts the rows of one group by id, in the order of the index that finds them."""
        return (rows.c.id,)

    def below(self, query: Select[Any], rows: FromClause, bound: ColumnElement[Any], held: bool) -> ColumnElement[Any]:
        """Return the first id of a group that is below a bound of the outer row; null if there is none.

        Args:
            query: the ids of the group, without an order.
            rows: the table or alias that it reads.
            bound: the upper bound, which is excluded.
            held: whether to lock the row against changes, and skip rows that cannot be locked at once.
        """
        first = query.where(rows.c.id < bound).order_by(*self.group_order(rows)).limit(const(1))
        return (first.with_for_update(read=True, skip_locked=True) if held else first).scalar_subquery()

    def none_below(self, query: Select[Any], rows: FromClause, bound: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return whether a group has no id below a bound of the outer row."""
        return ~query.where(rows.c.id < bound).exists()

    def by_line(self, found: Select[Any], table: Table, grouped: bool) -> Select[Any]:
        """Return a query of a line's rows, changed to follow the line's index and lock only the rows it returns."""
        return found

    def by_group(self, found: Select[Any], table: Table) -> Select[Any]:
        """Return a query of rows in groups, changed to read no other rows."""
        return found

    # Which rows an index contains.

    def in_group(self, rows: FromClause, grouped: bool) -> ColumnElement[bool]:
        """Return the condition for rows that are in a group, or for rows that are in none."""
        group = rows.c.group
        return group.is_not(None) if grouped else group.is_(None)

    def live_key(self, rows: FromClause, live: ColumnElement[bool]) -> Keyed:
        """Return the column for keys of live messages, and the condition under which its index is used."""
        return rows.c.key, (rows.c.key.is_not(None), live)

    def live_group(self, rows: FromClause, live: ColumnElement[bool]) -> Keyed:
        """As `live_key`, for groups."""
        return rows.c.group, (live,)

    def lent_group(self, rows: FromClause) -> Keyed:
        """As `live_key`, for the groups of reserved messages."""
        return rows.c.group, (rows.c.leased_by.is_not(None),)

    def resting(self, rows: FromClause) -> tuple[ColumnElement[bool], ...]:
        """Return the condition for rows that are neither in line nor waiting behind others."""
        return rows.c.due_at.is_(None), rows.c.behind_at.is_(None)

    def stopped(self, rows: FromClause) -> tuple[ColumnElement[bool], ...]:
        """Return the condition for rows that are stopped but not dead."""
        return *self.resting(rows), rows.c.status != const("dead")


class DerivedColumns(Reads):
    """For databases without partial indexes: `derived` columns are null in rows that do not belong in the index."""

    partial_indexes = False

    def in_group(self, rows: FromClause, grouped: bool) -> ColumnElement[bool]:
        """Compare `line`, which is null in rows without a due time."""
        found: ColumnElement[bool] = rows.c.line == const(int(grouped))
        return found

    def live_key(self, rows: FromClause, live: ColumnElement[bool]) -> Keyed:
        """Return the column that is null unless the message is alive."""
        return rows.c.live_key, (rows.c.live_key.is_not(None),)

    def live_group(self, rows: FromClause, live: ColumnElement[bool]) -> Keyed:
        """Return the column that is null unless the message is alive."""
        return rows.c.live_group, ()

    def lent_group(self, rows: FromClause) -> Keyed:
        """Return the column that is null unless the message is reserved."""
        return rows.c.lent_group, ()

    def resting(self, rows: FromClause) -> tuple[ColumnElement[bool], ...]:
        """Compare the column that is null in all other rows."""
        return (rows.c.rests == const(1),)

    def stopped(self, rows: FromClause) -> tuple[ColumnElement[bool], ...]:
        """Compare the column that is null in all other rows."""
        return (rows.c.stopped == const(1),)
