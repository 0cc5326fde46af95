"""Where claims start: behind the entries that taken rows leave at the head of the index.

While some other session holds an old snapshot, PostgreSQL keeps the index entries of taken rows, and every claim from
the head would walk all of them. So a claim starts at a floor: rows due before it are looked at only every half second,
and always before a queue is called empty. The floor never passes a row that was due and visible, lent or not, and
stays 100 ms behind the newest due time lent, for pushes that are committed a little late.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

BEHIND: Final = timedelta(milliseconds=100)
"""How far the floor stays behind the newest due time that was lent."""

LOOK_BELOW: Final = 0.5
"""Seconds after which a claim looks below the floor again."""


@dataclass
class _Floor:
    due_at: datetime | None = None
    looked_below: float = 0.0
    changes: int = 0
    empty: bool = False


@dataclass(frozen=True)
class Start:
    """Where one claim starts: at a due time, or at the head of the index when that is None."""

    due_at: datetime | None
    changes: int


class Floors:
    """The floors of one process, one for each queue.

    Args:
        kept: whether the database needs them at all; without, every claim starts at the head.
    """

    def __init__(self, kept: bool) -> None:
        self.kept = kept
        self._floors: dict[str, _Floor] = {}
        self._lock = threading.Lock()

    def start(self, queue: str) -> Start:
        """Return where the next claim of a queue starts."""
        if not self.kept:
            return Start(None, 0)
        with self._lock:
            floor = self._floors.setdefault(queue, _Floor())
            if time.monotonic() - floor.looked_below >= LOOK_BELOW:
                return Start(None, floor.changes)
            return Start(floor.due_at, floor.changes)

    def claimed(self, queue: str, start: Start, oldest: Any, newest: Any) -> None:
        """Raise the floor after a claim.

        Args:
            queue: whose messages were lent.
            start: where the claim started.
            oldest: the due time of the first row that was due from there on, lent or not.
            newest: the due time of the last row lent.
        """
        with self._lock:
            floor = self._floors[queue]
            if floor.changes != start.changes:  # lowered meanwhile: what the claim saw is out of date
                return
            if start.due_at is None:
                floor.looked_below = time.monotonic()
            behind = min(oldest, newest - BEHIND)
            floor.due_at = behind if start.due_at is None else max(start.due_at, behind)

    def lower(self, due_at: datetime | None) -> None:
        """Look below soon wherever a row may have come to lie below the floor."""
        if self.kept and due_at is not None:
            with self._lock:
                for floor in self._floors.values():
                    if floor.due_at is not None and due_at < floor.due_at:
                        floor.changes += 1
                        floor.looked_below = 0.0

    def found_nothing(self, queue: str, start: Start) -> None:
        """Note that a claim from the head found nothing due."""
        if self.kept and start.due_at is None:
            with self._lock:
                floor = self._floors[queue]
                floor.empty = floor.changes == start.changes

    def written(self) -> None:
        """Note that this process has written rows that may be due anywhere."""
        for floor in list(self._floors.values()):
            floor.empty = False

    def empty_below(self, queue: str) -> datetime | None:
        """Return a due time below which a claim has just found nothing, and this process has written nothing since."""
        floor = self._floors.get(queue)
        return floor.due_at if floor is not None and floor.empty else None

    def look_below(self, queue: str) -> None:
        """Start the queue's next claim at the head."""
        with self._lock:
            self._floors[queue].looked_below = 0.0
