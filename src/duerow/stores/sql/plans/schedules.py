"""Read schedules, and change them together with what they push."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from duerow.plan import BEGIN, Plan
from duerow.store import Planned, ScheduleChange, SchedulesFound
from duerow.stores.sql.plans.push import PushPlans
from duerow.stores.sql.statements import Step

DUE_AT_ONCE: Final = 100


class SchedulePlans(PushPlans):
    """Plans about schedules."""

    def schedules(self, name: str | None = None, due: bool = False) -> Plan[SchedulesFound]:
        """Read schedules; see Store.schedules. To find that none is due takes one look at an index."""
        ((first, at),) = yield self._step(self.statements.next_tick, {})
        next_at, now = self.dialect.read_moment(first), self.dialect.read_moment(at)
        if now is None:
            raise AssertionError("a database always knows the time")
        if due and (next_at is None or next_at > now):
            return SchedulesFound(now, next_at, [])
        by: tuple[str, ...] = ()
        values: dict[str, Any] = {}
        if name is not None:
            by, values = ("name",), {"name_in": name}
        elif due:
            by, values = ("due",), {"until": self.dialect.write_moment(now), "limit_in": DUE_AT_ONCE}
        rows = yield Step(self.statements.schedules(by), values)
        return SchedulesFound(now, next_at, [self._planned(row) for row in rows])

    def set_schedule(self, change: ScheduleChange) -> Plan[bool]:
        """Change a schedule and push what it pushes; see Store.set_schedule."""
        yield BEGIN
        if not (yield self._schedule_step(change)):
            return False
        if change.push:
            yield from self.push(change.push, "ignore")
        return True

    def _schedule_step(self, change: ScheduleChange) -> Step:
        """Return the step that changes the row, with a row as its answer if it did."""
        after, was = change.after, {} if change.version is None else {"was": change.version}
        if after is None:
            return Step(self.statements.delete_schedule, {"name_in": change.name, **was})
        values = {
            "name_in": after.name,
            "definition_in": after.definition,
            "next_in": self.dialect.write_moment(after.next_at),
            "last_in": self.dialect.write_moment(after.last_at),
            "version_in": after.version,
        }
        statement = self.statements.insert_schedule if change.version is None else self.statements.update_schedule
        return Step(statement, {**values, **was})

    def _planned(self, row: Sequence[Any]) -> Planned:
        name, definition, next_at, last_at, version = row
        read = self.dialect.read_moment
        return Planned(name, definition, read(next_at), read(last_at), version)
