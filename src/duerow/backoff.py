"""Waiting between tries: delays that grow, spread at random so that many processes do not try at the same time.

The numbers are kept where they are used: how long a worker sleeps (`worker/prefetch.py`) and waits after a failure
(`worker/outage.py`), and how soon a transaction is repeated (`aio/executor.py`, `spark/conflict_retry.py`).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from math import inf
from typing import TypeVar

T = TypeVar("T")
E = TypeVar("E", bound=Exception)


class Delays:
    """Delays that grow from `first` to `most`, doubling unless told otherwise, each times a random factor.

    Args:
        first: the first delay, in seconds.
        most: the longest delay, in seconds.
        spread: the smallest and the largest factor.
    """

    def __init__(self, first: float, most: float = inf, spread: tuple[float, float] = (0.5, 1.0)) -> None:
        self._first, self._most, self._spread = first, most, spread
        self._next, self._given = first, False

    @property
    def failing(self) -> bool:
        """Whether there has been a delay since the last success."""
        return self._given

    def next(self, most: float | None = None, growth: float = 2.0) -> float:
        """Return the seconds to wait now.

        Args:
            most: the longest delay from now on, if different from the constructor's.
            growth: how many times as long the next delay is.
        """
        longest = self._most if most is None else most
        seconds = min(self._next, longest)
        self._next, self._given = min(growth * self._next, longest), True
        return min(spread(seconds, *self._spread), longest)

    def rest(self) -> None:
        """Continue with the longest delay, as after many tries in vain."""
        self._next = self._most

    def reset(self) -> None:
        """Start again with the first delay, since a try succeeded."""
        self._next, self._given = self._first, False


def spread(seconds: float, least: float, greatest: float) -> float:
    """Return a length of time multiplied by a random factor between these two."""
    return seconds * random.uniform(least, greatest)  # noqa: S311 - spreads load, guards nothing


def keep_trying(
    ask: Callable[[], T],
    error: type[E],
    delays: Delays,
    patience: float,
    wait: Callable[[float], object],
    *,
    tell: Callable[[E], None] | None = None,
    again: Callable[[], bool] = lambda: True,
) -> T:
    """Return what `ask` returns; while it fails with one kind of error, call it again.

    Args:
        ask: the function to call.
        error: the kind of error after which to call it again.
        delays: how long to wait each time.
        patience: seconds after which the error is raised instead.
        wait: waits for this many seconds; if it returns something true, the error is raised instead.
        tell: called with the first error.
        again: returns whether it can still be called again; if not, the error is raised.
    """
    until = time.monotonic() + patience
    while True:
        try:
            return ask()
        except error as failed:
            if time.monotonic() > until or not again():
                raise
            if tell is not None and not delays.failing:
                tell(failed)
            if wait(delays.next()):
                raise
