"""No more than so many messages in any span of a length: for services that count their calls.

The rate of a singleton is that of all such workers, one after the other. So it writes down what it begins, before a
handler sees it, and the next one reads that when it takes over.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from time import monotonic
from typing import Final

import msgspec

from duerow.errors import ConfigurationError, StoreUnavailable
from duerow.message import check_span
from duerow.plan import Plan
from duerow.worker.attempt import Attempt
from duerow.worker.fetcher import Fetcher
from duerow.worker.prefetch import Backoff
from duerow.worker.run import Run

Rate = tuple[int, timedelta]
"""(most messages, the length of the span)."""

_TICK = timedelta(milliseconds=1)

ENTRIES: Final = 100
"""Entries in which what began within one span is written down, so many at most for each worker."""


class NoteBegun(msgspec.Struct, frozen=True):
    """Write down that an entry counts for the length of the span from now on; it may have been written before.

    Attributes:
        entry: its name.
        total: how many messages were begun since the entry was begun.
        span: how long they count.
        new: whether it is written for the first time.
    """

    entry: str
    total: int
    span: timedelta
    new: bool


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
        self._changing = threading.Lock()  # permits are looked after in another thread than messages are claimed

    def room(self) -> int:
        """How many may be begun now."""
        now = self._clock()
        with self._changing:
            while self._spent and self._spent[0][0] + self._span <= now:
                self._sum -= self._spent.popleft()[1]
            return max(0, self._most - self._sum)

    def spend(self, count: int) -> None:
        """So many are begun now."""
        if count:
            with self._changing:
                self._spent.append((self._clock(), count))
                self._sum += count

    def wait(self) -> float:
        """Seconds until more may be begun, when there is no room."""
        with self._changing:
            oldest = self._spent[0][0] if self._spent else self._clock() - self._span
        return max(0.0, oldest + self._span - self._clock())

    def recall(self, begun: Iterable[tuple[float, int]]) -> None:
        """Count on what was begun by whichever worker, and on nothing else.

        Args:
            begun: for how many more seconds it counts, and how many messages it was.
        """
        now = self._clock()
        spent = sorted((now + min(left, self._span) - self._span, count) for left, count in begun)
        with self._changing:
            self._spent, self._sum = deque(spent), sum(count for _, count in spent)


class Throttled(Fetcher):
    """Claims no more than the rate allows, and only what can be begun at once."""

    def __init__(self, shift: Run, budget: Budget) -> None:
        super().__init__(shift)
        self._budget = budget
        self._entries = Entries(shift.terms.rate[1]) if shift.terms.rate and shift.terms.singleton else None

    def next(self, limit: int) -> Plan[Sequence[Attempt]]:
        """Claim up to so many messages, waiting until there is one and it may be begun; [] when the shift is over."""
        while not (room := self._budget.room()) and not self._shift.over:
            yield from self._sleep(self._budget.wait())
        attempts = yield from super().next(min(limit, room))
        self._budget.spend(len(attempts))
        if attempts and self._entries is not None:
            yield from self._note(self._entries.with_more(len(attempts)))
        return attempts

    def _note(self, step: NoteBegun) -> Plan[None]:
        """Write down what is begun, however long the database takes; nothing begins any more once the shift is over."""
        outage = Backoff()
        while not self._shift.over:
            try:
                yield step
            except StoreUnavailable as error:
                seconds = outage.next()
                self._shift.journal.unavailable("write down the rate of", error, seconds)
                yield from self._sleep(seconds)
            else:
                return


class Entries:
    """How one worker writes down what it begins: what comes shortly after each other in one entry.

    An entry counts whole from its last message on, so a part of it counts for up to a hundredth of the span too long.

    Args:
        span: how long a message counts.
        clock: monotonic, in seconds.
    """

    def __init__(self, span: timedelta, clock: Callable[[], float] = monotonic) -> None:
        self._span, self._clock = span, clock
        self._worker, self._number = secrets.token_hex(8), 0
        self._total, self._since = 0, 0.0

    def with_more(self, count: int) -> NoteBegun:
        """Return how to write down that so many more are begun now."""
        now = self._clock()
        new = not self._total or now - self._since >= self._span.total_seconds() / ENTRIES
        if new:
            self._number, self._total, self._since = self._number + 1, 0, now
        self._total += count
        return NoteBegun(f"{self._worker}/{self._number}", self._total, self._span, new)


def claiming(shift: Run) -> Fetcher:
    """Return who claims for a shift."""
    if shift.terms.rate is None:
        return Fetcher(shift)
    return Throttled(shift, shift.terms.budget or Budget(shift.terms.rate))
