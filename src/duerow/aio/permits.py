"""Carries out what a worker asks about its permits; see `duerow.working.permits`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from duerow.aio.queue import Queue
from duerow.consumer import new_claim
from duerow.message import Draft
from duerow.retry import fixed
from duerow.working.permits import ExtendPermits, GivePermits, MakePermits, TakePermits, permit_queue
from duerow.working.shift import Shift


class PermitDesk:
    """The queue of a worker's permits.

    Args:
        shift: the shift that wants them.
        database: where the worker's queues are.
    """

    def __init__(self, shift: Shift, database: Any) -> None:
        terms = shift.terms
        name = permit_queue("singleton" if terms.singleton else "concurrency", shift.queues)
        self._queue: Queue = database.queue(name, lease=terms.lease, retry=fixed(timedelta(0)))
        self._worker = terms.name

    @property
    def actions(self) -> dict[type, Callable[[Any], Any]]:
        """How each step is carried out."""
        return {
            MakePermits: self._make,
            TakePermits: self._take,
            ExtendPermits: self._extend,
            GivePermits: self._give,
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
