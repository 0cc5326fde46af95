"""Ends the sleep of a worker that found nothing: on a push, on a call, or after some time."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from duerow.aio.queue import Queue
from duerow.aio.several_queues import SeveralQueues
from duerow.errors import StoreUnavailable
from duerow.store import AsyncListener
from duerow.worker.run import Sleeper


class Wakeup:
    """Sleeps until a push, a call of `wake`, or a timeout.

    Args:
        run: the run that sleeps.
        queue: gives access to the database with the run's queues.
    """

    def __init__(self, run: Sleeper, queue: Queue | SeveralQueues) -> None:
        self._run, self._queue = run, queue
        self._possible = queue.database.store.capabilities.wakes_consumers
        self._listener: AsyncListener | None = None
        self._called = asyncio.Event()

    async def listen(self) -> None:
        """Listen for pushes from now on, if the store announces them and can be reached."""
        if not self._possible or self._listener is not None or self._run.gave_up:
            return
        try:
            self._listener = await self._queue.database.connections.listen(self._run.queues)
        except StoreUnavailable as error:
            self._run.hears_no_more(error)
        else:
            if not getattr(self._listener, "silent", False):
                self._run.hears_again()

    async def wait(self, seconds: float) -> bool:
        """Sleep; return whether something ended the sleep early."""
        listener = self._listener
        if listener is not None and not self._called.is_set():
            try:
                heard = await listener.wait(seconds)
            except StoreUnavailable as error:
                await self.close()
                self._run.hears_no_more(error)
                seconds = min(seconds, self._run.poll)
            else:
                return self._was_called() or heard
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._called.wait()
        return self._was_called()

    def wake(self) -> None:
        """End this sleep or the next one."""
        self._called.set()
        if self._listener is not None:
            self._listener.wake()

    async def close(self) -> None:
        """Stop listening."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(StoreUnavailable):  # a lost connection needs no closing
                await listener.close()

    def _was_called(self) -> bool:
        called = self._called.is_set()
        if called:
            self._called.clear()
        return called
