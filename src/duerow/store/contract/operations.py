"""The part of the contract for operators: inspect queues, change messages and remove them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from duerow.conditions.fields import Path
from duerow.conditions.model import Condition
from duerow.plan import Plan
from duerow.store.metadata import Indexed, QueueStats
from duerow.store.reads import Change, Inspection, Removal, Tally
from duerow.store.writes import Record, Refused, Retention


class OperationStore(Protocol):
    """Messages as operators see and change them."""

    def peek(self, queue: str, limit: int) -> Plan[list[Record]]:
        """Read up to `limit` messages that `reserve` would lend, in its order; of each group, only the next message."""
        ...

    def count(self, queue: str) -> Plan[dict[str, int]]:
        """Count the queue's messages by status; a status without messages may be missing."""
        ...

    def tally(
        self,
        queue: str,
        where: Condition | None,
        by: Path | None,
        limit: int | None,
        indexed: tuple[Indexed, ...] = (),
    ) -> Plan[Tally]:
        """Count at most `limit` + 1 of the messages that match a condition, by the value at a path.

        Args:
            queue: the queue to count in.
            where: the condition; None: all messages.
            by: the path; None: all messages are counted together.
            limit: see above; None: count all.
            indexed: as in `Query`.
        """
        ...

    def queue_stats(self, queue: str, cap: int | None) -> Plan[QueueStats]:
        """Return the state of a queue; count each number up to `cap` at most."""
        ...

    def inspect(self, queue: str, id: int | None, key: str | None) -> Plan[Inspection | None]:
        """Read a message by id, or a live message by key, and what may keep it from a consumer."""
        ...

    def queues(self, with_empty: bool = False) -> Plan[list[str]]:
        """List the names of the queues that have messages, in order of name.

        With `with_empty`, also list the queues that have no messages but still have turns, keys or counts.
        """
        ...

    def change(self, queue: str, changes: Sequence[Change], even_if_leased: bool, dry_run: bool) -> Plan[list[Refused]]:
        """Change messages, in one transaction if the store supports that; return the changes that were refused.

        Each change increments the token and clears the lease, even one that has already ended unsettled. A message
        whose running lease is cleared is due at once unless the change says otherwise. A dead message that gets a due
        time becomes live again, with status `error`. A change is refused if the token has changed (LeaseLost), if a
        lease is running (MessageLeased) unless `even_if_leased`, or if another live message holds the key
        (DuplicateKey). A dry run changes nothing and refuses the same messages.
        """
        ...

    def remove(
        self, queue: str, ids: Sequence[int], keys: Sequence[str], even_if_leased: bool, keep: Retention | None = None
    ) -> Plan[Removal]:
        """Take messages out of the queue by id, and live messages by key; remember their keys as `keep` says."""
        ...

    def purge(self, queue: str, limit: int, last: int) -> Plan[int]:
        """Delete up to `limit` of the queue's messages with ids up to `last`, in any state; return how many."""
        ...
