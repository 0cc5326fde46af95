"""Where claims start: after the dead index entries that taken rows leave at the head of the index.

While another session holds an old snapshot, PostgreSQL keeps the index entries of taken rows, and every claim from the
head would walk over all of them. So a claim starts at a floor. Rows due before the floor are checked only every half
second, or less often if that takes long, and always before a queue is reported empty. The floor never passes a row that
was due and visible, leased or not. It stays 100 ms behind the newest leased due time, to allow for pushes that commit a
little late.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from duerow.clock import Clock

BEHIND: Final = timedelta(milliseconds=100)
"""How far the floor stays behind the newest leased due time."""

LOOK_BELOW: Final = 0.5
"""The number of seconds after which a claim looks below the floor again."""

LOOK_SHARE: Final = 0.05
"""The share of the time that looks below the floor may take: after two long ones, the next one is later."""

LOOK_LATEST: Final = 60.0
"""The number of seconds after which a claim looks below the floor, however long that takes."""


@dataclass
class _Floor:
    """A floor.

    Attributes:
        due_at: the due time at which claims start; None: at the head.
        look_below_from: from when on a claim starts at the head, in monotonic seconds.
        took: how many seconds the last claim from the floor took.
        longer: how much longer the last claim from the head took.
        changes: how often the floor was lowered.
        nothing_before: no row of the queue was due before this time at the last look.
    """

    due_at: datetime | None = None
    look_below_from: float = 0.0
    took: float = 0.0
    longer: float = 0.0
    changes: int = 0
    nothing_before: datetime | None = None


@dataclass(frozen=True)
class Start:
    """Where a claim starts: at a due time, or at the head of the index if the due time is None.

    Attributes:
        due_at: the due time.
        changes: how often the floor had been lowered.
        at: when the claim starts, in monotonic seconds.
    """

    due_at: datetime | None
    changes: int
    at: float


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
        self._floors: dict[Hashable, _Floor] = {}
        self._writes = 0
        self._lock = threading.Lock()

    def start(self, queue: Hashable) -> Start:
        """Return where the next claim on a queue starts."""
        if not self.kept:
            return Start(None, 0, 0.0)
        with self._lock:
            floor, now = self._floors.setdefault(queue, _Floor()), time.monotonic()
            return Start(None if now >= floor.look_below_from else floor.due_at, floor.changes, now)

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
            if floor.changes != start.changes:  # lowered since the claim started, so its rows are out of date
                return
            now = time.monotonic()
            if start.due_at is None:
                # Two in a row, because a single one may have been held up by something else.
                before, floor.longer = floor.longer, now - start.at - floor.took
                pause = min(before, floor.longer) / LOOK_SHARE
                floor.look_below_from = now + min(max(LOOK_BELOW, pause), LOOK_LATEST)
            else:
                floor.took = now - start.at
            behind = min(oldest, newest - BEHIND)
            floor.due_at = behind if start.due_at is None else max(start.due_at, behind)

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
                floor.changes += 1
                floor.look_below_from = 0.0

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
                    self._floors.setdefault(queue, _Floor()).nothing_before = earliest

    def look_below(self, queue: Hashable) -> None:
        """Start the queue's next claim at the head."""
        with self._lock:
            self._floors.setdefault(queue, _Floor()).look_below_from = 0.0
