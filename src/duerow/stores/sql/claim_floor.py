"""Where claims start: after the dead index entries that taken rows leave at the head of the index.

While another session holds an old snapshot, PostgreSQL keeps the index entries of taken rows, and every claim from the
head would walk over all of them. So a claim starts at a floor. Rows due before the floor are checked only every half
second, or less often if that takes long, and before a queue is reported empty. Only claims that need not be exact leave
that out while looks have taken more than their share of the time. The floor never passes a row that was due and
visible, leased or not. It stays 100 ms behind the newest leased due time, to allow for pushes that commit a little
late. Only one claim in 10 ms reads these 100 ms, or fewer if that takes long; the others start at the oldest row that
the claim before saw.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from duerow.clock import Clock

BEHIND: Final = timedelta(milliseconds=100)
"""How far the floor stays behind the newest leased due time."""

LOOK_BEHIND: Final = 0.01
"""The number of seconds after which a claim starts 100 ms behind again."""

LOOK_BELOW: Final = 0.5
"""The number of seconds after which a claim looks below the floor again."""

LOOK_SHARE: Final = 0.05
"""The share of the time that looks back may take: after two long ones, the next one is later."""

LOOK_LATEST: Final = 60.0
"""The number of seconds after which a claim looks below the floor, however long that takes."""


@dataclass
class _Look:
    """When claims read rows that most claims skip.

    Attributes:
        least: how many seconds after a look the next one comes at the earliest.
        latest: the same at the latest, however long a look takes.
        at: when the next one comes, in monotonic seconds.
        soonest: the first moment at which looks have taken no more than their share of the time.
        usual: how many seconds the last claim took that skipped them.
        longer: how much longer the last one took.
    """

    least: float
    latest: float
    at: float = 0.0
    soonest: float = 0.0
    usual: float = 0.0
    longer: float = 0.0

    def ended(self, now: float, took: float) -> None:
        """Set the time of the next look after one that took so many seconds."""
        # Two in a row, because a single one may have been held up by something else.
        before, self.longer = self.longer, took - self.usual
        pause = min(min(before, self.longer) / LOOK_SHARE, self.latest)
        self.soonest, self.at = now + pause, now + max(self.least, pause)

    def allow(self) -> None:
        """Let the next claim look."""
        self.at = self.soonest = 0.0


@dataclass
class _Floor:
    """A floor.

    Attributes:
        due_at: the floor, 100 ms behind; None: the head.
        near: the due time of the oldest row that the last claim saw.
        below: the looks below the floor.
        behind: the looks between the floor and `near`.
        lowered: how often a row was written below the floor.
        changes: how often a row was written below the floor or `near`.
        nothing_before: no row of the queue was due before this time at the last look at an idle queue, except for rows
            below the floor if that look began there.
        left_out: whether a claim that found too little has left out the look below since the last one.
    """

    due_at: datetime | None = None
    near: datetime | None = None
    below: _Look = field(default_factory=lambda: _Look(LOOK_BELOW, LOOK_LATEST))
    behind: _Look = field(default_factory=lambda: _Look(LOOK_BEHIND, LOOK_BELOW))
    lowered: int = 0
    changes: int = 0
    nothing_before: datetime | None = None
    left_out: bool = False


class Start(msgspec.Struct, frozen=True, gc=False):
    """Where a claim starts: at a due time, or at the head of the index if the due time is None.

    Attributes:
        due_at: the due time.
        lowered: how often a row had been written below the floor.
        changes: how often a row had been written below the floor or `near`.
        at: when the claim starts, in monotonic seconds.
        near: whether it starts above the floor.
    """

    due_at: datetime | None
    lowered: int = 0
    changes: int = 0
    at: float = 0.0
    near: bool = False


class ClaimFloors:
    """The floors of this process, one per queue.

    Args:
        kept: whether the database needs floors; if not, every claim starts at the head.
        clock: the program's own clock, if it has one.
    """

    def __init__(self, kept: bool, clock: Clock | None = None) -> None:
        self.kept, self._clock = kept, clock
        self.begin_anew()

    def begin_anew(self) -> None:
        """Start empty in a child process: the lock may be held by a thread that exists only in the parent."""
        self._floors: defaultdict[Hashable, _Floor] = defaultdict(_Floor)
        self._writes = 0
        self._lock = threading.Lock()

    def start(self, queue: Hashable) -> Start:
        """Return where the next claim on a queue starts."""
        if not self.kept:
            return Start(None)
        with self._lock:
            floor, now = self._floors[queue], time.monotonic()
            if now >= floor.below.at:
                return Start(None, floor.lowered, floor.changes, now)
            near = now < floor.behind.at
            return Start(floor.near if near else floor.due_at, floor.lowered, floor.changes, now, near)

    def claimed(self, queue: Hashable, start: Start, oldest: Any, newest: Any) -> None:
        """Raise the floor after a claim.

        Args:
            queue: the queue of the messages.
            start: where the claim started.
            oldest: the due time of the first row that is due from the start on, leased or not.
            newest: the due time of the last leased row.
        """
        with self._lock:
            floor = self._floors[queue]
            now = time.monotonic()
            took = now - start.at
            if start.due_at is not None:
                floor.below.usual = took
            else:
                self._looked_below(floor, start, now)
            if start.near:
                floor.behind.usual = took
            if floor.changes != start.changes:  # a row was written since the claim started, which may not have seen it
                return
            if not start.near:
                behind = min(oldest, newest - BEHIND)
                floor.due_at = behind if start.due_at is None else max(start.due_at, behind)
                if start.due_at is not None:
                    floor.behind.ended(now, took)
            floor.near = oldest if start.due_at is None else max(start.due_at, oldest)

    def found_none(self, queue: Hashable, start: Start) -> None:
        """Record that a claim found nothing that it could take."""
        if not self.kept:
            return
        with self._lock:
            floor, now = self._floors[queue], time.monotonic()
            if start.due_at is None:
                self._looked_below(floor, start, now)
            else:
                floor.below.usual = now - start.at

    def _looked_below(self, floor: _Floor, start: Start, now: float) -> None:
        if floor.lowered == start.lowered:
            floor.left_out = False
            floor.below.ended(now, now - start.at)

    def must_leave_out(self, queue: Hashable) -> bool:
        """Return whether a look below the floor has to be left out, because looks have taken their share of the time.

        If so, `idle` says how long to wait, until a claim has looked.
        """
        with self._lock:
            floor = self._floors[queue]
            waits = time.monotonic() < floor.below.soonest
            floor.left_out = floor.left_out or waits
            return waits

    def idle(self, queues: Iterable[Hashable]) -> tuple[datetime | None, float | None]:
        """Return from when on a consumer that found nothing asks for the next due row, and how long it may wait.

        Args:
            queues: the lines of the queue. Those without a floor do not count: each claim reads them from the head.

        Returns:
            The lowest floor, or None if rows below it may be read now; and the seconds until a claim may look below a
            floor where the last one left that out, or None if none did.
        """
        with self._lock:
            now = time.monotonic()
            floors = [floor for floor in map(self._floors.get, queues) if floor is not None]
            lowest = min((floor.due_at for floor in floors if floor.due_at is not None), default=None)
            waits = [max(floor.below.soonest - now, 0.0) for floor in floors if floor.left_out]
            if not waits and all(floor.below.soonest <= now for floor in floors):
                return None, None
            return lowest, min(waits, default=None)

    def lower(self, due_at: datetime | None) -> None:
        """Make claims look below the floor soon, in queues where a row may be below it."""
        if self.kept and due_at is not None:
            with self._lock:
                self._lower(due_at)

    def written(self) -> None:
        """Record that this process is about to write rows, with any due times.

        If the clock was set back, rows that are due at once may be below a floor.
        """
        with self._lock:
            self._writes += 1
            for floor in self._floors.values():
                floor.nothing_before = None
            if self.kept and self._clock is not None:
                self._lower(self._clock.now())

    def _lower(self, due_at: datetime) -> None:
        for floor in self._floors.values():
            if floor.due_at is not None and due_at < floor.due_at:
                floor.lowered += 1
                floor.below.allow()
            if floor.due_at is not None and floor.near is not None and due_at < max(floor.due_at, floor.near):
                floor.changes += 1
                floor.behind.at = 0.0

    def found_nothing(self, queue: Hashable, lines: Iterable[Hashable], writes: int, now: datetime | None) -> None:
        """Record that all lines of a queue were read from the head and nothing was due.

        Args:
            queue: the queue.
            lines: its lines.
            writes: the number of writes that `nothing_before` returned when the look began.
            now: the time of the look, if known; a floor above it is ignored, because the clock was set back.
        """
        floors = [None if (floor := self._floors.get(line)) is None else floor.due_at for line in lines]
        known = [due_at for due_at in floors if due_at is not None]
        if known and len(known) == len(floors) and (now is None or min(known) <= now):
            self.looked(queue, min(known), writes)

    def nothing_before(self, queue: Hashable) -> tuple[datetime | None, int]:
        """Return the time before which no row of a queue was due at the last look, and the number of writes so far."""
        floor = self._floors.get(queue)
        return (None if floor is None else floor.nothing_before), self._writes

    def looked(self, queue: Hashable, earliest: datetime, writes: int) -> None:
        """Record that no row is due before this time, unless this process has written rows since the look."""
        if self.kept:
            with self._lock:
                if writes == self._writes:
                    self._floors[queue].nothing_before = earliest

    def look_below(self, queue: Hashable) -> None:
        """Start the queue's next claim at the head."""
        with self._lock:
            self._floors[queue].below.allow()
