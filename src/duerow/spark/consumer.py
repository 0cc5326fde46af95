"""A message station's consumer in an executor: claim a chunk, call the function for each message, settle, repeat."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from duerow.errors import LeaseLost, StoreUnavailable
from duerow.payload.encoding import is_quiet
from duerow.pipeline import Station
from duerow.plan import run
from duerow.queue.metrics import counts_by_name
from duerow.reservation import BareReservation
from duerow.settlement import Bury, Release, Rollback, Settlement
from duerow.store import Refused
from duerow.store.consumer_id import new_claim
from duerow.sync.database import Database
from duerow.worker.attempt import Attempt
from duerow.worker.in_flight import Ended
from duerow.worker.middleware import around
from duerow.worker.outage import patiently
from duerow.worker.poison import begin_with
from duerow.worker.run import GRACE, Options, Run
from duerow.worker.settler import Freed, Pause, Settle, Settler

if TYPE_CHECKING:
    from duerow.sync.queue import Queue

T = TypeVar("T")

OnlyKinds = Mapping[str, Collection[str]]
"""The queues that hold messages of kinds unknown to their stations, with the kinds that the stations know."""

WORKER: Final = "spark"
"""The name of a station's workers in `leased_by`."""

FIRST: Final = 250
"""The size of the first claim, while nothing is known about the function."""

HORIZON: Final = 0.25
"""The maximum number of seconds for a chunk, or a third of the lease if that is less; the rest is then released."""

SHORT_TURN: Final = 0.5
"""Seconds after which a task ends as soon as another station has something due."""

OUTAGE: Final = 30.0
"""Seconds for which a task waits for a database that does not answer before the task fails."""


_COUNTED: Final[dict[type, str]] = {Rollback: "failed", Bury: "buried", Release: "released"}
"""The name under which each settlement is counted; all others as `settled`."""


class Tally(msgspec.Struct):
    """What a task knows that it did. This is only a hint: the database has the true counts.

    Attributes:
        claimed: messages that were reserved.
        settled: messages whose turn ended with a move or as done.
        failed: messages that will be retried.
        buried: messages that failed for good.
        released: messages that were given back before they began.
        refused: messages that it no longer held when it settled them.
        left: messages in its queue that it does not take because it does not know their kinds, when the run last
            checked.
        observed: the values of a frame station's `observe` for the last finished batch, by name.
    """

    claimed: int = 0
    settled: int = 0
    failed: int = 0
    buried: int = 0
    released: int = 0
    refused: int = 0
    left: int = 0
    observed: dict[str, Any] = {}

    def __str__(self) -> str:
        """The counts only, because observed values may quote payloads."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in COUNTS)

    def count(self, pairs: Sequence[tuple[BareReservation, Settlement]], refused: Iterable[Refused]) -> None:
        """Count turns that ended in one transaction; a refused turn that is still held ends in another."""
        if why := {one.receipt: one.error for one in refused}:
            errors = [why.get(reservation.receipt) for reservation, _ in pairs]
            self.refused += sum(isinstance(error, LeaseLost) for error in errors)
            pairs = [pair for pair, error in zip(pairs, errors, strict=True) if error is None]
        for named, count in counts_by_name(pairs, _COUNTED):
            name = named or "settled"
            setattr(self, name, getattr(self, name) + count)

    def add(self, other: Tally) -> None:
        """Add the counts of another task."""
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))


COUNTS: Final = tuple(name for name in Tally.__struct_fields__ if name != "observed")

SCHEMA: Final = ", ".join(["station string", *(f"{name} long" for name in COUNTS)])
"""The columns that a task returns to the driver, one row for each station: counts, never a message."""


_NOW: Final = timedelta(0)


def due_in(database: Database, queues: Sequence[str], only: OnlyKinds, sleep: timedelta = _NOW) -> timedelta | None:
    """Return how long until some queues have something due; for queues in `only`, only their kinds count.

    For as long as `sleep` says, pushes into the queues wake the caller; see `MessageStore.next_due`. The answer is
    reliable in any case. It has to be, because a driver makes no claims: only a claim would find messages that were
    pushed before the last check and committed after it.
    """
    return database.run(lambda: database.store.messages.next_due(queues, sleep, only, relied_on=True))


def is_due(wait: timedelta | None) -> bool:
    """Return whether something is due now."""
    return wait is not None and wait <= _NOW


class TaskSettler:
    """Ends turns of a station's messages in one process, and waits while the database is unavailable.

    Args:
        station: the station.
        database: the database of the station's queue.
        chunk: the maximum number of messages that are settled at once.
    """

    def __init__(self, station: Station, database: Database, chunk: int) -> None:
        self._station = station
        self._queue: Queue[Any] = station.queue(database)
        options = Options(
            batch=chunk,
            concurrency=1,
            lease=station.lease,
            retry=station.policy,
            timeout=None,
            poll=None,
            grace=GRACE,
            name=WORKER,
        )
        worker_run = Run(
            station.name, options, until=None, metrics=database.metrics, quiet=is_quiet(database.encryption)
        )
        self._settler, self._journal = Settler(worker_run), worker_run.journal
        self._patient_until = 0.0

    def patiently(self, ask: Callable[[], T]) -> T:
        """Return the result of a call; repeat it while the database is unavailable."""
        return patiently(ask, OUTAGE)

    def settle(self, batch: list[Ended], tally: Tally) -> None:
        """End turns as decided and count them; a turn that cannot end that way becomes a failed attempt."""
        self._patient_until = time.monotonic() + OUTAGE
        tally.claimed += len(batch)
        run(self._settler.settle(batch), lambda step: self._act(step, tally))

    def write_counts(self) -> None:
        """Write the counts for `stats`; if that fails, they are written later."""
        try:
            self._queue.database.write_counts()
        except StoreUnavailable as error:
            self._journal.not_counted(error)

    def _act(self, step: Settle | Pause | Freed, tally: Tally) -> Any:
        if isinstance(step, Settle):
            pairs = [*step.pairs]
            refused = self._queue.settle(pairs)
            tally.count(pairs, refused)
            return refused
        if isinstance(step, Pause):
            self._pause(step.seconds)
        return None

    def _pause(self, seconds: float) -> None:
        if time.monotonic() > self._patient_until:
            raise StoreUnavailable(f"the database of {self._station} has not answered for {OUTAGE:.0f} s")
        time.sleep(seconds)


class Chunk:
    """The messages that a task holds.

    Args:
        reservations: the messages, none of which has begun.
        horizon: the seconds after which no further message begins.
    """

    def __init__(self, reservations: Sequence[BareReservation], horizon: float) -> None:
        self.since = time.monotonic()
        self.until = self.since + horizon
        self.ended: list[Ended] = []
        self.waiting = deque(reservations)

    def end(self, reservation: BareReservation, settlement: Settlement, seconds: float | None = None) -> None:
        """Record how a turn ends; None: its function was not called."""
        self.ended.append(Ended(Attempt(reservation, self.since, self.since, seconds=seconds), settlement))

    def release(self) -> None:
        """Give back the messages that have not begun."""
        while self.waiting:
            self.end(self.waiting.popleft(), Release())


class TaskConsumer(TaskSettler):
    """A station's consumer in a process.

    Args:
        station: the station whose function to call.
        database: the database of its queue.
        max_hops: how many queues a message may go through.
        chunk: the maximum number of messages of a claim.
    """

    def __init__(self, station: Station, database: Database, max_hops: int, chunk: int) -> None:
        # If each message has only one attempt, a crash must not take other messages of the chunk with it.
        self._chunk = 1 if station.policy.limit == 1 else chunk
        super().__init__(station, database, self._chunk)
        sealing = database.encryption
        self._settlement = around(lambda message: station.settlement(message, max_hops, sealing), (), awaited=False)
        self._limit = min(FIRST, self._chunk)
        self._horizon = min(HORIZON, station.lease.total_seconds() / 3)

    @property
    def name(self) -> str:
        """The station's name."""
        return self._station.name

    @property
    def only(self) -> Mapping[str, Collection[str]]:
        """See `OnlyKinds`, for the station's queue alone."""
        return self._queue.only

    def work(
        self, seconds: float, most: int | None = None, others: Sequence[str] = (), only: OnlyKinds | None = None
    ) -> Tally:
        """Work until nothing is due, or until the time or the number of messages is used up.

        Messages must not wait at other stations until a busy station has finished, so a task ends earlier if something
        is due in the other queues; for queues in `only`, only their kinds count.
        """
        tally, known = Tally(), bool(self.only)
        begun = time.monotonic()
        while (spent := time.monotonic() - begun) < seconds:
            if spent > SHORT_TURN and others and self._is_due(others, only or {}):
                break
            if not self.take(tally, most):
                break
        self.mark_left(tally, known)
        self.write_counts()
        return tally

    def take(self, tally: Tally, most: int | None = None) -> bool:
        """Claim and handle one chunk; return whether anything was due.

        Args:
            tally: what to add the counts to.
            most: how many messages the tally may count as claimed; None: any number.
        """
        limit = self._limit if most is None else min(self._limit, most - tally.claimed)
        if not limit or not (reservations := self._claim(limit)):
            return False
        self._handle(reservations, tally)
        return True

    def mark_left(self, tally: Tally, known: bool) -> None:
        """Record that messages were left; if this was `known` before, only if nothing else was found."""
        if self.only and (not known or not tally.claimed):
            tally.left = 1

    def _is_due(self, queues: Sequence[str], only: OnlyKinds) -> bool:
        """Return whether something is due in one of these queues; False if the database does not answer."""
        try:
            return is_due(due_in(self._queue.database, queues, only))
        except StoreUnavailable:
            return False  # the next claim waits for it

    def _claim(self, limit: int) -> list[BareReservation]:
        return self.patiently(lambda: [*self._queue.reserve_many(limit, consumer=new_claim(WORKER))])

    def _handle(self, reservations: Sequence[BareReservation], tally: Tally) -> None:
        """Call the function for as many messages as the horizon allows, and end all turns in one transaction."""
        begun, others = begin_with(reservations, self._chunk, self._station.policy.limit)
        if others:  # before a message begins that could kill this process and use up the others' attempts
            given_back = Chunk(others, 0.0)
            given_back.release()
            self.settle(given_back.ended, tally)
        chunk = Chunk(begun, self._horizon)
        self._call(chunk, tally)
        unbegun = len(chunk.waiting)
        self._learn(len(begun) - unbegun, len(begun), time.monotonic() - chunk.since)
        chunk.release()
        self.settle(chunk.ended, tally)

    def _call(self, chunk: Chunk, tally: Tally) -> None:
        """Call the function for as many messages as the horizon allows."""
        began, waiting = chunk.since, chunk.waiting
        while waiting and began <= chunk.until:
            reservation = waiting.popleft()
            settlement = self._settlement(reservation.message)
            now = time.monotonic()
            chunk.end(reservation, settlement, now - began)
            began = now

    def _learn(self, ended: int, begun: int, seconds: float) -> None:
        """Adapt the claim to what the function can do within the horizon; if it was quick, up to four times as many."""
        if seconds < self._horizon / 2:
            self._limit = min(self._chunk, 4 * begun)
        else:
            self._limit = min(self._chunk, max(1, int(ended * self._horizon / seconds)))
