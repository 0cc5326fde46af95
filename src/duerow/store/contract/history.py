"""The part of the contract for finished turns."""

from __future__ import annotations

from typing import Protocol

from duerow.plan import Plan
from duerow.store.reads import HistoryQuery, HistoryRow


class HistoryStore(Protocol):
    """Finished turns.

    A store with this part also writes them, in the transaction that ends the turn, and remembers keys, as each
    `Retention` asks.
    """

    def find(self, query: HistoryQuery) -> Plan[list[HistoryRow]]:
        """Read finished turns."""
        ...

    def prune(self, limit: int) -> Plan[int]:
        """Delete up to `limit` expired turns, and as many rows of each other kind; return how many were deleted.

        The other kinds are expired keys, entries staged more than a day ago, and names given as `once` more than 30
        days ago.
        """
        ...
