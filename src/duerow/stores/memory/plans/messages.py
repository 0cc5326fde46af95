"""Push, reserve and settle."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from msgspec.structs import replace

from duerow.errors import DuerowError, LeaseLost
from duerow.message import OnDuplicate, Pushed
from duerow.plan import BEGIN, Plan
from duerow.reservation import Receipt
from duerow.store import Closed, Entry, Joined, Query, Record, Refused, Reserved, Retention, Turn
from duerow.store.writes import following
from duerow.stores.memory import batches, steps
from duerow.stores.memory.plans.single_step import alone
from duerow.stores.memory.settle import end_turn, gather, in_order_of_effect, require_lone_turns


class MemoryMessages:
    """Push, reserve and settle; see `duerow.store.MessageStore`.

    Args:
        transactions: whether several messages can change together. If not, each turn of a settle takes effect
            separately, and a turn that also changes another message is refused with NotSupported.
    """

    def __init__(self, transactions: bool = True) -> None:
        self._transactions = transactions

    def push(
        self, entries: Sequence[Entry], on_duplicate: OnDuplicate, remembered: bool = False, once: str | None = None
    ) -> Plan[list[Pushed]]:
        """Add messages; see `MessageStore.push`."""
        if once is not None:
            asked: dict[str, Any] = {"on_duplicate": on_duplicate, "remembered": remembered, "once": once}
            return alone(partial(batches.push_once, entries=entries, **asked))
        return alone(partial(steps.push_new, entries=entries, on_duplicate=on_duplicate, remembered=remembered))

    def reserve(
        self,
        queue: str,
        limit: int,
        lease: timedelta,
        attempts: int | None,
        consumer: str,
        dead_letter: str | None = None,
        keep: Retention | None = None,
        kinds: Collection[str] | None = None,
        apart: bool = False,
        exact: bool = True,
    ) -> Plan[Reserved]:
        """Reserve due messages, oldest first; see `MessageStore.reserve`. This store never refuses a row."""
        terms: dict[str, Any] = {"lease": lease, "attempts": attempts, "consumer": consumer, "dead_letter": dead_letter}
        return alone(partial(steps.reserve, queue=queue, limit=limit, keep=keep, kinds=kinds, **terms))

    def extend(self, receipts: Sequence[Receipt], lease: timedelta) -> Plan[dict[Receipt, datetime]]:
        """Extend leases to now + lease; see `MessageStore.extend`."""
        return alone(partial(steps.extend, receipts=receipts, lease=lease))

    def settle(self, turns: Sequence[Turn], keep: Retention | None = None) -> Plan[list[Refused]]:
        """End turns, then push their follow-ups; return the refused turns in the order given.

        If a receipt is given twice, the turn that takes effect first is settled, and the other one is refused.
        """
        if self._transactions:
            yield BEGIN
        else:
            require_lone_turns(turns)
        refused: dict[int, Refused] = {}
        used: set[Receipt] = set()
        left: list[tuple[int, Turn]] = []
        for place, turn in in_order_of_effect(enumerate(turns)):
            if turn.receipt in used:
                refused[place] = Refused(turn.receipt, LeaseLost(turn.receipt.id))
            elif isinstance(turn.end, Joined | Closed):
                outcome = yield partial(gather, turn=turn)
                if isinstance(outcome, DuerowError):
                    refused[place] = Refused(turn.receipt, outcome)
                elif outcome is not None:
                    left.append((place, replace(turn, end=outcome)))
            else:
                left.append((place, turn))
            used.add(turn.receipt)
        for place, turn in in_order_of_effect(left):
            error = yield partial(end_turn, turn=turn, keep=keep)
            if error is not None:
                refused[place] = Refused(turn.receipt, error)
        ended = [turn.end for place, turn in enumerate(turns) if place not in refused]
        then = [entry for end in ended for entry in following(end)]
        if then:
            yield partial(steps.push, entries=then, on_duplicate="ignore")
        return [refused[place] for place in sorted(refused)]

    def pop(
        self,
        queue: str,
        limit: int,
        keep: Retention | None = None,
        kinds: Collection[str] | None = None,
        apart: bool = False,
    ) -> Plan[list[Record]]:
        """Pop due messages, oldest first; see `MessageStore.pop`."""
        return alone(partial(steps.pop, queue=queue, limit=limit, keep=keep, kinds=kinds))

    def find(self, query: Query) -> Plan[list[Record]]:
        """Read messages without reserving them; see `MessageStore.find`."""
        return alone(partial(steps.find, query=query))

    def next_due(
        self,
        queues: Sequence[str],
        until: timedelta,
        kinds: Mapping[str, Collection[str]] | None = None,
        relied_on: bool = False,
    ) -> Plan[timedelta | None]:
        """Return how long until the next message is due; record nothing, because listeners hear about every push."""
        return alone(partial(steps.next_due, queues=queues, kinds=kinds or {}))
