"""Who may do what with raw operations of the store: the rights that each operation requires, message by message."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from duerow.errors import ConfigurationError, NotSupported
from duerow.pipeline.graph import read_graph
from duerow.queue.limits import LIMITS
from duerow.queue.schedule import queue_of
from duerow.reservation import Receipt
from duerow.store import (
    Committed,
    End,
    Entry,
    Joined,
    Moved,
    Planned,
    Query,
    Record,
    Scan,
    ScheduleChange,
    StoredPipeline,
    Turn,
)
from duerow.web.api.common import check
from duerow.web.refusals import Refusal
from duerow.web.security.viewer import Right, Viewer
from duerow.web.web import Web

ANY_TOKEN: Final = (1 << 63) - 1


class StoreAccess:
    """What a viewer may do with the store.

    Args:
        web: the state of the web application.
        viewer: the viewer.
    """

    def __init__(self, web: Web, viewer: Viewer) -> None:
        self.web, self.viewer = web, viewer
        self._store = web.database.store

    def check(self, right: Right, *queues: str | None) -> None:
        """Raise Refusal unless the viewer has a right to these queues; NotSupported for rows of a user's table."""
        for queue in dict.fromkeys(queues):
            check(self.web, self.viewer, right, queue)
            if queue in self.web.options.queues:
                raise NotSupported(f"queue {queue!r} holds rows of the application's own table, not messages")

    def check_reads(self, *queues: str) -> None:
        """Raise Refusal unless the viewer may see whole messages of these queues; if redacted, only workers may."""
        self.check("view", *queues)
        if self.web.redacts:
            for queue in queues:
                if not self.viewer.may("consume", queue):
                    raise Refusal(
                        403, "redacted", f"payloads are redacted here: only workers of queue {queue!r} may read them"
                    )

    # Limits of a queue are messages in one of duerow's own queues: who may read or change them depends on their keys.

    def check_pushes(self, entries: Sequence[Entry]) -> list[str]:
        """Raise Refusal unless the viewer may push these messages; return the queues that they set limits for."""
        limited = _limited(LIMITS, [one.key for one in entries if one.queue == LIMITS])
        self.check("operate", *limited)
        self.check("push", *(one.queue for one in entries if one.queue != LIMITS))
        return limited

    def check_find(self, query: Query) -> None:
        """Raise Refusal unless the viewer may see the messages that a query finds."""
        if limited := _limited(query.queue, query.keys):
            self.check("view", *limited)
        else:
            self.check_reads(query.queue)

    def check_remove(self, queue: str, ids: Sequence[int], keys: Sequence[str]) -> list[str]:
        """Raise Refusal unless the viewer may remove these messages; return the queues that this changes."""
        changed = [] if ids else _limited(queue, keys)
        self.check("operate", *(changed or [queue]))
        return changed or [queue]

    def check_works(self) -> None:
        """Raise Refusal if the viewer may only read."""
        if self.viewer.read_only or not any({"operator", "worker"} & set(one) for one in self.viewer.roles.values()):
            raise Refusal(403, "forbidden", f"{self.viewer.name or 'this account'} may only read")

    def sees(self, queue: str | None) -> bool:
        """Return whether the viewer may see a queue; None: an unknown queue."""
        return self.viewer.may("view", queue) if queue is not None else self.viewer.may("operate", None)

    def ticks(self, queue: str | None) -> bool:
        """Return whether the viewer may let a schedule push to a queue; None: an unknown queue."""
        return self.viewer.may("push", queue) if queue is not None else self.viewer.may("operate", None)

    def is_free(self, queue: str) -> bool:
        """Return whether the viewer may end turns of a queue: its workers may, and its operators, who redrive."""
        return self.viewer.may("consume", queue) or self.viewer.may("operate", queue)

    # The queues that a push or a settlement reaches.

    async def check_dead_letter(self, queue: str, dead_letter: str | None) -> None:
        """Raise Refusal unless dead letters may go there: by their queue's definition, or with the right to push."""
        if dead_letter is not None and (await self.web.queue(queue, create=True)).dead_letter != dead_letter:
            self.check("push", dead_letter)

    async def check_targets(self, queue: str, turns: Iterable[Turn]) -> None:
        """Raise Refusal unless the viewer may push to each queue that turns of a queue send something to."""
        for turn in turns:
            await self._check_end(queue, turn.end)

    async def _check_end(self, queue: str, end: End) -> None:
        if isinstance(end, Committed):
            self.check("push", *(entry.queue for entry in end.then))
        elif isinstance(end, Moved) and end.dead:
            await self.check_dead_letter(queue, end.to)
        elif isinstance(end, Moved):
            self.check("push", end.to)
        elif isinstance(end, Joined):
            self.check("push", end.sets)
            await self._check_end(queue, end.full)
            if end.late is not None:
                await self._check_end(queue, end.late)

    async def owners(self, receipts: Sequence[Receipt], queues: Sequence[str | None]) -> dict[Receipt, str]:
        """Return the queue of each receipt that still holds and whose turn the viewer may end.

        Ids do not reveal queues, and tokens can be guessed, so the queue is looked up, never taken from the request.

        Args:
            receipts: the receipts.
            queues: the queue in which each message is likely to be; None: unknown.
        """
        wanted: dict[str, list[Receipt]] = defaultdict(list)
        unknown: list[Receipt] = []
        for receipt, queue in zip(receipts, queues, strict=True):
            if queue is None:
                unknown.append(receipt)
            elif self.is_free(queue):
                wanted[queue].append(receipt)
        found: dict[Receipt, str] = {}
        for queue, there in wanted.items():
            self.check("view", queue)
            records = await self.records(queue, [one.id for one in there])
            found |= {one: queue for one in there if one.id in records and records[one.id].token == one.token}
        for receipt in unknown:
            queue = await self._queue_of(receipt)
            if queue is not None and self.is_free(queue):
                found[receipt] = queue
        return found

    async def records(self, queue: str, ids: Collection[int]) -> dict[int, Record]:
        """Return the messages of a queue by their ids."""
        query = Query(queue, ids=tuple(dict.fromkeys(ids)), by_id=True, limit=len(ids))
        found = await self.web.database.run(lambda: self._store.messages.find(query)) if ids else []
        return {record.id: record for record in found}

    async def _queue_of(self, receipt: Receipt) -> str | None:
        """Return the queue of a message, in whichever queue it is; None: it is gone, or the store cannot tell."""
        if "bulk" not in self._store.capabilities.parts:
            return None
        scan = Scan(after=(receipt.id - 1, ANY_TOKEN), last=receipt.id, limit=1)
        found: list[Any] = [*await self.web.database.run(lambda: self._store.bulk.scan(scan))]
        return found[0].queue if found and found[0].token == receipt.token else None

    # Schedules and pipelines.

    async def check_schedule(self, change: ScheduleChange) -> bool:
        """Raise Refusal unless the viewer may make this change of a schedule; return whether it is only a tick.

        A tick pushes messages that an operator has declared, so the right to push to their queue is enough. Any other
        change requires an operator of both the old queue and the new one.
        """
        found = await self.web.database.run(lambda: self._store.metadata.schedules(change.name))
        before: Planned | None = found.rows[0] if found.rows else None
        after = change.after
        if before is not None and after is not None and before.definition == after.definition:
            queue = queue_of(before)
            if queue is not None and change.push and not self.viewer.may("operate", queue):
                self.check("push", queue)
                self._check_pushes(change.push, {queue})
                return True
            self.check("push" if queue is not None else "operate", queue)
            self._check_pushes(change.push, set() if queue is None else {queue})
            return True
        queues = {queue_of(one) for one in (before, after) if one is not None}
        self.check("operate", *queues)
        self._check_pushes(change.push, {one for one in queues if one is not None})
        return False

    @staticmethod
    def _check_pushes(entries: Iterable[Entry], queues: Collection[str]) -> None:
        for entry in entries:
            if entry.queue not in queues:
                raise Refusal(403, "forbidden", f"a schedule pushes only to its own queue, not to {entry.queue!r}")

    async def check_pipeline(self, name: str, after: StoredPipeline | None) -> None:
        """Raise Refusal unless the viewer is an operator of all queues of a pipeline, before and after the change."""
        known = await self.web.database.run(lambda: self._store.metadata.pipelines(name))
        for one in [*known, *([] if after is None else [after])]:
            self.check("operate", *_queues_of(one))

    def sees_pipeline(self, stored: StoredPipeline) -> bool:
        """Return whether the viewer may see all queues of a pipeline."""
        return all(self.sees(queue) for queue in _queues_of(stored))


def _limited(queue: str, keys: Sequence[str | None] | None) -> list[str]:
    """Return the queues whose limits are in the messages with these keys; nothing for messages of another queue.

    A message without a key limits no queue. It stands for the queue that it is in, which nobody may change.
    """
    if queue != LIMITS or not keys:
        return []
    return list(dict.fromkeys(LIMITS if key is None else key for key in keys))


def _queues_of(stored: StoredPipeline) -> Sequence[str | None]:
    """Return the queues of a pipeline; None, which stands for all queues, if this version cannot read it."""
    try:
        return read_graph(stored.name, stored.definition).queues
    except ConfigurationError:
        return [None]


def missing(receipts: Sequence[Receipt], found: Mapping[Receipt, str]) -> list[Receipt]:
    """Return the receipts that are not valid, or not for this viewer."""
    return [one for one in receipts if one not in found]
