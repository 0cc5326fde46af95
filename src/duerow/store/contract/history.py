"""The part of the contract for finished turns."""

from __future__ import annotations

from typing import Protocol

from duerow.plan import Plan
from duerow.store.reads import HistoryQuery, HistoryRow


class HistoryStore(Protocol):
    """Finished turns.

    A store with this part also writes them, in the transaction that ends the turn, and remembers keys: whatever a
    `Retention` asks for.
    """

    def find(self, query: HistoryQuery) -> Plan[list[HistoryRow]]:
        """Read finished turns."""
        ...

    def prune(self, limit: int) -> Plan[int]:
        """Delete what was kept long enough: up to `limit` turns, and as many of everything else; return how many.

        This covers expired turns and keys, what was staged more than a day ago, and names of `once` that were recorded
        more than 30 days ago.
        """
        ...
