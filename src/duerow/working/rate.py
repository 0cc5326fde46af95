"""No more than so many messages in any span of a length: for services that count their calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from time import monotonic

from duerow.errors import ConfigurationError
from duerow.message import check_span
from duerow.plan import Plan
from duerow.working.attempt import Attempt
from duerow.working.claiming import Claiming
from duerow.working.shift import Shift

Rate = tuple[int, timedelta]
"""(most messages, the length of the span)."""

_TICK = timedelta(milliseconds=1)


def check_rate(rate: object) -> Rate | None:
    """Return the rate if a worker can keep it; None for none.

    Raises:
        ConfigurationError: it is no pair of a count and a span (InvalidMessage: the span is out of bounds).
    """
    if rate is None:
        return None
    if not isinstance(rate, tuple) or len(rate) != 2 or type(rate[0]) is not int or rate[0] < 1:
        raise ConfigurationError(
            f"rate is a pair such as (100, timedelta(minutes=1)): at most so many messages in any such span, not "
            f"{rate!r:.80}"
        )
    return rate[0], check_span("the span of rate", rate[1], _TICK)


def budget_of(rate: Rate | None) -> Budget | None:
    """Return the budget of a worker, for all of its runs; None if it may begin as many as there are."""
    return None if rate is None else Budget(rate)


class Budget:
    """How many messages may still be begun, counted over the span that ends now.

    Args:
        rate: how many, in which span.
        clock: monotonic, in seconds.
    """

    def __init__(self, rate: Rate, clock: Callable[[], float] = monotonic) -> None:
        self._most, self._span = rate[0], rate[1].total_seconds()
        self._clock = clock
        self._spent: deque[tuple[float, int]] = deque()
        self._sum = 0

    def room(self) -> int:
        """How many may be begun now."""
        now = self._clock()
        while self._spent and self._spent[0][0] + self._span <= now:
            self._sum -= self._spent.popleft()[1]
        return self._most - self._sum

    def spend(self, count: int) -> None:
        """So many are begun now."""
        if count:
            self._spent.append((self._clock(), count))
            self._sum += count

    def wait(self) -> float:
        """Seconds until more may be begun, when there is no room."""
        return max(0.0, self._spent[0][0] + self._span - self._clock())


class Throttled(Claiming):
    """Claims no more than the rate allows, and only what can be begun at once."""

    def __init__(self, shift: Shift, budget: Budget) -> None:
        super().__init__(shift)
        self._budget = budget

    def next(self, limit: int) -> Plan[Sequence[Attempt]]:
        """Claim up to so many messages, waiting until there is one and it may be begun; [] when the shift is over."""
        while not (room := self._budget.room()) and not self._shift.over:
            yield from self._sleep(self._budget.wait())
        attempts = yield from super().next(min(limit, room))
        self._budget.spend(len(attempts))
        return attempts


def claiming(shift: Shift) -> Claiming:
    """Return who claims for a shift."""
    if shift.terms.rate is None:
        return Claiming(shift)
    return Throttled(shift, shift.terms.budget or Budget(shift.terms.rate))
