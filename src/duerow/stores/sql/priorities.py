"""The lines of a queue: the priorities in use, separately for messages in groups and all others.

A claim goes from line to line, so it never reads a row that is not due. Priorities that this process uses in a push are
known at once. New priorities of other processes are found within half a second, and always before a queue counts as
empty.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import pairwise
from typing import Final, NamedTuple

from duerow.message import PRIORITIES

LOOK_AGAIN: Final = 0.5
"""The number of seconds after which a claim looks for other processes' lines again."""

COMMITTED_IN: Final = 0.1
"""The number of seconds after which a pause by this process counts as committed."""

MOST: Final = 32
"""The maximum number of lines that are remembered even if they were empty."""


class PriorityLine(NamedTuple):
    """One line of a queue: its messages of one priority, in groups or not."""

    priority: int
    grouped: bool


class DrainCache:
    """Which queues accept messages, as far as this process knows.

    A push asks the database again half a second after the last time, and each time if the queue was closed.
    """

    def __init__(self) -> None:
        self._open: dict[str, float] = {}

    def unsure(self, queue: str) -> bool:
        """Return whether a push has to ask."""
        asked = self._open.get(queue)
        return asked is None or time.monotonic() - asked >= LOOK_AGAIN

    def found_open(self, queue: str) -> None:
        """Note that the queue accepts messages now."""
        self._open[queue] = time.monotonic()

    def forget(self, queue: str) -> None:
        """Note that the queue may have been closed or opened."""
        self._open.pop(queue, None)


class Priorities:
    """The lines that this process knows about."""

    def __init__(self) -> None:
        self._known: dict[str, set[PriorityLine]] = {}
        self._looked: dict[str, float] = {}
        self._paused: set[str] = set()
        self._set: dict[str, float] = {}

    def of(self, queue: str) -> list[PriorityLine]:
        """Return the lines of a queue in the order in which they are served."""
        return sorted(self._known.get(queue, ()))

    def stale(self, queue: str) -> bool:
        """Return whether to look for other processes' lines."""
        looked = self._looked.get(queue)
        return looked is None or time.monotonic() - looked >= LOOK_AGAIN

    def looked(self, queue: str, paused: bool, begun: float) -> None:
        """Note that all lines are known at this moment, and whether the queue is paused.

        Args:
            queue: the queue.
            paused: whether the look found the queue paused.
            begun: when the look began, by `time.monotonic()`. If it began before this process paused or resumed the
                queue, or before that was committed, `paused` may be out of date and is ignored.
        """
        self._looked[queue] = time.monotonic()
        if begun >= self._set.get(queue, float("-inf")) + COMMITTED_IN:
            self._note_paused(queue, paused)

    def paused(self, queue: str, paused: bool) -> None:
        """Note that this process pauses or resumes a queue; a paused queue hands nothing out."""
        self._set[queue] = time.monotonic()
        self._note_paused(queue, paused)

    def _note_paused(self, queue: str, paused: bool) -> None:
        (self._paused.add if paused else self._paused.discard)(queue)

    def is_paused(self, queue: str) -> bool:
        """Return whether the queue was paused at the last look."""
        return queue in self._paused

    def add(self, queue: str, lines: Iterable[PriorityLine]) -> None:
        """Note lines that have messages, or will have."""
        self._known.setdefault(queue, {PriorityLine(0, False)}).update(lines)

    def gaps(self, queue: str) -> list[tuple[bool, int, int]]:
        """Return the gaps that may contain more lines: whether in groups, and the priorities on either side."""
        gaps: list[tuple[bool, int, int]] = []
        lines = self.of(queue)
        for grouped in (False, True):
            known = [line.priority for line in lines if line.grouped == grouped]
            bounds = [PRIORITIES[0] - 1, *known, PRIORITIES[-1] + 1]
            gaps += [(grouped, low, high) for low, high in pairwise(bounds) if high - low > 1]
        return gaps

    def found_empty(self, queue: str, line: PriorityLine) -> None:
        """Forget a line that has nothing due if many lines are remembered; it is found again once it has messages."""
        known = self._known[queue]
        if len(known) > MOST:
            self._known[queue] = known - {line}
