"""A limit on messages in any span of a given length: for services that count their calls.

The rate of a singleton applies to all of its workers together, which are active one after another. So a worker records
what it starts before a handler sees it, and the next worker reads the record when it takes over.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from datetime import timedelta
from time import monotonic
from typing import Final

import msgspec

from duerow.errors import StoreUnavailable
from duerow.plan import Plan
from duerow.worker.attempt import Attempt
from duerow.worker.budget import Budget
from duerow.worker.fetcher import Fetcher
from duerow.worker.outage import Backoff
from duerow.worker.run import Run

LOOK: Final = 10.0
"""The maximum number of seconds to sleep: operators may have set another rate by then."""

PAUSE: Final = 0.05
"""Seconds between checks whether a handler has ended, if each claims for itself and operators allow fewer."""

ENTRIES: Final = 100
"""The most entries in which one worker records what it starts within one span."""


class NoteBegun(msgspec.Struct, frozen=True):
    """Record that an entry counts for the length of the span from now on; it may have been recorded before.

    Attributes:
        entry: its name.
        total: how many messages were started under the entry so far.
        span: how long they count.
        new: whether it is recorded for the first time.
    """

    entry: str
    total: int
    span: timedelta
    new: bool


class Throttled(Fetcher):
    """Claims at most what the rate allows, and only what can start at once."""

    def __init__(self, run: Run, budget: Budget | None) -> None:
        super().__init__(run)
        self._budget = budget
        self._entries = Entries(run.options.rate[1]) if run.options.rate and run.options.singleton else None

    def next(self, limit: int) -> Plan[Sequence[Attempt]]:
        """Claim up to `limit` messages, waiting until there is one and it may start; [] when the run is over."""
        while not (room := self._room(limit)) and not self._run.over:
            waits = [budget.wait() for budget in self._budgets if not budget.room()]
            yield from self._sleep(min(LOOK, max(waits, default=PAUSE)))
        attempts = yield from super().next(room)
        for budget in self._budgets:
            budget.spend(len(attempts))
        if attempts and self._entries is not None:
            yield from self._note(self._entries.with_more(len(attempts)))
        return attempts

    @property
    def _budgets(self) -> list[Budget]:
        """The worker's own rate and the rate that operators have set."""
        return [budget for budget in (self._budget, self._run.budget) if budget is not None]

    def _room(self, limit: int) -> int:
        run = self._run
        rooms = [limit, *(budget.room() for budget in self._budgets)]
        if run.options.one_by_one and run.limits.concurrency is not None:  # otherwise `limit` accounts for it
            rooms.append(max(0, run.concurrency * run.width - len(run.in_flight.held)))
        return min(rooms)

    def _note(self, step: NoteBegun) -> Plan[None]:
        """Record what is started, however long the database takes; nothing more starts once the run is over."""
        outage = Backoff()
        while not self._run.over:
            try:
                yield step
            except StoreUnavailable as error:
                seconds = outage.next()
                self._run.journal.unavailable("record the rate of", error, seconds)
                yield from self._sleep(seconds)
            else:
                return


class Entries:
    """How one worker records what it starts: messages that start in quick succession share an entry.

    An entry counts in full from its last message on, so part of it counts for up to a hundredth of the span too long.

    Args:
        span: how long a message counts.
        clock: monotonic, in seconds.
    """

    def __init__(self, span: timedelta, clock: Callable[[], float] = monotonic) -> None:
        self._span, self._clock = span, clock
        self._worker, self._number = secrets.token_hex(8), 0
        self._total, self._since = 0, 0.0

    def with_more(self, count: int) -> NoteBegun:
        """Return the record of `count` more messages that start now."""
        now = self._clock()
        new = not self._total or now - self._since >= self._span.total_seconds() / ENTRIES
        if new:
            self._number, self._total, self._since = self._number + 1, 0, now
        self._total += count
        return NoteBegun(f"{self._worker}/{self._number}", self._total, self._span, new)


def fetcher_of(run: Run) -> Fetcher:
    """Return the fetcher of a run."""
    rate = run.options.rate
    return Throttled(run, None if rate is None else run.options.budget or Budget(rate))
