"""The tasks of a worker whose handlers are given many messages at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import monotonic

from duerow.aio.worker_tasks import BREATH, Handlers
from duerow.worker.attempt import CURRENT, Attempt
from duerow.worker.in_flight import Ended, Slot


class BatchHandlers(Handlers):
    """As `Handlers`, by the batch: a handler has up to `batch` messages in hand, all of one queue."""

    async def _one_after_the_other(self, slot: Slot) -> None:
        """Handle what was claimed, and leave it to be settled."""
        breathed = monotonic()
        while batch := await self._next_batch(slot):
            self._hand.end_batch(await self._handle_batch(slot, batch))
            self._office.tell_ended()
            if (now := monotonic()) - breathed > BREATH:
                breathed = now
                await asyncio.sleep(0)

    async def _next_batch(self, slot: Slot) -> Sequence[Attempt]:
        """Wait for messages to be handled; [] when no more are to be begun here."""
        while not (self._shift.over or slot.abandoned):
            if batch := self._hand.next_batch(self._shift.terms.batch):
                return batch
            await self._rung()
        return []

    async def _handle_batch(self, slot: Slot, batch: Sequence[Attempt]) -> list[Ended]:
        """Await the handler; return how the turns end, or [] when that was decided without it."""
        slot.begin_batch(batch)
        CURRENT.set({attempt.message.id: attempt for attempt in batch})
        outcome = await self._call_handler(slot, [attempt.message for attempt in batch])
        each = (monotonic() - slot.started) / len(batch)
        for attempt in batch:
            attempt.seconds = each
        self._hand.pace.note(each * self._shift.terms.batch)
        return self._shift.conclude_batch(batch, outcome) if slot.end() else []
