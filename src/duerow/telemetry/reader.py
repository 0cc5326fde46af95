"""Reads the state of all queues once for all callers, and adds up what the database keeps for only an hour."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, Final

from duerow.queue import histogram
from duerow.queue.counts import CAP
from duerow.queue.histogram import Buckets, least
from duerow.queue.reserved import is_reserved
from duerow.queue.stats import SEEN
from duerow.store import Counters, QueueStats, Store, Totals

OTHER: Final = "other"
"""The label of all queues beyond the limit."""

MOST_LABELS: Final = 100
"""How many queues have their own labels by default."""

STATES: Final = ("ready", "delayed", "leased", "waiting", "stopped", "dead")
ENDS: Final = ("done", "failed", "dead", "moved")

BOUNDS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 21600.0, 86400.0)
"""Upper bounds of exported histograms, in seconds, up to messages that wait for a day."""

AT_ONCE: Final = 50
"""How many queues are read before the connection goes back to its pool."""

SHARE: Final = 0.1
"""The largest share of time spent on reading: with very many queues, a reading is used for longer."""


@dataclass
class Distribution:
    """A histogram that only grows: its buckets, the number of values and their approximate sum."""

    buckets: Buckets = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of values."""
        return sum(self.buckets.values())

    @property
    def sum(self) -> float:
        """The sum, with each value taken as the lower end of its bucket, and therefore within 12%."""
        return sum(least(bucket) * count for bucket, count in self.buckets.items() if bucket)

    def up_to(self) -> list[tuple[float, int]]:
        """Return how many values were at most each of `BOUNDS`."""
        return [
            (bound, sum(count for bucket, count in self.buckets.items() if not bucket or least(bucket) < bound))
            for bound in BOUNDS
        ]


@dataclass
class QueueReading:
    """The state of a queue, or of all queues beyond the limit.

    Attributes:
        messages: how many messages are in each of `STATES`.
        oldest: how many seconds the oldest ready message has been due; 0: none is ready.
        ended: how many turns have ended in each of `ENDS`, since the beginning.
        consumers: how many consumers were seen recently.
        paused: whether it is paused; for several queues: whether any is.
        waiting, handling: how long messages waited and handlers ran, since the first reading.
    """

    messages: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATES, 0))
    oldest: float = 0.0
    ended: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ENDS, 0))
    consumers: int = 0
    paused: bool = False
    waiting: Distribution = field(default_factory=Distribution)
    handling: Distribution = field(default_factory=Distribution)

    def add(self, stats: QueueStats, totals: Totals, now: datetime) -> None:
        """Add the state of a queue."""
        for name in STATES:
            self.messages[name] += getattr(stats, name)
        for name in ENDS:
            self.ended[name] += getattr(totals, name)
        if stats.oldest_due_at is not None:
            self.oldest = max(self.oldest, (now - stats.oldest_due_at).total_seconds())
        self.paused = self.paused or stats.paused


Reading = Mapping[str, QueueReading]
"""By label: the name of a queue, or `other`."""

Work = Generator[Callable[[], Any], Any, Reading]


class Labels:
    """Assigns a limited number of labels to names, first come, first served."""

    def __init__(self, most: int = MOST_LABELS) -> None:
        self._most = most
        self._known: set[str] = set()

    def of(self, name: str) -> str:
        """Return the label of a queue."""
        if name not in self._known:
            if len(self._known) >= self._most:
                return OTHER
            self._known.add(name)
        return name


class Growing:
    """Adds up, over many readings, how much the counters of a queue have grown.

    The database keeps a histogram of each minute for an hour; Prometheus needs numbers that only grow.
    """

    def __init__(self) -> None:
        self._seen: dict[datetime, tuple[Buckets, Buckets]] | None = None

    def more(self, counters: Counters) -> tuple[Buckets, Buckets]:
        """Return what was counted since the previous reading; nothing at the first one."""
        now: dict[datetime, tuple[Buckets, Buckets]] = {}
        for row in counters.lately:
            waiting, handling = now.setdefault(row.minute, ({}, {}))
            histogram.add_up(waiting, histogram.read(row.waiting))
            histogram.add_up(handling, histogram.read(row.handling))
        before, self._seen = self._seen, now
        waits: Buckets = {}
        times: Buckets = {}
        if before is not None:
            for minute, (waiting, handling) in now.items():
                old_waiting, old_handling = before.get(minute, ({}, {}))
                histogram.add_up(waits, _less(waiting, old_waiting))
                histogram.add_up(times, _less(handling, old_handling))
        return waits, times


def _less(buckets: Buckets, before: Buckets) -> Buckets:
    return {bucket: more for bucket, count in buckets.items() if (more := count - before.get(bucket, 0)) > 0}


class Reader:
    """Reads all queues, and returns the same reading until it is too old.

    Args:
        most_labels: how many queues have their own labels; all others are added up as `other`.
        age: how old a reading may be; it may be older if reading would otherwise take more than a tenth of the time.
        count_to: the maximum number of messages of a queue to count in each state; None: all, however long that takes.
        clock: returns the time in seconds; for tests.
    """

    def __init__(
        self,
        most_labels: int = MOST_LABELS,
        age: timedelta = timedelta(seconds=5),
        count_to: int | None = CAP,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.labels = Labels(most_labels)
        self._age, self._clock = age.total_seconds(), clock
        self._count_to = count_to
        self._growing: dict[str, Growing] = {}
        self._sums: dict[str, tuple[Distribution, Distribution]] = {}
        self._reading: Reading = {}
        self._read_at = float("-inf")
        self._pause = self._age

    def fresh(self) -> Reading | None:
        """Return the last reading if it is new enough; None: it is time to read."""
        return self._reading if self._clock() - self._read_at < self._pause else None

    def read(self, store: Store) -> Work:
        """Read all queues: a generator that yields what the database should run."""
        begun = self._clock()
        found: dict[str, QueueReading] = {}
        known: Sequence[str] = yield lambda: store.operations.queues(with_empty=True)
        names = [name for name in known if not is_reserved(name)]
        for start in range(0, len(names), AT_ONCE):
            some = names[start : start + AT_ONCE]
            for name, (stats, counters) in zip(some, (yield _states(store, some, self._count_to)), strict=True):
                self._add(found, name, stats, counters)
        now = (yield lambda: store.metadata.schedules(due=True)).now
        for consumer in (yield store.metadata.consumers):
            if now - consumer.seen_at <= SEEN:
                for label in {self.labels.of(name) for name in consumer.queues}:
                    found.setdefault(label, QueueReading()).consumers += 1
        self._reading, self._read_at = found, begun
        self._pause = max(self._age, (self._clock() - begun) / SHARE)
        return found

    def _add(self, found: dict[str, QueueReading], name: str, stats: QueueStats, counters: Counters) -> None:
        label = self.labels.of(name)
        one = found.setdefault(label, QueueReading())
        one.add(stats, counters.lifetime, counters.now)
        waits, times = self._growing.setdefault(name, Growing()).more(counters)
        one.waiting, one.handling = self._sums.setdefault(label, (Distribution(), Distribution()))
        histogram.add_up(one.waiting.buckets, waits)
        histogram.add_up(one.handling.buckets, times)


def _states(store: Store, names: Sequence[str], count_to: int | None) -> Callable[[], Any]:
    """Return a function that makes the plan for reading the states of some queues, on one connection."""

    def look() -> Generator[Any, Any, list[tuple[QueueStats, Counters]]]:
        found: list[tuple[QueueStats, Counters]] = []
        for name in names:
            stats = yield from store.operations.queue_stats(name, count_to)
            found.append((stats, (yield from store.counters.read(name))))
        return found

    return look
