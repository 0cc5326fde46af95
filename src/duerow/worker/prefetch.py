"""How fast to go: how many messages to hold, how long to sleep when there are none, how long to leave a database."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final, TypeVar

from duerow.errors import StoreUnavailable

T = TypeVar("T")

HORIZON: Final = 0.05
"""Seconds of work that a worker claims ahead where claims are quick.

A claim counts an attempt, and an attempt is to count when a handler begins: so what is claimed ahead begins soon.
"""

LONG_HORIZON: Final = 1.0
"""Seconds of work that a worker claims ahead at most, where claims take long."""

CLAIMS_AHEAD: Final = 4
"""For how many claims there is work ahead at least: the next one has begun before the last third of it."""

BATCHES_AHEAD: Final = 3
"""Batches that a worker claims ahead at most: one is fetched and one settled while one is handled."""

WEIGHT: Final = 0.05
"""What the newest handling time counts in the moving average."""

CLAIM_WEIGHT: Final = 0.2
"""What the newest time of a claim counts in theirs."""

FIRST_POLL: Final = 0.01
"""Seconds of the first sleep after the last message."""

FIRST_PAUSE: Final = 0.1
"""Seconds, at most, to leave alone what has failed once."""


class Prefetch:
    """What handling a message takes, and so how many may be held without keeping them from other workers.

    Args:
        batch: most messages in one claim.
        concurrency: handlers that run at once.
        lease: seconds that a reservation lasts.
        ahead: most batches that are claimed ahead.
        width: messages that a handler has at once.

    Attributes:
        careful: whether messages are claimed one by one (or so many as a handler has at once), and none ahead.
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
        """Count on so many handlers from now on; on none: hold nothing."""
        self._concurrency = concurrency
        self._ahead = self._most_ahead if concurrency else 0

    def note(self, seconds: float) -> None:
        """Learn how long a handler took."""
        average = self._average
        self._average = seconds if average is None else average + (seconds - average) * WEIGHT

    def note_claim(self, seconds: float) -> None:
        """Learn how long a claim took."""
        average = self._claim
        self._claim = seconds if average is None else average + (seconds - average) * CLAIM_WEIGHT
        self._horizon = min(max(HORIZON, self._claim * CLAIMS_AHEAD), self._longest)

    def stall(self, seconds: float) -> None:
        """Learn that messages have waited that long behind running handlers."""
        if self._average is None or self._average < seconds:
            self._average = seconds

    @property
    def at_once(self) -> int:
        """Messages that handlers may have at once."""
        return self._concurrency

    @property
    def most(self) -> int:
        """Messages to hold at most: those being handled, and what can be begun within the horizon.

        No more than three batches ahead, so that one can be fetched and one settled while one is handled. As long as
        nothing is known of the handler, and with batches of one, no more than can be begun at once.
        """
        if self._average is None or self.careful:
            return self._concurrency
        ahead = self._ahead
        if self._average * ahead > self._horizon * self._concurrency:
            ahead = int(self._horizon * self._concurrency / self._average)
        return self._concurrency + ahead

    def room(self, held: int) -> int:
        """Return how many to claim now; 0: not worth a claim before more of those in hand are settled."""
        most = self.most
        room = most - held
        worthwhile = 1 if held < self._concurrency else max(1, min(self._batch, (most - self._concurrency) // 3))
        return min(room, self._width if self.careful else self._batch) if room >= worthwhile else 0


class Interval:
    """How long to sleep between looks at an empty queue: from 10 ms, doubling, spread by a quarter."""

    def __init__(self) -> None:
        self._next = FIRST_POLL

    def reset(self) -> None:
        """Begin anew: there was something."""
        self._next = FIRST_POLL

    def next(self, most: float) -> float:
        """Return the seconds to sleep now, at most `most`; the next sleep is twice as long."""
        sleep = min(self._next, most)
        self._next = min(2 * self._next, most)
        return min(sleep * random.uniform(0.75, 1.25), most)  # noqa: S311 - spreads load, guards nothing


class Backoff:
    """How long to leave alone what has failed: from FIRST_PAUSE doubling up to `most` seconds, less up to a half."""

    def __init__(self, most: float = 5.0) -> None:
        self._most, self._failures = most, 0

    @property
    def failing(self) -> bool:
        """Whether it has failed since it last worked."""
        return self._failures > 0

    def next(self) -> float:
        """Return the seconds to wait after one more failure."""
        longest: float = min(FIRST_PAUSE * 2.0 ** min(self._failures, 16), self._most)
        self._failures += 1
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing

    def reset(self) -> None:
        """It works again."""
        self._failures = 0


def patiently(
    ask: Callable[[], T],
    seconds: float,
    wait: Callable[[float], object] = time.sleep,
    tell: Callable[[StoreUnavailable], None] | None = None,
) -> T:
    """Return what a database answers; while it is away, ask again and again.

    Args:
        ask: asks it.
        seconds: for how long to ask again.
        wait: lets so many seconds pass; if it returns something true, nothing more is waited for.
        tell: told the first error.

    Raises:
        StoreUnavailable: it was away for too long, or nothing more is waited for.
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
