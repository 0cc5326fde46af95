"""Executes a worker's steps for its permits; see `duerow.worker.cluster_limit`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from duerow.aio.executor import Executor
from duerow.aio.queue import Queue
from duerow.message import Draft
from duerow.retry import fixed
from duerow.store.consumer_id import new_claim
from duerow.worker.cluster_limit import ExtendPermits, GivePermits, MakePermits, RecallBegun, TakePermits, permit_queue
from duerow.worker.rate_limit import ENTRIES, NoteBegun
from duerow.worker.run import Run


class PermitDesk:
    """The queue of a worker's permits, and the queue that records what a rate has allowed, one message per entry.

    An entry is due when it no longer counts, by the database's clock.

    Args:
        run: the run that needs the permits.
        database: the database of the worker's queues.
    """

    def __init__(self, run: Run, database: Executor) -> None:
        options = run.options
        name = permit_queue("singleton" if options.singleton else "concurrency", run.queues)
        self._queue: Queue = Queue(database, name, lease=options.lease, retry=fixed(timedelta(0)))
        self._begun: Queue = Queue(database, permit_queue("rate", run.queues))
        self._worker, self._lease = options.name, options.lease

    @property
    def actions(self) -> dict[type, Callable[[Any], Any]]:
        """The function that executes each step."""
        return {
            MakePermits: self._make,
            TakePermits: self._take,
            ExtendPermits: self._extend,
            GivePermits: self._give,
            RecallBegun: self._recall,
            NoteBegun: self._note,
        }

    async def _make(self, step: MakePermits) -> Any:
        return await self._queue.push_many([Draft(number, key=str(number)) for number in range(step.total)])

    async def _take(self, step: TakePermits) -> Any:
        return await self._queue.reserve_many(step.limit, consumer=new_claim(self._worker))

    async def _extend(self, step: ExtendPermits) -> Any:
        return await self._queue.extend_many(step.reservations)

    async def _give(self, step: GivePermits) -> Any:
        if step.for_good:
            return await self._queue.commit_many(step.reservations)
        return await self._queue.release_many(step.reservations)

    async def _recall(self, step: RecallBegun) -> list[tuple[float, int]]:
        now = step.permit.until - self._lease
        entries = await self._begun.find(order="-due_at", limit=10 * ENTRIES)
        return [((one.due_at - now).total_seconds(), one.payload) for one in entries if one.due_at and one.due_at > now]

    async def _note(self, step: NoteBegun) -> None:
        if step.new:
            await self._begun.pop_many(ENTRIES)  # they no longer count
        await self._begun.push(step.total, key=step.entry, delay=step.span, on_duplicate="replace")
