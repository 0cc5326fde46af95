# Generated from ../aio/worker_batches.py by tools/generate_sync.py; edit that file instead.
"""The handlers of a worker that take many messages at once."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from duerow.sync.worker_threads import Handlers
from duerow.worker.attempt import CURRENT, Attempt
from duerow.worker.in_flight import Ended, Slot


class BatchHandlers(Handlers):
    """Like `Handlers`, but a handler takes up to `batch` messages at once, all from one queue."""

    def _take(self) -> Sequence[Attempt]:
        batch = self._in_flight.next_batch(self._run.options.batch)
        if self._in_flight.waiting:  # another slot may have seen none while this one looked at a message and left it
            self._ring(1)
        return batch

    def _work_on(self, slot: Slot, batch: Sequence[Attempt]) -> Sequence[Ended]:  # type: ignore[override]
        return self._handle_batch(slot, batch)

    def _handle_batch(self, slot: Slot, batch: Sequence[Attempt]) -> Sequence[Ended]:
        """Call the handler; return how the turns end, or [] if that was decided without it."""
        slot.begin_batch(batch)
        CURRENT.set({attempt.message.id: attempt for attempt in batch})
        outcome = self._call_handler(slot, [attempt.message for attempt in batch])
        each = (monotonic() - slot.started) / len(batch)
        for attempt in batch:
            attempt.seconds = each
        self._in_flight.prefetch.note(each * self._run.options.batch)
        return self._run.conclude_batch(batch, outcome) if slot.end() else []
