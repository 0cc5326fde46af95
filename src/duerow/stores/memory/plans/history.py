"""Finished turns."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from duerow.plan import Plan
from duerow.store import HistoryQuery, HistoryRow
from duerow.stores.memory import batches
from duerow.stores.memory import history as past
from duerow.stores.memory.plans.single_step import alone
from duerow.stores.memory.state import State


class MemoryHistory:
    """Finished turns; see `duerow.store.HistoryStore`."""

    def find(self, query: HistoryQuery) -> Plan[list[HistoryRow]]:
        """Read finished turns; see `HistoryStore.find`."""
        return alone(partial(past.find, query=query))

    def prune(self, limit: int) -> Plan[int]:
        """Delete turns and keys that were kept long enough; see `HistoryStore.prune`."""

        def both(state: State, now: datetime) -> int:
            return past.prune(state, now, limit) + batches.prune(state, now, limit)

        return alone(both)
