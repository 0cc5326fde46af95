"""One task of a message station, in an executor: claim a chunk, call the function for each message, settle, again.

A task is a consumer like any other. What it holds is fenced by id and token, so it needs no word from Spark: tried
again, running twice or dead, it can neither lose a message nor send one on twice. What a killed task had claimed is
due again when its lease ends.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from duerow.errors import LeaseLost, StoreUnavailable
from duerow.payload.encoding import is_quiet
from duerow.pipeline import Station
from duerow.plan import run
from duerow.queue.consumer_id import new_claim
from duerow.reservation import BareReservation
from duerow.settlement import Bury, Release, Rollback, Settlement
from duerow.spark.gc_freeze import keep_what_is_imported
from duerow.store import Refused
from duerow.sync.database import Database, connect
from duerow.worker.attempt import Attempt
from duerow.worker.in_flight import Ended
from duerow.worker.prefetch import patiently
from duerow.worker.run import GRACE, Options, Run
from duerow.worker.settler import Freed, Pause, Settle, Settler
from duerow.worker.suspects import begin_with

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from duerow.sync.queue import Queue

T = TypeVar("T")

WORKER: Final = "spark"
"""What `leased_by` calls the workers of a station."""

FIRST: Final = 250
"""Messages of the first claim, as long as nothing is known of the function."""

HORIZON: Final = 1.0
"""Seconds that a chunk takes at most, or a third of the lease if that is less; what is not begun then is given back."""

SHORT_TURN: Final = 0.5
"""Seconds after which a task ends as soon as other stations have something due."""

OUTAGE: Final = 30.0
"""Seconds for which a task waits for a database that does not answer before it fails."""


class Tally(msgspec.Struct):
    """What a task did, as far as it knows: a hint. What is true is in the database.

    Attributes:
        claimed: messages that were reserved.
        settled: those whose turn ended with a move or as done.
        failed: those that are to be tried again.
        buried: those given up on.
        released: those given back, not begun.
        refused: those that were no longer its own when it settled them.
    """

    claimed: int = 0
    settled: int = 0
    failed: int = 0
    buried: int = 0
    released: int = 0
    refused: int = 0

    def count(self, pairs: Iterable[tuple[BareReservation, Settlement]], refused: Iterable[Refused]) -> None:
        """Count turns that were ended in one transaction; a refused one that is still ours ends in another."""
        why = {one.receipt: one.error for one in refused}
        for reservation, settlement in pairs:
            if why and (error := why.get(reservation.receipt)) is not None:
                self.refused += isinstance(error, LeaseLost)
            elif isinstance(settlement, Rollback):
                self.failed += 1
            elif isinstance(settlement, Bury):
                self.buried += 1
            elif isinstance(settlement, Release):
                self.released += 1
            else:
                self.settled += 1

    def add(self, other: Tally) -> None:
        """Count another task's in."""
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))


COUNTS: Final = Tally.__struct_fields__

SCHEMA: Final = ", ".join(f"{name} long" for name in COUNTS)
"""What a task returns to the driver: counts, and never a message."""


@dataclass(frozen=True)
class Access:
    """How executors reach the queues; the same for a whole run, so that they connect once.

    Attributes:
        run: names the run.
        url: the database.
        settings: what else `connect` is given.
    """

    run: str
    url: str = field(compare=False, repr=False)
    settings: Mapping[str, Any] = field(compare=False, repr=False)


@dataclass(frozen=True)
class Assignment:
    """What the driver tells a task to do.

    Attributes:
        access: how to reach the queues.
        name: the station's name.
        pickled: the station.
        max_hops: how many queues a message may go through.
        chunk: messages of one claim at most.
        seconds: after how long the task ends, though more may be due: others want to run too.
        others: queues of the pipeline's other stations: if something is due there the task ends earlier.
        most: messages that the task claims in all, at most; None: as many as there are.
    """

    access: Access
    name: str
    pickled: bytes = field(compare=False, repr=False)
    max_hops: int = field(compare=False)
    chunk: int = field(compare=False)
    seconds: float = field(compare=False)
    others: Sequence[str] = field(default=(), compare=False)
    most: int | None = field(default=None, compare=False)


def task(assignment: Assignment) -> Callable[[Iterable[RecordBatch]], Iterator[RecordBatch]]:
    """Return the function for `mapInArrow`; Spark's plans show it by the station's name."""

    def work(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        from pyarrow import RecordBatch

        for _ in batches:  # the rows only say how many tasks there are
            pass
        tally = _consumer(assignment).work(assignment.seconds, assignment.most, assignment.others)
        keep_what_is_imported()
        yield RecordBatch.from_pydict({name: [getattr(tally, name)] for name in COUNTS})

    work.__name__ = assignment.name
    return work


@lru_cache(maxsize=4)
def database_of(access: Access) -> Database:
    """Return this process's database; Spark keeps its Python processes from task to task."""
    return connect(access.url, **access.settings)


@lru_cache(maxsize=32)
def _consumer(assignment: Assignment) -> TaskConsumer:
    """Return this process's consumer of a station."""
    station: Station = pickle.loads(assignment.pickled)  # noqa: S301 - from the driver, as the task itself
    return TaskConsumer(station, database_of(assignment.access), assignment.max_hops, assignment.chunk)


def due_in(database: Database, queues: Sequence[str]) -> timedelta | None:
    """Return how long until the next message of some queues is due; None: there is none."""
    return database.run(lambda: database.store.next_due(queues, _NOW))


def is_due(wait: timedelta | None) -> bool:
    """Return whether that is over."""
    return wait is not None and wait <= _NOW


_NOW: Final = timedelta(0)


class TaskSettler:
    """What ends turns of a station's messages in one process, for as long as it takes the database to answer.

    Args:
        station: whose messages.
        database: where its queue is.
        chunk: messages that are settled at once, at most.
    """

    def __init__(self, station: Station, database: Database, chunk: int) -> None:
        self._station = station
        self._queue: Queue[Any] = station.queue(database)
        terms = Options(
            batch=chunk,
            concurrency=1,
            lease=station.lease,
            retry=station.policy,
            timeout=None,
            poll=None,
            grace=GRACE,
            name=WORKER,
        )
        shift = Run(station.name, terms, until=None, meter=database.meter, quiet=is_quiet(database.encryption))
        self._settling, self._journal = Settler(shift), shift.journal
        self._patient_until = 0.0

    def patiently(self, ask: Callable[[], T]) -> T:
        """Return the database's answer; wait for it while it is away."""
        return patiently(ask, OUTAGE)

    def settle(self, batch: list[Ended], tally: Tally) -> None:
        """End turns as decided, and count them; what cannot be is a failed attempt of that message alone."""
        self._patient_until = time.monotonic() + OUTAGE
        tally.claimed += len(batch)
        run(self._settling.settle(batch), lambda step: self._act(step, tally))

    def write_counts(self) -> None:
        """Write what was counted for `stats`; what cannot be now is written another time."""
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


class TaskConsumer(TaskSettler):
    """A station's consumer in one process.

    Args:
        station: whose function to call.
        database: where its queue is.
        max_hops: how many queues a message may go through.
        chunk: messages of one claim at most.
    """

    def __init__(self, station: Station, database: Database, max_hops: int, chunk: int) -> None:
        # With one attempt in all, a chunk that dies must not take others with it.
        self._chunk = 1 if station.policy.limit == 1 else chunk
        super().__init__(station, database, self._chunk)
        self._max_hops, self._sealing = max_hops, database.encryption
        self._limit = min(FIRST, self._chunk)
        self._horizon = min(HORIZON, station.lease.total_seconds() / 3)

    def work(self, seconds: float, most: int | None = None, others: Sequence[str] = ()) -> Tally:
        """Work until nothing is due, or for so many seconds, on so many messages at the most.

        A message that goes from station to station must not wait at each for the turns of a busy one: a task ends
        earlier if something is due in the other queues.
        """
        tally = Tally()
        begun = time.monotonic()
        while (spent := time.monotonic() - begun) < seconds:
            if spent > SHORT_TURN and others and self._is_due(others):
                break
            limit = self._limit if most is None else min(self._limit, most - tally.claimed)
            if not limit or not (reservations := self._claim(limit)):
                break
            self._handle(reservations, tally)
        self.write_counts()
        return tally

    def _is_due(self, queues: Sequence[str]) -> bool:
        """Return whether something is due in one of these queues; of a database that does not answer: no."""
        try:
            return is_due(due_in(self._queue.database, queues))
        except StoreUnavailable:
            return False  # the next claim waits for it

    def _claim(self, limit: int) -> list[BareReservation]:
        return self.patiently(lambda: [*self._queue.reserve_many(limit, consumer=new_claim(WORKER))])

    def _handle(self, reservations: Sequence[BareReservation], tally: Tally) -> None:
        """Call the function for as many as the horizon allows, and end all turns in one transaction."""
        begun, others = begin_with(reservations, self._chunk, self._station.policy.limit)
        if others:  # before anything is begun that could end this process, and their attempts with it
            self._give_back(others, tally)
        since = time.monotonic()
        until, began = since + self._horizon, since
        ended: list[Ended] = []
        for reservation in begun:
            settlement = self._station.settlement(reservation.message, self._max_hops, self._sealing)
            attempt = Attempt(reservation, since, since)
            ended.append(Ended(attempt, settlement))
            attempt.seconds, began = (now := time.monotonic()) - began, now
            if now > until:
                break
        self._learn(len(ended), len(begun), time.monotonic() - since)
        unbegun = begun[len(ended) :]
        self.settle([*ended, *(Ended(Attempt(one, since, since), Release()) for one in unbegun)], tally)

    def _give_back(self, reservations: Sequence[BareReservation], tally: Tally) -> None:
        now = time.monotonic()
        self.settle([Ended(Attempt(one, now, now), Release()) for one in reservations], tally)

    def _learn(self, ended: int, begun: int, seconds: float) -> None:
        """Claim what the function can do within the horizon; four times as many if it was quick."""
        if seconds < self._horizon / 2:
            self._limit = min(self._chunk, 4 * begun)
        else:
            self._limit = min(self._chunk, max(1, int(ended * self._horizon / seconds)))
