"""Clocks of processes that are wrong and are set now and then."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from duerow.clock import HostClock

WRONG: Final = 2.0
"""By how many seconds a clock can be wrong: longer than any lease of a run."""

STEADY: Final = (0.1, 0.6)
"""The least and most seconds after which a clock is set again, forwards or backwards."""


class WrongClock:
    """A clock that is wrong by a random span, which changes at random times.

    Args:
        chance: the source of both.
        monotonic: measures how much time has passed.
    """

    def __init__(self, chance: random.Random, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._chance, self._monotonic = chance, monotonic
        self._lock = threading.Lock()
        self._wrong, self._until = timedelta(0), 0.0

    def now(self) -> datetime:
        """Return the time that this clock shows."""
        with self._lock:
            if self._monotonic() >= self._until:
                self._wrong = timedelta(seconds=self._chance.uniform(-WRONG, WRONG))
                self._until = self._monotonic() + self._chance.uniform(*STEADY)
            return datetime.now(UTC) + self._wrong


def be_wrong(chance: random.Random) -> None:
    """Make duerow read a wrong clock in this process, wherever it reads the host's clock."""
    clock = WrongClock(chance)
    setattr(HostClock, "now", lambda _: clock.now())  # noqa: B010 - a method is replaced
