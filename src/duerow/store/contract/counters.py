"""The part of the contract for what processes count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from duerow.plan import Plan
from duerow.store.metadata import Counted, Counters


class CounterStore(Protocol):
    """What processes counted: how many turns ended, and how long they took."""

    def note_counts(self, process: str, rows: Sequence[Counted]) -> Plan[None]:
        """Store what a process counted, replacing its earlier counts for the same queues and minutes.

        Rows older than 70 minutes, of any process, are added to their queue's lifetime totals and deleted, a few
        hundred at a time.
        """
        ...

    def read(self, queue: str) -> Plan[Counters]:
        """Read what all processes counted for a queue."""
        ...
