"""Common parts of statements that hand out messages: the due rows of a line, and the values of a leased row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from sqlalchemy import ColumnElement, Integer, ScalarSelect, Select, Text, and_, case, func, null, select

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.context import StatementGroup

MOST_VARIANTS: Final = 16
"""The number of statements cached for each type of claim: with or without a floor, for 1, 2, 4, … kinds or all."""


class DueRowStatements(StatementGroup):
    """A group of statements that hand out due rows."""

    @cached_property
    def _lend(self) -> dict[str, Any]:
        """The columns that are set in a row that is leased, or buried because its attempts are used up."""
        columns = self.message.c
        attempts = self.bound("attempts_in", Integer())
        unsettled = self.context.unsettled
        used_up = and_(unsettled, columns.attempts >= attempts)
        until = self.context.lease_end
        error = self.dialect.ended_lease(self.message, attempts)
        return {
            "status": case((used_up, const("dead")), else_=self.context.lent_status),
            "due_at": case((used_up, null()), else_=until),
            "place_at": columns.due_at,
            "attempts": columns.attempts + case((used_up, const(0)), else_=const(1)),
            "token": columns.token + const(1),
            "leased_by": case((used_up, null()), else_=self.bound("consumer", Text())),
            "leased_until": case((used_up, null()), else_=until),
            "last_attempt_at": case((used_up, columns.last_attempt_at), else_=self.now),
            "last_error": case((unsettled, error), else_=columns.last_error),
            **self.context.finished(case((used_up, self.now), else_=null())),
        }

    def _due_ids(self, from_floor: bool, kinds: int) -> tuple[Select[Any], list[Any]]:
        return self._first_due(self.context.ids, False, from_floor, kinds)

    def _first_due(
        self, shown: Sequence[ColumnElement[Any]], grouped: bool, from_floor: bool, kinds: int
    ) -> tuple[Select[Any], list[Any]]:
        """Return the query of the oldest due rows of a line, and what each row is to come with: the next floor."""
        columns = self.message.c
        which = [*self.context.due_rows(grouped, from_floor), *self._of_kinds(kinds)]
        floor: list[Any] = []
        if self.dialect.keeps_dead_entries:
            oldest = self._oldest(grouped, from_floor, kinds)
            floor = [self.dialect.microseconds(oldest)]
            if not from_floor:  # the dead entries before it are read once, not twice
                which.append(columns.due_at >= oldest)
        due = select(*shown).where(*which).order_by(columns.due_at, *self.context.ids)
        due = self.dialect.by_line(due, self.message, grouped)
        due = due.limit(self.context.unseen("limit_in", Integer()))
        return due.with_for_update(skip_locked=True, key_share=self.context.key_share), floor

    def _oldest(self, grouped: bool, from_floor: bool, kinds: int) -> ScalarSelect[Any]:
        """Return the due time of the oldest due row of a line, leased or not."""
        rows = self.message.alias("oldest")
        due = (*self.context.due_rows(grouped, from_floor, rows), *self._of_kinds(kinds, rows))
        oldest = select(func.min(rows.c.due_at).label("due_at")).where(*due)
        if from_floor:
            return oldest.scalar_subquery()
        return select(oldest.cte("first_due").c.due_at).scalar_subquery()

    def _of_kinds(self, kinds: int, rows: Any = None) -> list[ColumnElement[bool]]:
        """The rows of any of this many bound kinds; 0: no restriction."""
        if not kinds:
            return []
        column = (self.message if rows is None else rows).c.kind
        return [self.dialect.any_of(column, [self.bound(name, Text()) for name in kinds_in(kinds)])]


def kinds_in(kinds: int) -> list[str]:
    """Return the names of the bound values for this many kinds."""
    return [f"kind_{place}_in" for place in range(kinds)]
