"""Counters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from duerow.plan import Plan
from duerow.store import Counted, Counters
from duerow.stores.memory import counters
from duerow.stores.memory.plans.single_step import alone


class MemoryCounters:
    """Counters; see `duerow.store.CounterStore`."""

    def note_counts(self, process: str, rows: Sequence[Counted]) -> Plan[None]:
        """Write the counts of a process; see `CounterStore.note_counts`."""
        return alone(partial(counters.note, process=process, rows=rows))

    def read(self, queue: str) -> Plan[Counters]:
        """Read the counters; see `CounterStore.read`."""
        return alone(partial(counters.read, queue=queue))
