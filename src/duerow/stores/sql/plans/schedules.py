"""Read schedules, and change them together with their pushes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from duerow.plan import BEGIN, Plan
from duerow.store import Planned, ScheduleChange, SchedulesFound
from duerow.store.metadata import DUE_AT_ONCE
from duerow.stores.sql.plans.context import Context, Plans
from duerow.stores.sql.plans.push import PushPlans
from duerow.stores.sql.statements import Step


class SchedulePlans(Plans):
    """Plans for schedules.

    Args:
        context: shared by all plans of the store.
        push: adds messages, and finds the holders of keys.
    """

    def __init__(self, context: Context, push: PushPlans) -> None:
        super().__init__(context)
        self._push = push

    def schedules(self, name: str | None = None, due: bool = False) -> Plan[SchedulesFound]:
        """Read schedules; see MetadataStore.schedules. If none is due, this takes one index lookup."""
        context = self.context
        dialect = context.dialect
        ((first, at),) = yield context.step(context.statements.schedules.next_tick, {})
        next_at, now = dialect.read_moment(first), dialect.read_moment(at)
        if now is None:
            raise AssertionError("a database always knows the time")
        if due and (next_at is None or next_at > now):
            return SchedulesFound(now, next_at, [])
        by: tuple[str, ...] = ()
        values: dict[str, Any] = {}
        if name is not None:
            by, values = ("name",), {"name_in": name}
        elif due:
            by, values = ("due",), {"until": dialect.write_moment(now), "limit_in": DUE_AT_ONCE}
        rows = yield Step(context.statements.schedules.schedules(by), values)
        return SchedulesFound(now, next_at, [self._planned(row) for row in rows])

    def set_schedule(self, change: ScheduleChange) -> Plan[bool]:
        """Change a schedule and push its messages; see MetadataStore.set_schedule."""
        yield BEGIN
        if not (yield self._schedule_step(change)):
            return False
        if change.push:
            yield from self._push.push(change.push, "ignore")
        return True

    def _schedule_step(self, change: ScheduleChange) -> Step:
        """Return the step that changes the row; it answers a row if it changed one."""
        context = self.context
        statements = context.statements.schedules
        after, was = change.after, {} if change.version is None else {"was": change.version}
        if after is None:
            return Step(statements.delete_schedule, {"name_in": change.name, **was})
        values = {
            "name_in": after.name,
            "definition_in": after.definition,
            "next_in": context.dialect.write_moment(after.next_at),
            "last_in": context.dialect.write_moment(after.last_at),
            "version_in": after.version,
        }
        statement = statements.insert_schedule if change.version is None else statements.update_schedule
        return Step(statement, {**values, **was})

    def _planned(self, row: Sequence[Any]) -> Planned:
        name, definition, next_at, last_at, version = row
        read = self.context.dialect.read_moment
        return Planned(name, definition, read(next_at), read(last_at), version)
