"""The threads of a worker whose handlers run in processes: each waits for its own child process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from duerow.settlement import Settlement
from duerow.sync.worker_batches import BatchHandlers
from duerow.sync.worker_threads import Handlers
from duerow.worker.attempt import Attempt
from duerow.worker.child_process import Child
from duerow.worker.in_flight import Ended, Slot
from duerow.worker.supervisor import DropSlot


class Processes:
    """A handler that passes its work to the child process of the calling thread.

    Args:
        handler: the handler, pickled.
    """

    def __init__(self, handler: bytes) -> None:
        self._handler = handler
        self._mine = threading.local()

    def __call__(self, subject: Any) -> Any:
        """Hand a message, or the list of a batch, to the child."""
        return self.mine().call(subject)

    def mine(self) -> Child:
        """Return the child of this thread."""
        child: Child = self._mine.child
        return child

    def open(self, name: str) -> Child:
        """Give this thread a child."""
        self._mine.child = Child(self._handler, name)
        return self.mine()


class _InProcesses(Handlers):
    """Gives each handler's thread a child, and kills those whose time is up."""

    def __init__(self, *args: Any, processes: Processes) -> None:
        super().__init__(*args)
        self._processes = processes
        self._children: dict[Slot, Child] = {}
        self._actions[DropSlot] = self._drop_slot

    def work(self) -> None:
        """Start working; return when the run and all its children have ended."""
        try:
            super().work()
        finally:
            for child in list(self._children.values()):
                child.kill()

    def _one_after_the_other(self, slot: Slot) -> None:
        self._with_child(slot, super()._one_after_the_other)

    def _one_by_one(self, slot: Slot) -> None:
        self._with_child(slot, super()._one_by_one)

    def _with_child(self, slot: Slot, body: Any) -> None:
        child = self._children[slot] = self._processes.open(f"duerow-{self._queue.name}")
        slot.look = child.frames
        try:
            child.ready()
            body(slot)
        finally:
            child.close()
            self._children.pop(slot, None)

    def _drop_slot(self, step: DropSlot) -> None:
        if (child := self._children.get(step.slot)) is not None:
            child.kill()


class ProcessHandlers(_InProcesses):
    """Like `Handlers`, but in processes."""

    def _handle(self, slot: Slot, attempt: Attempt) -> Settlement | None:
        slot.prepare(attempt)
        self._processes.mine().ready()  # a new one after a crash, before the handler's time begins
        return None if slot.abandoned else super()._handle(slot, attempt)


class ProcessBatchHandlers(_InProcesses, BatchHandlers):
    """Like `BatchHandlers`, but in processes."""

    def _handle_batch(self, slot: Slot, batch: Any) -> Sequence[Ended]:
        slot.prepare(*batch)
        self._processes.mine().ready()
        return [] if slot.abandoned else super()._handle_batch(slot, batch)
