"""Watch over a run: slow handlers, requests to stop, and an end within a bounded time.

Plans (see `duerow.plan`) whose steps a worker carries out, blocking or awaited; they never touch the database, so a
database that hangs cannot delay the end.
"""

from __future__ import annotations

from collections.abc import Hashable
from datetime import timedelta
from time import monotonic
from typing import Final

import msgspec

from duerow.errors import TimedOut
from duerow.plan import Plan
from duerow.settlement import Release, Rollback, Settlement
from duerow.worker.attempt import Attempt
from duerow.worker.in_flight import Slot
from duerow.worker.run import Run

PATIENCE: Final = 5.0
"""Seconds that the last settlements may take once the handlers have ended."""

LAST_WORDS: Final = 1.0
"""Seconds that parts of the worker have after their time is up, to log what they could not finish."""

FETCHER: Final = "fetcher"
SETTLER: Final = "settler"
KEEPER: Final = "keeper"
FINDER: Final = "finder"
PERMITS: Final = "permits"
CANCELLATIONS: Final = "cancellations"


class Stop(msgspec.Struct, frozen=True):
    """An event: the worker is asked to stop; if asked twice, it does not wait for handlers."""


class LeftOver(msgspec.Struct, frozen=True):
    """An event: this part of the worker has ended, normally or with an error."""

    role: Hashable
    error: BaseException | None = None


class NextEvent(msgspec.Struct, frozen=True):
    """Wait for an event, at most this many seconds (None: no limit); answered with it or None."""

    seconds: float | None


class StartSlot(msgspec.Struct, frozen=True):
    """Start a thread or task for a new slot."""


class DropSlot(msgspec.Struct, frozen=True):
    """Give up on the thread or task of a slot: its handler was told, and whatever it still does has no effect."""

    slot: Slot


class TurnsEnded(msgspec.Struct, frozen=True):
    """Tell the settler that there is something to settle."""


class AllChanged(msgspec.Struct, frozen=True):
    """Have all parts of the worker look at the run: it is over, closing, its time is up, or it has too many slots."""


class Supervisor:
    """Watches over a run, from its start to its end.

    Attributes:
        staff: the running parts of the worker: fetcher, settler, ticker, slots and others.
        hurry: whether the handlers get no grace.
    """

    def __init__(self, run: Run) -> None:
        self._run, self._in_flight = run, run.in_flight
        self.staff: set[Hashable] = set()
        self.hurry = False
        self._stopped = False
        self._failure: BaseException | None = None

    def watch(self) -> Plan[None]:
        """Wait until the run is over: its work is done, it was asked to stop, or a part of it failed."""
        while not (self._stopped or self._run.over or self._failure):
            self._note((yield NextEvent(self._until_timeout())))
            yield from self._end_late_handlers()

    def wind_down(self) -> Plan[None]:
        """Claim nothing more, give back what has not begun, let handlers end, settle, and end in a bounded time.

        Raises the error with which a part of the worker failed, if any.
        """
        run = self._run
        run.over = True
        run.journal.stopping(sum(slot.attempt is not None for slot in run.slots), len(self._in_flight.waiting))
        self._give_back()
        yield AllChanged()
        yield from self._let_handlers_end(monotonic() + run.options.grace.total_seconds())
        yield from self._abandon_handlers()
        self._give_back()  # what the fetcher was still claiming
        run.closing = True
        yield AllChanged()
        yield from self._let_settlements_end(monotonic() + PATIENCE)
        run.gave_up = True
        yield AllChanged()
        yield from self._let_settlements_end(monotonic() + LAST_WORDS)
        if self._failure is not None:
            raise self._failure

    def _note(self, event: Stop | LeftOver | None) -> None:
        if isinstance(event, Stop):
            self._stopped, self.hurry = True, self._stopped
        elif isinstance(event, LeftOver):
            self.staff.discard(event.role)
            self._failure = self._failure or event.error

    def _let_handlers_end(self, deadline: float) -> Plan[None]:
        while (
            self.staff - {SETTLER, PERMITS, CANCELLATIONS} and not self.hurry and (left := deadline - monotonic()) > 0
        ):
            until_timeout = self._until_timeout()
            self._note((yield NextEvent(left if until_timeout is None else min(left, until_timeout))))
            yield from self._end_late_handlers()

    def _let_settlements_end(self, deadline: float) -> Plan[None]:
        while self.staff and (left := deadline - monotonic()) > 0:
            self._note((yield NextEvent(left)))

    def _until_timeout(self) -> float | None:
        """Seconds until the next handler may time out, including handlers that may start now; None: no timeout."""
        if self._run.options.timeout is None:
            return None
        timeout, now = self._run.options.timeout.total_seconds(), monotonic()
        running = [slot.started for slot in self._run.slots if slot.attempt is not None]
        return max(0.0, min(*running, now) + timeout - now if running else timeout)

    def _end_late_handlers(self) -> Plan[None]:
        """End attempts that have timed out, and replace their slots."""
        timeout = self._run.options.timeout
        if timeout is None:
            return
        for slot, attempt in self._running():
            if monotonic() - slot.started < timeout.total_seconds() or not slot.abandon(attempt):
                continue
            self._in_flight.prefetch.note(timeout.total_seconds())
            for late in slot.batch or (attempt,):
                late.seconds = timeout.total_seconds()
                error = TimedOut(
                    f"message {late.message.id}: its handler ran longer than the worker's timeout of {timeout}"
                )
                self._end(late, error, self._run.conclude(late, error))
            yield from self._replace(slot)
            if not self._run.over:
                yield StartSlot()

    def _abandon_handlers(self) -> Plan[None]:
        """End the attempts that outlasted the grace: they are due again at once, whatever the policy's limit is."""
        for slot, attempt in self._running():
            if not slot.abandon(attempt):
                continue
            for late in slot.batch or (attempt,):
                error = TimedOut(
                    f"message {late.message.id}: its worker was stopped, and its handler did not end within the grace "
                    f"period of {self._run.options.grace}"
                )
                self._end(late, error, Rollback(timedelta(0), error))
            yield from self._replace(slot)

    def _running(self) -> list[tuple[Slot, Attempt]]:
        return [(slot, slot.attempt) for slot in self._run.slots.copy() if slot.attempt is not None]

    def _end(self, attempt: Attempt, error: Exception, settlement: Settlement) -> None:
        self._in_flight.end(attempt, settlement)
        attempt.tell(error)

    def _replace(self, slot: Slot) -> Plan[None]:
        self._run.slots.discard(slot)
        self.staff.discard(slot)
        yield DropSlot(slot)
        yield TurnsEnded()

    def _give_back(self) -> None:
        while (attempt := self._in_flight.next()) is not None:
            self._in_flight.end(attempt, Release())
