"""Rate limiting of work on many messages, batch by batch."""

from __future__ import annotations

from math import ceil, isfinite

from duerow.errors import ConfigurationError, shown
from duerow.phrases import Argument


class Throttle:
    """Limits the number of messages per second.

    Args:
        rate: messages per second; None: as fast as possible.
        most: the largest batch.

    Raises:
        ConfigurationError: the rate is not a positive number.
    """

    def __init__(self, rate: float | None, most: int) -> None:
        number = isinstance(rate, int | float) and not isinstance(rate, bool) and isfinite(rate) and rate > 0
        if rate is not None and not number:
            raise ConfigurationError(
                Argument("rate"), f" must be a number of messages per second above 0, not {shown(rate)}"
            )
        self._rate = rate
        self._most = most if rate is None else min(most, ceil(rate))

    def batch(self, limit: int | None, done: int) -> int:
        """Return the size of the next batch, given a limit and how many messages are done; at least 1."""
        return self._most if limit is None else max(1, min(self._most, limit - done))

    def pause(self, count: int) -> float:
        """Return how many seconds to pause after this many messages."""
        return 0.0 if self._rate is None else count / self._rate
