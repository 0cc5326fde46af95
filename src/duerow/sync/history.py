# Generated from ../aio/history.py by tools/generate_sync.py; edit that file instead.
"""What an operator asks of a queue's past: what became of messages, and to push them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from duerow.conditions.model import Condition
from duerow.payload.encoding import Payloads
from duerow.queue import history as past
from duerow.queue.history import Event, Replayed
from duerow.store import Store
from duerow.sync.edits import P

if TYPE_CHECKING:
    from duerow.sync.database import Database


class History(Generic[P]):
    """The part of a queue that is about its history; see `Queue`."""

    database: Database
    name: str
    _store: Store
    _payloads: Payloads

    def history(
        self,
        where: str | Condition | None = None,
        *,
        id: int | None = None,
        limit: int = 100,
        after: Event[Any] | None = None,
    ) -> list[Event[P]]:
        """Return turns that are over, the latest first, a page at a time.

        There are those of handles that were declared with `history=…`, for as long as that says. Turns that were
        given back unstarted are not among them, nor what an operator changed or removed.

        Args:
            where: only those of which a condition holds, which may speak of the fields of an `Event`:
                `outcome = 'failed' and payload.companyId = 3345 and error.type = 'TimeoutError'`.
            id: only those of this message.
            limit: how many at most.
            after: the last one of the page before.

        Raises:
            InvalidCondition: the condition cannot be read, or speaks of what turns do not have.
            ConfigurationError: `id`, `limit` or `after` is none.
        """
        query = past.asked(self.name, where, id, limit, after)
        found = self.database.run(lambda: self._store.history(query))
        return [past.event(one, self._payloads) for one in found]

    def replay(
        self,
        id: int | None = None,
        *,
        where: str | Condition | None = None,
        limit: int | None = None,
        dry_run: bool = False,
    ) -> Replayed:
        """Push what ended again: as new messages, with new ids and the header `replay-of`, due at once.

        Each has the content, the key, the group and the priority of the turn that is replayed; one whose key a live
        message has is skipped. Only ends can be replayed (done, moved, dropped, dead), not failed attempts. What ends
        meanwhile is not looked at. In batches, those that ended first first.

        Args:
            id: the message whose last end is meant.
            where: all ends of which a condition holds, as for `history`.
            limit: how many ends at most.
            dry_run: push nothing, only count.

        Raises:
            InvalidMessage: the message has no end in this queue's history.
            InvalidCondition: the condition cannot be read, or speaks of what turns do not have.
            ConfigurationError: not exactly one of id and where was given, or the id or the limit is none.
        """
        chosen = past.choice(self.name, id, where, limit)
        batch = self.database.run(lambda: past.replay(self._store, chosen, None, dry_run))
        while batch.last is not None:
            batch = self.database.run(lambda before=batch: past.replay(self._store, chosen, before, dry_run))  # type: ignore[misc]
        return batch.done
