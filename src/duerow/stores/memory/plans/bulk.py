"""Batches for engines, scans, and imports from other databases."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from duerow.errors import BatchRefused, NotSupported
from duerow.message import OnDuplicate
from duerow.plan import BEGIN, Plan
from duerow.reservation import Receipt
from duerow.store import (
    Arrival,
    Entry,
    HistoryRow,
    Lease,
    MessageHeader,
    Published,
    Reception,
    Record,
    Retention,
    Scan,
    Turn,
)
from duerow.stores.memory import batches, steps
from duerow.stores.memory import history as past
from duerow.stores.memory import receive as receiving
from duerow.stores.memory.plans.messages import MemoryMessages
from duerow.stores.memory.plans.single_step import alone


class MemoryBulk:
    """Batches for engines, scans, and imports from other databases; see `duerow.store.BulkStore`.

    Args:
        messages: ends the turns of a batch.
        receives: whether messages can be imported from another database.
    """

    def __init__(self, messages: MemoryMessages, receives: bool) -> None:
        self._messages, self._receives = messages, receives

    def lend(
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
    ) -> Plan[Lease]:
        """Lend due messages and return their receipts; see `BulkStore.lend`."""
        terms: dict[str, Any] = {"lease": lease, "attempts": attempts, "consumer": consumer, "dead_letter": dead_letter}
        return alone(partial(batches.lend, queue=queue, limit=limit, keep=keep, kinds=kinds, **terms))

    def leased_range(self, queue: str, consumer: str, first: int, last: int, limit: int) -> Plan[list[Record]]:
        """Read the messages of a claim in a range of ids; see `BulkStore.leased_range`."""
        ids: dict[str, Any] = {"first": first, "last": last, "limit": limit}
        return alone(partial(batches.leased_range, queue=queue, consumer=consumer, **ids))

    def message_headers(self, queue: str, receipts: Sequence[Receipt]) -> Plan[list[MessageHeader]]:
        """Read messages without their payloads; see `BulkStore.message_headers`."""
        return alone(partial(batches.message_headers, queue=queue, receipts=receipts))

    def stage(self, batch: str, part: str, entries: Sequence[Entry]) -> Plan[None]:
        """Stage entries, which no consumer sees yet; see `BulkStore.stage`."""
        return alone(partial(batches.stage, batch=batch, part=part, entries=entries))

    def publish(
        self,
        batch: str,
        parts: Mapping[str, int],
        turns: Sequence[Turn] = (),
        on_duplicate: OnDuplicate = "ignore",
        once: str | None = None,
        keep: Retention | None = None,
    ) -> Plan[Published]:
        """End turns and publish what a batch staged; see `BulkStore.publish`."""
        yield BEGIN
        if once is not None and not (yield partial(batches.note, name=once)):
            return Published(True, 0)
        entries: list[Entry] = yield partial(batches.chosen, batch=batch, parts=parts)
        refused = yield from self._messages.settle(turns, keep)
        if refused:
            raise BatchRefused(batch, refused)
        yield partial(steps.push, entries=entries, on_duplicate=on_duplicate)
        yield partial(batches.discard, batch=batch)
        return Published(False, len(entries))

    def discard(self, batch: str) -> Plan[None]:
        """Discard what a batch staged; see `BulkStore.discard`."""
        return alone(partial(batches.discard, batch=batch))

    def scan(self, query: Scan) -> Plan[list[Record] | list[HistoryRow]]:
        """Read messages or turns of many queues; see `BulkStore.scan`."""
        return alone(partial(past.scan if query.turns else steps.scan, query=query))

    def receive(
        self, arrivals: Sequence[Arrival], history: timedelta = timedelta(0), final: bool = False
    ) -> Plan[list[Reception]]:
        """Import messages and finished turns from another database; see `BulkStore.receive`."""
        if not self._receives:
            raise NotSupported(
                "messages from another database arrive in one transaction, and this in-memory store was opened with "
                "transactions=off; open it without that option"
            )
        return alone(partial(receiving.receive, arrivals=arrivals, history=history, final=final))
