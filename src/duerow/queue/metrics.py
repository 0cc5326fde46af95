"""A process's metrics of its own work on queues, and when it writes them to the database.

Work is counted in memory, per batch, and written every ten seconds to rows that belong to this process: one for each
queue and minute. So processes never wait for each other to count, and counting costs a few microseconds per batch.
Counts that are not yet written when a process is killed are lost: they are for information only.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, Final

from duerow.queue import histogram
from duerow.queue.histogram import Buckets
from duerow.reservation import BareReservation
from duerow.settlement import Bury, Commit, Gather, Move, Rollback, Settlement
from duerow.store import Counted, Refused, Totals
from duerow.store.consumer_id import new_claim

EVERY: Final = 10.0
"""Seconds between two writes."""

TOGETHER: Final = 200
"""How many messages that were handed out one by one are counted together."""

MINUTE: Final = timedelta(minutes=1)

_NAMES: Final[dict[type, str]] = {Commit: "done", Gather: "done", Rollback: "failed", Bury: "dead", Move: "moved"}
"""The name under which each settlement is counted; released messages are not counted."""


def counts_by_name(
    pairs: Sequence[tuple[BareReservation, Settlement]], names: Mapping[type, str]
) -> Iterator[tuple[str | None, int]]:
    """Yield how many settlements are counted under each name, in several parts; None: under no name."""
    kinds = [type(settlement) for _, settlement in pairs]
    for kind in set(kinds):
        yield next((name for of, name in names.items() if issubclass(kind, of)), None), kinds.count(kind)


@dataclass(slots=True)
class MetricTally:
    """The counts of one queue."""

    done: int = 0
    failed: int = 0
    dead: int = 0
    moved: int = 0
    waiting: Buckets = field(default_factory=dict)
    handling: Buckets = field(default_factory=dict)

    def add(self, other: MetricTally) -> None:
        """Add other counts."""
        self.done += other.done
        self.failed += other.failed
        self.dead += other.dead
        self.moved += other.moved
        histogram.add_up(self.waiting, other.waiting)
        histogram.add_up(self.handling, other.handling)

    def row(self, queue: str, minute: datetime) -> Counted:
        """Return the counts as a row."""
        totals = Totals(self.done, self.failed, self.dead, self.moved)
        return Counted(queue, minute, totals, histogram.written(self.waiting), histogram.written(self.handling))


class Metrics:
    """Counts for one handle to a database; its methods may be called from any thread.

    Counts go into the row of the minute in which they are written, so up to ten seconds late.

    Args:
        clock: returns the time of this host or of a test.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._begin_anew()
        _METRICS.add(self)

    def _begin_anew(self) -> None:
        self.process = new_claim()
        self._lock = threading.Lock()
        self._ahead = timedelta(0)
        self._new: dict[str, MetricTally] = {}
        self._alone: list[tuple[str, datetime, datetime]] = []
        self._rows: dict[str, MetricTally] = {}
        self._minute: datetime | None = None
        self._tried_at = monotonic()
        self._busy = False

    def _tally(self, queue: str) -> MetricTally:
        tally = self._new.get(queue)
        if tally is None:
            tally = self._new[queue] = MetricTally()
        return tally

    # Count.

    def claimed(self, queue: str, reserved: Sequence[Any]) -> None:
        """Count how long the messages of one claim, given in order, had been due when they were handed out."""
        if not reserved:
            return
        first = reserved[0]
        with self._lock:
            if len(reserved) > 1 or not self._alone:
                self._ahead = first.last_attempt_at - self._clock()
            if len(reserved) > 1:
                histogram.add_waits(self._tally(queue).waiting, reserved)
                return
            self._alone.append((queue, first.last_attempt_at, first.due_at))
            if len(self._alone) >= TOGETHER:
                self._count_those_alone()

    def _count_those_alone(self) -> None:
        """Count the waits of messages that were handed out one by one, which are only recorded at first."""
        alone, self._alone = self._alone, []
        for queue, at, due_at in alone:
            bucket = histogram.bucket_of((at - due_at).total_seconds())
            histogram.add_up(self._tally(queue).waiting, {bucket: 1})

    def handled(self, queue: str, times: Sequence[float], each: int = 1) -> None:
        """Count how long handlers ran, in seconds; each time counts `each` times."""
        if times:
            with self._lock:
                histogram.add_times(self._tally(queue).handling, times, each)

    def ended(
        self,
        queue: str,
        number: int,
        others: Sequence[tuple[BareReservation, Settlement]] = (),
        refused: Collection[Refused] = (),
        moved: int = 0,
    ) -> None:
        """Count turns that have ended.

        Args:
            queue: their queue.
            number: how many turns in total.
            others: those turns that are not simply done.
            refused: those turns that have not ended after all.
            moved: how many of the rest went to another queue.
        """
        if refused:
            lost = {one.receipt for one in refused}
            others = [pair for pair in others if pair[0].receipt not in lost]
            number -= len(lost)
        if number <= 0:
            return
        with self._lock:
            tally = self._tally(queue)
            tally.done += number - len(others) - moved
            tally.moved += moved
            for name, count in counts_by_name(others, _NAMES) if others else ():
                if name is not None:
                    setattr(tally, name, getattr(tally, name) + count)

    def buried(self, queue: str, number: int) -> None:
        """Count messages that a claim buried."""
        if number:
            with self._lock:
                self._tally(queue).dead += number

    # Write.

    def due(self) -> bool:
        """Return whether there is something to write and the last write was at least ten seconds ago."""
        return monotonic() - self._tried_at >= EVERY and bool(self._new or self._alone)

    @contextmanager
    def writing(self) -> Iterator[list[Counted]]:
        """Provide the rows to write to a `with` block; rows that could not be written are provided again later.

        A row contains everything that this process counted in that minute, and replaces the earlier row, so writing it
        twice does no harm. While another thread is writing, there are no rows.
        """
        with self._lock:
            self._count_those_alone()
            if self._busy or not self._new:
                rows: list[Counted] = []
                minute, new, after = None, {}, {}
            else:
                self._busy, self._tried_at = True, monotonic()
                minute, new, self._new = self._this_minute(), self._new, {}
                after = _added(self._rows if minute == self._minute else {}, new)
                rows = [after[queue].row(queue, minute) for queue in sorted(new)]
        if minute is None:
            yield rows
            return
        try:
            yield rows
        except BaseException:
            with self._lock:
                self._new, self._busy = _added(new, self._new), False
            raise
        with self._lock:
            self._rows, self._minute, self._busy = after, minute, False

    def unwritten(self, queue: str) -> MetricTally:
        """Return the counts of a queue that are not written yet."""
        found = MetricTally()
        with self._lock:
            self._count_those_alone()
            if queue in self._new:
                found.add(self._new[queue])
        return found

    def _this_minute(self) -> datetime:
        """Return the current minute by the database's clock, estimated from the last claim."""
        return (self._clock() + self._ahead).replace(second=0, microsecond=0)


_METRICS: Final[weakref.WeakSet[Metrics]] = weakref.WeakSet()


def _count_anew() -> None:
    """Make a child process count only its own work, under its own name."""
    for metrics in list(_METRICS):
        metrics._begin_anew()


if hasattr(os, "register_at_fork"):  # other platforms do not fork
    os.register_at_fork(after_in_child=_count_anew)


def _added(first: dict[str, MetricTally], second: dict[str, MetricTally]) -> dict[str, MetricTally]:
    """Return the sums; neither argument is changed."""
    sums: dict[str, MetricTally] = {}
    for part in (first, second):
        for queue, tally in part.items():
            sums.setdefault(queue, MetricTally()).add(tally)
    return sums
