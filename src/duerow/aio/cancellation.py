"""How a worker learns that messages were cancelled, or that somebody asked about them, while their handlers run."""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import timedelta
from time import monotonic
from typing import Final

from duerow.aio.queue import Queue
from duerow.aio.several_queues import SeveralQueues
from duerow.errors import StoreUnavailable
from duerow.store import AsyncListener, cancellations
from duerow.worker.run import Run
from duerow.worker.stack import places

UNTOLD: Final = 0.5
"""Seconds to wait if the database sends no notifications; the worker then checks and pauses: one check a second."""

NOTED: Final = 5.0
"""Seconds for which the database needs to be told only once that this worker is listening."""


class CancellationListener:
    """Listens for cancelled messages and for questions about messages.

    It uses a separate connection, because the worker may be sleeping on the other one. If the database sends no
    notifications, each wait is short, and the worker checks by itself.
    """

    def __init__(self, run: Run, queue: Queue | SeveralQueues) -> None:
        self._database = queue.database
        self._asked = [] if queue.locked_while_handled else places(run.queues)
        self._names = [*map(cancellations, run.queues), *self._asked]
        self._noted_at = float("-inf")
        self._told = self._database.store.capabilities.wakes_consumers
        self._listener: AsyncListener | None = None
        self._turn = threading.Lock()  # wake() must not find the listener closed

    async def wait(self, seconds: float) -> bool:
        """Wait at most this many seconds; return whether messages may have been cancelled or asked about.

        The first call starts listening and returns true at once, because nothing announced what happened before.

        Raises:
            StoreUnavailable: the connection cannot be opened, or broke; the next call opens another.
        """
        await self._note()
        if self._listener is None:
            self._listener = await self._database.connections.listen(self._names)
            return True
        try:
            heard = await self._listener.wait(seconds if self._told else min(seconds, UNTOLD))
            return heard or not self._told
        except StoreUnavailable:
            await self.close()
            raise

    async def _note(self) -> None:
        """Ensure that pushed questions wake this worker: some databases wake only workers that are known to sleep."""
        if self._told and self._asked and monotonic() - self._noted_at >= NOTED:
            self._noted_at = monotonic()
            until = timedelta(seconds=2 * NOTED)
            await self._database.run(lambda: self._database.store.messages.next_due(self._asked, until))

    def wake(self) -> None:
        """End the current wait."""
        with self._turn:
            if self._listener is not None:
                self._listener.wake()

    async def close(self) -> None:
        """Stop listening."""
        with self._turn:
            listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(StoreUnavailable):  # a lost connection needs no closing
                await listener.close()
