"""How the driver of a run sleeps while it has nothing to start."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from duerow.backoff import Delays
from duerow.queue.poll import poll_interval
from duerow.sync.wakeup import Wakeup
from duerow.worker.prefetch import FIRST_POLL, Interval

if TYPE_CHECKING:
    from duerow.sync.queue import Queue

SHORT_SLEEP: Final = 0.5
"""The longest sleep, in seconds, while the driver waits for more than pushes, and between checks of the stop event."""

LOG: Final = logging.getLogger("duerow.spark")


class DriverSleep:
    """Sleeps of growing length, which end early on a push into the stations' queues or at the end of a round.

    Args:
        run: the name of the run, for the log.
        queue: one of the queues, for its database.
        queues: the names of all queues.
    """

    def __init__(self, run: object, queue: Queue[Any], queues: Sequence[str]) -> None:
        self._run, self.queues, self.gave_up = run, queues, False
        self._hears, self._told_deaf, self._heard = False, False, False
        self._ended = threading.Event()
        self._interval, self._in_vain = Interval(), Delays(FIRST_POLL, SHORT_SLEEP)
        self._wakeup = Wakeup(self, queue)

    @property
    def hears(self) -> bool:
        """Whether pushes end sleeps."""
        return self._hears

    @property
    def poll(self) -> float:
        """The longest sleep, in seconds: as long as an idle worker sleeps."""
        return poll_interval(self._hears).total_seconds()

    def hears_again(self) -> None:
        """Record that pushes end sleeps from now on."""
        self._hears, self._told_deaf = True, False

    def hears_no_more(self, error: Exception) -> None:
        """Record that pushes no longer end sleeps; this is logged once, not at every attempt."""
        if not self._told_deaf:
            LOG.warning("%s: cannot listen for pushes: %s; polling instead", self._run, error)
        self._hears, self._told_deaf = False, True

    def rest(self) -> None:
        """Begin with the longest sleep, because nothing has happened for long enough."""
        self._interval.rest()

    def listen(self) -> None:
        """Start listening for pushes, if the database reports them."""
        self._wakeup.listen()

    def wake(self) -> None:
        """End the sleep because a round has ended; can be called from any thread."""
        self._ended.set()
        self._wakeup.wake()

    def started(self, anything: bool) -> None:
        """Record whether the last check started anything.

        A notification that starts nothing is a push into a queue that already has a round, or on SQLite any change at
        all. There may be thousands a second, so the driver stops listening for a moment.
        """
        if anything:
            self._interval.reset()
            self._in_vain.reset()
        elif self._heard:
            self._ended.wait(self._in_vain.next())
        self._heard = False

    def sleep(self, most: float, due_in: timedelta | None, stop: threading.Event, after_push: float = 0.0) -> bool:
        """Sleep until a push, the end of a round, the time when something is due, or the stop of the run.

        Return whether a push ended the sleep.

        Args:
            most: the longest sleep, in seconds.
            due_in: how long until something is due.
            stop: stops the run.
            after_push: the seconds for which to sleep on after a push, so that others can handle it in the meantime.
        """
        seconds = self._interval.next(most)
        if due_in is not None and due_in > timedelta(0):
            seconds = min(seconds, due_in.total_seconds())
        until, self._heard = monotonic() + seconds, False
        while not stop.is_set() and (left := until - monotonic()) > 0:
            if self._wakeup.wait(min(left, SHORT_SLEEP)):
                self._heard = not self._ended.is_set()
                if after_push:
                    self._ended.wait(after_push)
                break
        self._ended.clear()
        return self._heard

    def close(self) -> None:
        """Stop listening."""
        self._wakeup.close()
