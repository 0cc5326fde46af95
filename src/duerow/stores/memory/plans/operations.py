"""Inspect queues and change messages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from duerow.conditions.fields import Path
from duerow.conditions.model import Condition
from duerow.plan import Plan
from duerow.store import Change, Indexed, Inspection, QueueStats, Record, Refused, Removal, Retention, Tally
from duerow.stores.memory import steps
from duerow.stores.memory.plans.single_step import alone


class MemoryOperations:
    """Queue statistics, and changes to messages; see `duerow.store.OperationStore`."""

    def peek(self, queue: str, limit: int) -> Plan[list[Record]]:
        """Read due messages without reserving them; see `OperationStore.peek`."""
        return alone(partial(steps.peek, queue=queue, limit=limit))

    def count(self, queue: str) -> Plan[dict[str, int]]:
        """Count the queue's messages by status; see `OperationStore.count`."""
        return alone(partial(steps.count, queue=queue))

    def tally(
        self, queue: str, where: Condition | None, by: Path | None, limit: int | None, indexed: tuple[Indexed, ...] = ()
    ) -> Plan[Tally]:
        """Count messages by the value at a path; see `OperationStore.tally`."""
        return alone(partial(steps.tally, queue=queue, where=where, by=by, limit=limit))

    def queue_stats(self, queue: str, cap: int | None) -> Plan[QueueStats]:
        """Return the statistics of a queue; see `OperationStore.queue_stats`."""
        return alone(partial(steps.queue_stats, queue=queue, cap=cap))

    def inspect(self, queue: str, id: int | None, key: str | None) -> Plan[Inspection | None]:
        """Read a message and what prevents its delivery; see `OperationStore.inspect`."""
        return alone(partial(steps.inspect, queue=queue, id=id, key=key))

    def queues(self, with_empty: bool = False) -> Plan[list[str]]:
        """List the known queues; see `OperationStore.queues`."""
        return alone(partial(steps.queues, with_empty=with_empty))

    def change(self, queue: str, changes: Sequence[Change], even_if_leased: bool, dry_run: bool) -> Plan[list[Refused]]:
        """Change messages; see `OperationStore.change`."""
        return alone(
            partial(steps.change, queue=queue, changes=changes, even_if_leased=even_if_leased, dry_run=dry_run)
        )

    def remove(
        self, queue: str, ids: Sequence[int], keys: Sequence[str], even_if_leased: bool, keep: Retention | None = None
    ) -> Plan[Removal]:
        """Remove messages by id or key; see `OperationStore.remove`."""
        named: dict[str, Any] = {"ids": ids, "keys": keys, "even_if_leased": even_if_leased}
        return alone(partial(steps.remove, queue=queue, keep=keep, **named))

    def purge(self, queue: str, limit: int, last: int) -> Plan[int]:
        """Delete messages in any state; see `OperationStore.purge`."""
        return alone(partial(steps.purge, queue=queue, limit=limit, last=last))
