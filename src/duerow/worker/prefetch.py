"""A worker's pace: how many messages to hold, how long to sleep without any, how long to wait after a failure."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final, TypeVar

from duerow.errors import StoreUnavailable

T = TypeVar("T")

HORIZON: Final = 0.05
"""Seconds of work that a worker claims ahead if claims are quick.

A claim counts an attempt, but an attempt should count only once a handler begins: so messages that are claimed ahead
must begin soon.
"""

LONG_HORIZON: Final = 1.0
"""The most seconds of work that a worker claims ahead if claims are slow."""

CLAIMS_AHEAD: Final = 4
"""The work ahead lasts for at least this many claims, so that the next claim starts before the last third of it."""

BATCHES_AHEAD: Final = 3
"""The most batches that a worker claims ahead: one is fetched and one settled while one is handled."""

WEIGHT: Final = 0.05
"""The weight of the newest handling time in the moving average."""

CLAIM_WEIGHT: Final = 0.2
"""The weight of the newest claim time in the moving average of claim times."""

FIRST_POLL: Final = 0.01
"""Seconds of the first sleep after the last message."""

FIRST_PAUSE: Final = 0.1
"""The most seconds to wait after the first failure."""


class Prefetch:
    """How long handling a message takes, and so how many to hold without keeping them from other workers.

    Args:
        batch: the most messages in one claim.
        concurrency: handlers that run at once.
        lease: seconds that a reservation lasts.
        ahead: the most batches that are claimed ahead.
        width: messages that a handler receives at once.

    Attributes:
        careful: whether messages are claimed one by one (or as many as a handler receives at once), and none ahead.
    """

    def __init__(self, batch: int, concurrency: int, lease: float, ahead: int = BATCHES_AHEAD, width: int = 1) -> None:
        self._batch, self._concurrency, self._width = batch, concurrency, width
        self._ahead = self._most_ahead = ahead * batch if batch > 1 else 0
        self._longest = min(LONG_HORIZON, lease / 3)
        self._horizon = min(HORIZON, self._longest)
        self._average: float | None = None
        self._claim: float | None = None
        self.careful = False

    def allow(self, concurrency: int) -> None:
        """Expect this many handlers from now on; with none, hold nothing."""
        self._concurrency = concurrency
        self._ahead = self._most_ahead if concurrency else 0

    def note(self, seconds: float) -> None:
        """Record how long a handler took."""
        average = self._average
        self._average = seconds if average is None else average + (seconds - average) * WEIGHT

    def note_claim(self, seconds: float) -> None:
        """Record how long a claim took."""
        average = self._claim
        self._claim = seconds if average is None else average + (seconds - average) * CLAIM_WEIGHT
        self._horizon = min(max(HORIZON, self._claim * CLAIMS_AHEAD), self._longest)

    def stall(self, seconds: float) -> None:
        """Record how long messages have waited behind running handlers."""
        if self._average is None or self._average < seconds:
            self._average = seconds

    @property
    def at_once(self) -> int:
        """The most messages that handlers may have at once."""
        return self._concurrency

    @property
    def most(self) -> int:
        """The most messages to hold: those being handled, and those that can begin within the horizon.

        At most three batches ahead, so that one can be fetched and one settled while one is handled. While nothing is
        known about the handler, and with batches of one, at most as many as can begin at once.
        """
        if self._average is None or self.careful:
            return self._concurrency
        ahead = self._ahead
        if self._average * ahead > self._horizon * self._concurrency:
            ahead = int(self._horizon * self._concurrency / self._average)
        return self._concurrency + ahead

    def room(self, held: int) -> int:
        """Return how many to claim now; 0: a claim is not worthwhile until more of those in hand are settled."""
        most = self.most
        room = most - held
        worthwhile = 1 if held < self._concurrency else max(1, min(self._batch, (most - self._concurrency) // 3))
        return min(room, self._width if self.careful else self._batch) if room >= worthwhile else 0


class Interval:
    """How long to sleep between looks at an empty queue: from 10 ms, doubling, with a jitter of a quarter."""

    def __init__(self) -> None:
        self._next = FIRST_POLL

    def reset(self) -> None:
        """Start again: something was found."""
        self._next = FIRST_POLL

    def next(self, most: float) -> float:
        """Return the seconds to sleep now, at most `most`; the next sleep is twice as long."""
        sleep = min(self._next, most)
        self._next = min(2 * self._next, most)
        return min(sleep * random.uniform(0.75, 1.25), most)  # noqa: S311 - spreads load, guards nothing


class Backoff:
    """How long to wait after failures: from FIRST_PAUSE, doubling up to `most` seconds, less up to a half."""

    def __init__(self, most: float = 5.0) -> None:
        self._most, self._failures = most, 0

    @property
    def failing(self) -> bool:
        """Whether it has failed since it last worked."""
        return self._failures > 0

    def next(self) -> float:
        """Return how many seconds to wait after another failure."""
        longest: float = min(FIRST_PAUSE * 2.0 ** min(self._failures, 16), self._most)
        self._failures += 1
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing

    def reset(self) -> None:
        """Record that it works again."""
        self._failures = 0


def patiently(
    ask: Callable[[], T],
    seconds: float,
    wait: Callable[[float], object] = time.sleep,
    tell: Callable[[StoreUnavailable], None] | None = None,
) -> T:
    """Return a database's answer; while it is unavailable, ask again.

    Args:
        ask: asks the database.
        seconds: how long to keep asking.
        wait: waits for this many seconds; if it returns something true, the wait is given up.
        tell: called with the first error.

    Raises:
        StoreUnavailable: the database was unavailable for too long, or the wait was given up.
    """
    outage, until = Backoff(), time.monotonic() + seconds
    while True:
        try:
            return ask()
        except StoreUnavailable as error:
            if time.monotonic() > until:
                raise
            if tell is not None and not outage.failing:
                tell(error)
            if wait(outage.next()):
                raise
