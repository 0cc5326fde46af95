# Generated from ../aio/cancellation.py by tools/generate_sync.py; edit that file instead.
"""How a worker hears that messages were cancelled while their handlers run."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Final

from duerow.errors import StoreUnavailable
from duerow.store import Listener, cancellations
from duerow.sync.queue import Queue
from duerow.sync.several_queues import SeveralQueues
from duerow.worker.run import Run

UNTOLD: Final = 0.5
"""Seconds to wait where the database tells nothing; after it the worker looks, and rests as long: a look a second."""


class CancellationListener:
    """Hears of cancelled messages on a connection of its own, since the worker may sleep on the other one.

    Where the database tells nothing, each wait is short, and the worker looks for itself.
    """

    def __init__(self, run: Run, queue: Queue | SeveralQueues) -> None:
        self._database = queue.database
        self._names = [cancellations(name) for name in run.queues]
        self._told = self._database.store.capabilities.wakes_consumers
        self._listener: Listener | None = None
        self._turn = threading.Lock()  # whoever wakes a listener must not find it closed

    def wait(self, seconds: float) -> bool:
        """Wait at most this many seconds; return whether messages may have been cancelled.

        The first call begins to listen, and returns at once: nobody has told what happened before.

        Raises:
            StoreUnavailable: the connection cannot be opened, or broke; the next call opens another.
        """
        if self._listener is None:
            self._listener = self._database.connections.listen(self._names)
            return True
        try:
            heard = self._listener.wait(seconds if self._told else min(seconds, UNTOLD))
            return heard or not self._told
        except StoreUnavailable:
            self.close()
            raise

    def wake(self) -> None:
        """End a running wait."""
        with self._turn:
            if self._listener is not None:
                self._listener.wake()

    def close(self) -> None:
        """Hear nothing more."""
        with self._turn:
            listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(StoreUnavailable):  # a connection that is gone needs no closing
                listener.close()
