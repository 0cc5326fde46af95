"""Consumers of message stations that survive a hanging function, in one of two ways.

If the function runs in the process of Spark's task, that process ends when the lease ends, and Spark starts another. A
function with a timeout runs in a child of that process, which is killed.
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
    """A consumer whose function runs in this process; the process ends if a call outlasts the lease of its message.

    By then this consumer has lost the message, and the other messages of its chunk as well.
    """

    def _call(self, chunk: Chunk, tally: Tally) -> None:
        with ending_process_after(self._station.lease.total_seconds()):
            super()._call(chunk, tally)


class ApartConsumer(TaskConsumer):
    """A consumer whose function runs in a child of this process, which is killed when a call takes too long.

    During a slow call, the rest of the chunk is settled or given back, and the lease of the call's message is extended.

    Args:
        station: see TaskConsumer. A call may take as long as its timeout, or as its lease if it has none.
        database: see TaskConsumer.
        max_hops: see TaskConsumer.
        chunk: see TaskConsumer.
        calls: the child.
        key: identifies the station in the child.
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
        """Return how the turn of a message ends, like `Station.settlement`, but with the call in the child."""
        self._calls.prepare(self._key, self._pickled, self._sealing)
        until = time.monotonic() + self._timeout.total_seconds()
        try:
            outcome = self._outcome(message, until)
        except BaseException:  # the next caller must not receive the result of this call
            self._calls.kill()
            raise
        return self._station.concluded(message, outcome, self._max_hops)

    def _outcome(self, message: Message, until: float) -> Any:
        """Return the station's decision, or the error that failed the attempt."""
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
        """Wait for the call; if it is slow, give back the rest of the chunk and keep extending the lease.

        Return why the call has to be abandoned: its time is up, or this consumer has lost its message.
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
        """Settle the messages of a chunk that are done, and give back those that have not begun."""
        chunk.release()
        self.settle(chunk.ended, tally)
        chunk.ended.clear()
