"""The tasks of a worker whose handlers run in processes: each has a child process, and a thread that waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, Final

from duerow.aio.worker_batches import BatchHandlers
from duerow.aio.worker_tasks import Handlers
from duerow.settlement import Settlement
from duerow.worker.attempt import Attempt
from duerow.worker.child_process import Child
from duerow.worker.in_flight import Ended, Slot
from duerow.worker.stack import StackFrame


class AwaitedChild:
    """A child process, and a thread that does nothing but wait for it."""

    def __init__(self, handler: bytes, name: str) -> None:
        self._child = Child(handler, name)
        self._threads = ThreadPoolExecutor(1, name)

    async def ready(self) -> None:
        """Same as Child.ready."""
        if not self._child.running:
            await self._await(self._child.ready)

    async def call(self, subject: Any) -> Any:
        """Same as Child.call; if cancelled, kill the child."""
        try:
            return await self._await(self._child.call, subject)
        except asyncio.CancelledError:
            self._child.kill()
            raise

    def frames(self) -> Sequence[StackFrame]:
        """Same as Child.frames."""
        return self._child.frames()

    async def close(self) -> None:
        """Same as Child.close."""
        await self._await(self._child.close)

    def give_up(self) -> None:
        """Kill the child if it is still running, and release the thread."""
        self._child.kill()
        self._threads.shutdown(wait=False)

    async def _await(self, function: Callable[..., Any], *values: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *values)


_MINE: Final[ContextVar[AwaitedChild]] = ContextVar("duerow_child")


class Processes:
    """A handler that passes its work to the child process of the calling task.

    Args:
        handler: the handler, pickled.
    """

    def __init__(self, handler: bytes) -> None:
        self._handler = handler

    async def __call__(self, subject: Any) -> Any:
        """Hand a message, or the list of a batch, to the child."""
        return await _MINE.get().call(subject)

    def open(self, name: str) -> AwaitedChild:
        """Give this task a child."""
        child = AwaitedChild(self._handler, name)
        _MINE.set(child)
        return child


class _InProcesses(Handlers):
    """Gives each handler's task a child."""

    def __init__(self, *args: Any, processes: Processes) -> None:
        super().__init__(*args)
        self._processes = processes

    async def _one_after_the_other(self, slot: Slot) -> None:
        child = self._processes.open(f"duerow-{self._run.queue}")
        slot.look = child.frames
        try:
            await child.ready()
            await super()._one_after_the_other(slot)
            await child.close()
        finally:
            child.give_up()


class ProcessHandlers(_InProcesses):
    """Like `Handlers`, but in processes."""

    async def _handle(self, slot: Slot, attempt: Attempt) -> Settlement | None:
        slot.prepare(attempt)
        await _MINE.get().ready()  # a new one after a crash, before the handler's time begins
        return None if slot.abandoned else await super()._handle(slot, attempt)


class ProcessBatchHandlers(_InProcesses, BatchHandlers):
    """Like `BatchHandlers`, but in processes."""

    async def _handle_batch(self, slot: Slot, batch: Any) -> Sequence[Ended]:
        slot.prepare(*batch)
        await _MINE.get().ready()
        return [] if slot.abandoned else await super()._handle_batch(slot, batch)
