"""Statements for schedules."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Integer, Text, func, select

from duerow.stores.sql.statements.context import StatementGroup
from duerow.stores.sql.statements.core import Statement


class ScheduleStatements(StatementGroup):
    """Statements for schedules."""

    @cached_property
    def next_tick(self) -> Statement:
        """Read the next tick of all schedules, and the time."""
        next_at = self.tables.schedule.c.next_at
        return Statement(select(select(func.min(next_at)).where(next_at.is_not(None)).scalar_subquery(), self.now))

    @lru_cache(maxsize=4)  # noqa: B019 - lives as long as the store
    def schedules(self, by: tuple[str, ...]) -> Statement:
        """Read schedules: all, one by `name`, or those `due` by the bound time `until`."""
        columns = self.tables.schedule.c
        definition = self.dialect.as_text(columns.definition).label("definition")
        found = select(columns.name, definition, columns.next_at, columns.last_at, columns.version)
        if "name" in by:
            return Statement(found.where(columns.name == self.bound("name_in", Text())))
        if "due" in by:
            due = found.where(columns.next_at <= self.bound("until", self.dialect.moment))
            return Statement(due.order_by(columns.next_at).limit(self.bound("limit_in", Integer())))
        return Statement(found.order_by(columns.name))

    @cached_property
    def insert_schedule(self) -> Statement:
        """Add a schedule, and return its name; return nothing if the name exists."""
        columns = self.tables.schedule.c
        values = {"name": self.bound("name_in", Text()), **self._scheduled}
        return Statement(self.dialect.add_new(self.tables.schedule, values, columns.name))

    @cached_property
    def update_schedule(self) -> Statement:
        """Change the schedule with this name and version, and return its name."""
        schedule = self.tables.schedule
        return Statement(self.dialect.change(schedule, self._schedule_as_read, self._scheduled, [schedule.c.name]))

    @cached_property
    def delete_schedule(self) -> Statement:
        """Delete the schedule with this name and version, and return its name."""
        schedule = self.tables.schedule
        return Statement(self.dialect.remove_where(schedule, self._schedule_as_read, [schedule.c.name]))

    @property
    def _schedule_as_read(self) -> list[ColumnElement[bool]]:
        columns = self.tables.schedule.c
        return [columns.name == self.bound("name_in", Text()), columns.version == self.bound("was", BigInteger())]

    @property
    def _scheduled(self) -> dict[str, ColumnElement[Any]]:
        """The columns of a schedule that change."""
        return {
            "definition": self.json(self.bound("definition_in", Text())),
            "next_at": self.bound("next_in", self.dialect.moment),
            "last_at": self.bound("last_in", self.dialect.moment),
            "version": self.bound("version_in", BigInteger()),
        }
