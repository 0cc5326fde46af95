"""The threads of a worker whose handlers are given many messages at once."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from duerow.sync.worker_threads import Crew
from duerow.worker.attempt import CURRENT, Attempt
from duerow.worker.in_flight import Ended, Slot


class BatchCrew(Crew):
    """As `Crew`, by the batch: a handler has up to `batch` messages in hand, all of one queue."""

    def _one_after_the_other(self, slot: Slot) -> None:
        """Handle what the fetcher claims; the settler settles it."""
        while batch := self._next_batch(slot):
            self._hand.end_batch(self._handle_batch(slot, batch))
            if not self._ended.is_set():
                self._ended.set()

    def _one_by_one(self, slot: Slot) -> None:
        """Claim, handle and settle batches of one, all in this thread."""
        while not slot.abandoned:
            with self._turn_to_claim:
                batch = self._carry_out(self._claiming.next(1))
            if not batch:
                return
            if ended := self._handle_batch(slot, batch):
                self._carry_out(self._settling.settle(ended))

    def _next_batch(self, slot: Slot) -> Sequence[Attempt]:
        """Wait for messages to be handled; [] when no more are to be begun here."""
        while not (self._shift.over or slot.abandoned):
            if batch := self._hand.next_batch(self._shift.terms.batch):
                return batch
            with self._work:
                self._work.wait_for(lambda: self._hand.waiting or self._shift.over)
        return []

    def _handle_batch(self, slot: Slot, batch: Sequence[Attempt]) -> list[Ended]:
        """Call the handler; return how the turns end, or [] when that was decided without it."""
        slot.begin_batch(batch)
        CURRENT.set({attempt.message.id: attempt for attempt in batch})
        outcome = self._call([attempt.message for attempt in batch])
        each = (monotonic() - slot.started) / len(batch)
        for attempt in batch:
            attempt.seconds = each
        self._hand.pace.note(each * self._shift.terms.batch)
        return self._shift.conclude_batch(batch, outcome) if slot.end() else []
