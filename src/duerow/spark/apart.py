"""Consumers of message stations that survive a function that hangs, in one of two ways.

Where the function runs in the process of Spark's task, that process ends when the lease is over, and Spark starts
another. A function with a timeout runs in a child of that process, which is killed.
"""

from __future__ import annotations

import logging
import time
from typing import Any, Final

from duerow.errors import DuerowError, HandlerDied, LeaseLost, StoreUnavailable, TimedOut
from duerow.message import Message
from duerow.pipeline import Station
from duerow.reservation import BareReservation
from duerow.settlement import Settlement
from duerow.spark.calls import Calls, Key, ending_process_after
from duerow.spark.consumer import Chunk, Tally, TaskConsumer
from duerow.sync.database import Database
from duerow.worker.middleware import around

LOG: Final = logging.getLogger("duerow.spark")


class WatchedConsumer(TaskConsumer):
    """A consumer whose function runs in this process, which ends if a call outlasts the lease of its message.

    Then the message is somebody else's, and so are the others of its chunk.
    """

    def _call(self, chunk: Chunk, tally: Tally) -> None:
        with ending_process_after(self._station.lease.total_seconds()):
            super()._call(chunk, tally)


class ApartConsumer(TaskConsumer):
    """A consumer whose function runs in a child of this process, which is killed when a call takes too long.

    While a slow call runs, the rest of its chunk is settled and given back, and the lease of its message is extended.

    Args:
        station: see TaskConsumer. A call may take as long as its timeout, or as its lease if it has none.
        database: see TaskConsumer.
        max_hops: see TaskConsumer.
        chunk: see TaskConsumer.
        calls: the child.
        key: identifies the station there.
        pickled: the station.
    """

    def __init__(
        self, station: Station, database: Database, max_hops: int, chunk: int, *, calls: Calls, key: Key, pickled: bytes
    ) -> None:
        super().__init__(station, database, max_hops, chunk)
        self._calls, self._key, self._pickled = calls, key, pickled
        self._max_hops, self._sealing = max_hops, database.encryption
        self._timeout = station.call_timeout or station.lease
        self._settlement = around(self._decided, (), awaited=False)
        self._in_hand: tuple[BareReservation, Chunk, Tally]

    def _call(self, chunk: Chunk, tally: Tally) -> None:
        began, waiting = chunk.since, chunk.waiting
        while waiting and began <= chunk.until:
            reservation = waiting.popleft()
            self._in_hand = reservation, chunk, tally
            settlement = self._settlement(reservation.message)
            now = time.monotonic()
            chunk.end(reservation, settlement, now - began)
            began = now

    def _decided(self, message: Message) -> Settlement:
        """Return how the turn of a message ends: as `Station.settlement` does, with the call in the child."""
        self._calls.prepare(self._key, self._pickled, self._sealing)
        until = time.monotonic() + self._timeout.total_seconds()
        try:
            outcome = self._outcome(message, until)
        except BaseException:  # whoever calls next must not receive what this call returns
            self._calls.kill()
            raise
        return self._station.concluded(message, outcome, self._max_hops)

    def _outcome(self, message: Message, until: float) -> Any:
        """Return what the station decides, or the error because of which the attempt has failed."""
        try:
            self._calls.begin(self._key, message)
        except HandlerDied as error:
            return error
        if (given_up := self._wait(until)) is not None:
            self._calls.kill()
            return given_up
        try:
            return self._calls.result()
        except Exception as error:
            return error

    def _wait(self, until: float) -> DuerowError | None:
        """Wait for the call; if it is slow, let others have the rest of its chunk, and keep its lease meanwhile.

        Return why the call has to be given up: its time is up, or its message is no longer this consumer's.
        """
        reservation, chunk, tally = self._in_hand
        if self._calls.ended(min(chunk.until, until) - time.monotonic()):
            return None
        if time.monotonic() < until:
            self._let_go(chunk, tally)
        third = self._station.lease.total_seconds() / 3
        while not self._calls.ended(min(third, until - time.monotonic())):
            if time.monotonic() >= until:
                return TimedOut(
                    f"message {reservation.message.id}: timed out after {self._timeout}: the function of "
                    f"{self._station} did not return, and its process was killed"
                )
            try:
                self._queue.extend(reservation)
            except LeaseLost as error:
                return error
            except StoreUnavailable as error:
                LOG.warning("%s: cannot extend a lease: %s", self._station, error)
        return None

    def _let_go(self, chunk: Chunk, tally: Tally) -> None:
        """Settle the part of a chunk that is done, and give back what has not begun."""
        chunk.release()
        self.settle(chunk.ended, tally)
        chunk.ended.clear()
