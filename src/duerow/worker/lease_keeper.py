"""Keep the leases: extend what is in hand with each heartbeat, and give back what waits longer than expected.

A heartbeat is also how a worker learns that a message is no longer its own.

A plan (see `duerow.plan`) for its own thread and connection, so that no handler can hold it up.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

import msgspec

from duerow.errors import StoreUnavailable
from duerow.plan import Plan
from duerow.reservation import BareReservation
from duerow.settlement import Release
from duerow.worker.attempt import Attempt
from duerow.worker.cancellation import WatchCancellations, handles_long, lose
from duerow.worker.in_flight import Ended
from duerow.worker.outage import Backoff
from duerow.worker.run import Run
from duerow.worker.settler import Freed, Pause, Settle

MOST_AT_ONCE = 1_000
"""The most leases in one statement."""

TOO_LONG = 2.0
"""Seconds after which a message has waited too long behind slow handlers and goes back without counting an attempt.

A third of its lease, minus half a heartbeat, is also too long.
"""

LOOK = 1.0
"""The maximum number of seconds between looks at the waiting messages."""


class Extend(msgspec.Struct, frozen=True):
    """Extend these leases; answered with the refused ones."""

    reservations: list[BareReservation]


class WriteProgress(msgspec.Struct, frozen=True):
    """Write the progress of handlers."""

    attempts: list[Attempt]


class LeaseKeeper:
    """Keeps the leases of a run."""

    def __init__(self, run: Run) -> None:
        self._run, self._in_flight = run, run.in_flight
        self._third = run.options.lease.total_seconds() / 3
        beat = run.options.heartbeat
        self._beat = self._third if beat is None else beat.total_seconds()
        self._too_long = min(TOO_LONG, self._third - self._beat / 2)  # as precise as the heartbeats
        self._outage = Backoff(most=self._beat)
        self._watched = False  # whether the watch for cancellations has started

    def keep(self) -> Plan[None]:
        """Extend leases until the run's time is up."""
        while not self._run.gave_up:
            yield Pause(min(self._until_next(), LOOK))
            if not self._watched and handles_long(self._run):
                self._watched = True
                yield WatchCancellations()
            now = monotonic()
            if told := [attempt for attempt in self._in_flight.ours() if attempt.unwritten]:
                yield from self._write_progress(told)
            yield from self._give_back(
                [one for one in self._in_flight.ours() if now - one.claimed_at >= self._too_long]
            )
            old = [attempt for attempt in self._in_flight.ours() if now - attempt.extended_at >= self._beat / 2]
            if not old or now - min(attempt.extended_at for attempt in old) < self._beat:
                continue
            yield from self._extend_all(old)

    def _until_next(self) -> float:
        """Seconds until the next lease needs its heartbeat; at most one beat, since new leases may come."""
        now = monotonic()
        ages = [now - attempt.extended_at for attempt in self._in_flight.ours()]
        return max(0.0, self._beat - max(ages, default=0.0))

    def _give_back(self, old: Sequence[Attempt]) -> Plan[None]:
        """Give back messages that have waited too long, without counting an attempt: handlers are unexpectedly slow."""
        given_back = [attempt for attempt in old if self._in_flight.withdraw(attempt)]
        if not given_back:
            return
        self._in_flight.prefetch.stall(self._too_long)
        ended: list[Ended] = [Ended(attempt, Release()) for attempt in given_back]
        try:
            yield Settle([(one.attempt.reservation, one.settlement) for one in ended])
        except StoreUnavailable as error:
            self._run.journal.given_up(given_back, error)
        else:
            self._run.journal.settled(ended)
        self._in_flight.let_go(given_back)
        yield Freed(wake=False)

    def _write_progress(self, told: list[Attempt]) -> Plan[None]:
        """Write the progress that handlers reported; what they report in the meantime is written next time."""
        for attempt in told:
            attempt.unwritten = False
        try:
            yield WriteProgress(told)
        except StoreUnavailable as error:
            for attempt in told:
                attempt.unwritten = True
            self._run.journal.unavailable("write progress of messages of", error, self._beat)

    def _extend_all(self, attempts: Sequence[Attempt]) -> Plan[None]:
        for part in _parts(attempts):
            now = monotonic()
            try:
                refused = yield Extend([attempt.reservation for attempt in part])
            except StoreUnavailable as error:
                seconds = self._outage.next()
                self._run.journal.unavailable("extend leases on", error, seconds)
                yield Pause(seconds)
                return
            self._outage.reset()
            for attempt in part:
                attempt.extended_at = now
            lose(self._run, part, {one.receipt: one.error for one in refused})


def _parts(attempts: Sequence[Attempt]) -> list[Sequence[Attempt]]:
    return [attempts[start : start + MOST_AT_ONCE] for start in range(0, len(attempts), MOST_AT_ONCE)]
