"""Steps for counters: one function for each, called with the state and the time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from duerow.store import Counted, Counters, Totals
from duerow.store.metadata import COUNTS_KEPT, of_last_hour
from duerow.stores.memory.state import State


def note(state: State, now: datetime, process: str, rows: Sequence[Counted]) -> None:
    """Write the rows of a process, and add up old rows."""
    counted = {**state.counted, **{(row.queue, row.minute, process): row for row in rows}}
    lifetimes = dict(state.lifetimes)
    for place, row in list(counted.items()):
        if row.minute < now - COUNTS_KEPT:
            del counted[place]
            lifetimes[row.queue] = _sum([lifetimes.get(row.queue, Totals()), row.totals])
    state.count(counted, lifetimes)


def read(state: State, now: datetime, queue: str) -> Counters:
    """Return the rows of a queue."""
    rows = [
        msgspec.structs.replace(row, process=process)
        for (_, _, process), row in state.counted.items()
        if row.queue == queue
    ]
    lifetime = _sum([state.lifetimes.get(queue, Totals()), *(row.totals for row in rows)])
    return Counters(now, lifetime, of_last_hour(rows, now))


def _sum(parts: Iterable[Totals]) -> Totals:
    done = failed = dead = moved = 0
    for part in parts:
        done, failed, dead, moved = done + part.done, failed + part.failed, dead + part.dead, moved + part.moved
    return Totals(done, failed, dead, moved)
