"""How many messages a worker may still start: a limited number in any span of a given length."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from datetime import timedelta
from time import monotonic

from duerow.errors import ConfigurationError, shown
from duerow.message import check_span

Rate = tuple[int, timedelta]
"""(most messages, the length of the span)."""

_TICK = timedelta(milliseconds=1)


def check_rate(rate: object) -> Rate | None:
    """Return the rate if it is valid; None for no rate.

    Raises:
        ConfigurationError: it is not a pair of a count and a span (InvalidMessage: the span is out of bounds).
    """
    if rate is None:
        return None
    if not isinstance(rate, tuple) or len(rate) != 2 or type(rate[0]) is not int or rate[0] < 1:
        raise ConfigurationError(
            "rate must be a maximum number of messages and a span of time, such as (100, timedelta(minutes=1)), not "
            f"{shown(rate)}"
        )
    return rate[0], check_span("the span of rate", rate[1], _TICK)


def budget_of(rate: Rate | None) -> Budget | None:
    """Return the budget of a worker, for all of its runs; None if there is no limit."""
    return None if rate is None else Budget(rate)


class Budget:
    """How many messages may still be started, counted over the span that ends now.

    Args:
        rate: how many messages, in which span.
        clock: monotonic, in seconds.
    """

    def __init__(self, rate: Rate, clock: Callable[[], float] = monotonic) -> None:
        self._most, self._span = rate[0], rate[1].total_seconds()
        self._clock = clock
        self._spent: deque[tuple[float, int]] = deque()
        self._sum = 0
        self._changing = threading.Lock()  # permits are managed in a different thread from the one that claims

    def room(self) -> int:
        """How many may be started now."""
        now = self._clock()
        with self._changing:
            while self._spent and self._spent[0][0] + self._span <= now:
                self._sum -= self._spent.popleft()[1]
            return max(0, self._most - self._sum)

    def spend(self, count: int) -> None:
        """Record that `count` messages are started now."""
        if count:
            with self._changing:
                self._spent.append((self._clock(), count))
                self._sum += count

    def wait(self) -> float:
        """Seconds until more may be started, when there is no room."""
        with self._changing:
            oldest = self._spent[0][0] if self._spent else self._clock() - self._span
        return max(0.0, oldest + self._span - self._clock())

    def recall(self, begun: Iterable[tuple[float, int]]) -> None:
        """Replace the record with what any worker has started.

        Args:
            begun: pairs: for how many more seconds some messages count, and how many messages they are.
        """
        now = self._clock()
        spent = sorted((now + min(left, self._span) - self._span, count) for left, count in begun)
        with self._changing:
            self._spent, self._sum = deque(spent), sum(count for _, count in spent)
