"""Steps for schedules: one function for each, called with the state and the time."""

from __future__ import annotations

from datetime import datetime

from duerow.store import Planned, ScheduleChange, SchedulesFound
from duerow.store.metadata import DUE_AT_ONCE
from duerow.stores.memory import steps
from duerow.stores.memory.state import State


def find(state: State, now: datetime, name: str | None, due: bool) -> SchedulesFound:
    """Return all schedules, the one with the given name, or those that are due."""
    next_at = min((known.next_at for known in state.schedules.values() if known.next_at is not None), default=None)
    found = [known for known in state.schedules.values() if name in (None, known.name)]
    if due:
        ticking = [(known.next_at, known) for known in found if known.next_at is not None and known.next_at <= now]
        ticking.sort(key=lambda pair: (pair[0], pair[1].name))
        return SchedulesFound(now, next_at, [known for _, known in ticking[:DUE_AT_ONCE]])
    return SchedulesFound(now, next_at, sorted(found, key=_by_name))


def change(state: State, now: datetime, change: ScheduleChange) -> bool:
    """Change a schedule unless it has changed since it was read, and push its messages."""
    known = state.schedules.get(change.name)
    if change.version != (None if known is None else known.version):
        return False
    state.plan(change.name, change.after)
    steps.push_new(state, now, change.push, "ignore")
    return True


def _by_name(known: Planned) -> str:
    return known.name
