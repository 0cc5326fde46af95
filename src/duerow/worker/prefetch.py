"""A worker's prefetch: how many messages to hold, and how long to sleep without any."""

from __future__ import annotations

from typing import Final

from duerow.backoff import Delays

HORIZON: Final = 0.05
"""Seconds of work that a worker claims ahead if claims are quick.

A claim counts an attempt, but an attempt should count only once a handler begins: so messages that are claimed ahead
must begin soon.
"""

LONG_HORIZON: Final = 1.0
"""The maximum number of seconds of work that a worker claims ahead if claims are slow."""

CLAIMS_AHEAD: Final = 4
"""The work ahead lasts for at least this many claims, so that the next claim starts before the last third of it."""

BATCHES_AHEAD: Final = 3
"""The maximum number of batches that a worker claims ahead: one is fetched and one settled while one is handled."""

WEIGHT: Final = 0.05
"""The weight of the newest handling time in the moving average."""

CLAIM_WEIGHT: Final = 0.2
"""The weight of the newest claim time in the moving average of claim times."""

FIRST_POLL: Final = 0.01
"""Seconds of the first sleep after the last message."""


class Prefetch:
    """How long handling a message takes, and thus how many to hold without keeping them from other workers.

    Args:
        batch: the maximum number of messages in one claim.
        concurrency: handlers that run at once.
        lease: seconds that a reservation lasts.
        ahead: the maximum number of batches that are claimed in advance.
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
        self._restricted = False

    def restrict(self, concurrency: int, restricted: bool) -> None:
        """Expect this many handlers from now on; while restricted, claim only what they can begin at once."""
        self._restricted = restricted
        self.allow(concurrency)

    def allow(self, concurrency: int) -> None:
        """Expect this many handlers from now on; with none, hold nothing."""
        self._concurrency = concurrency
        self._ahead = self._most_ahead if concurrency and not self._restricted else 0

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
        """The maximum number of messages that handlers may have at once."""
        return self._concurrency

    @property
    def most(self) -> int:
        """The maximum number of messages to hold: those being handled, and those that can begin within the horizon.

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


class Interval(Delays):
    """How long to sleep between looks at an empty queue: from FIRST_POLL, doubling, with a jitter of a quarter."""

    def __init__(self) -> None:
        super().__init__(FIRST_POLL, spread=(0.75, 1.25))
