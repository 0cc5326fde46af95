"""Claim ahead: when to ask for messages, how many, and how long to sleep when there are none.

Plans (see `duerow.plan`) whose steps a worker carries out, blocking or awaited.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from math import inf
from time import monotonic

import msgspec

from duerow.errors import StoreUnavailable
from duerow.plan import Plan
from duerow.reservation import BareReservation
from duerow.settlement import Release
from duerow.worker.attempt import Attempt
from duerow.worker.in_flight import Ended
from duerow.worker.maintenance import Maintenance
from duerow.worker.outage import Backoff
from duerow.worker.poison import Isolation
from duerow.worker.prefetch import Interval
from duerow.worker.run import Run
from duerow.worker.settler import RoomWanted, Settle, Settler

NAP = 0.05
"""Seconds to wait, once in a run, for messages in hand to finish, before preparing for a longer sleep."""

WOKEN_GROWTH = 10.0
"""How many times as long each sleep is as the one before, if every push ends it and nothing is due."""

NOTED_S = 4.0
"""Seconds after the end of a sleep during which the store still knows that this worker slept, with a margin."""


class Reserve(msgspec.Struct, frozen=True):
    """Claim up to `limit` messages; answered with reservations.

    Only if the claim is `exact`, no answer means that nothing was due; see `MessageStore.reserve`.
    """

    limit: int
    exact: bool


class Listen(msgspec.Struct, frozen=True):
    """Listen for pushes from now on, if the store reports them."""


class NextDue(msgspec.Struct, frozen=True):
    """Record that this consumer sleeps for this long; answered with the time until a message is due, or None.

    Only if it is `exact`, everything that is committed counts; see `MessageStore.next_due`.
    """

    sleep: timedelta
    exact: bool


class Sleep(msgspec.Struct, frozen=True):
    """Wait at most this many seconds for a push or a wake-up call; answered with whether one came."""

    seconds: float


class HandOut(msgspec.Struct, frozen=True):
    """Tell this many handlers that there is a message for them.

    With `more`, the claim found all of the several messages that it asked for, so the next one should not wait until a
    handler has begun.
    """

    count: int
    more: bool


class Fetcher:
    """Finds messages for the handlers of a run, and detects that there are no more."""

    def __init__(self, run: Run) -> None:
        self._run, self._in_flight = run, run.in_flight
        self._interval, self._outage = Interval(), Backoff()
        self._looked = False  # whether the queue was empty a moment ago
        self._due_in: timedelta | None = None
        self._napped = False
        self._short = self._alone = False  # whether the last claim found less than it asked for, and then nothing more
        self._noted_at, self._noted = -inf, False  # when the store last learned of a sleep, and whether it still knew
        self._ticking, self._isolation = Maintenance(run), Isolation(run)
        self._ticked = False

    def fetch(self) -> Plan[None]:
        """Supply the handlers with messages until the run is over."""
        while not self._run.over:
            room = self._in_flight.room()
            if not room:
                yield RoomWanted()
                continue
            attempts = yield from self.next(room)
            self._in_flight.waiting.extend(attempts)
            yield HandOut(len(attempts), more=len(attempts) >= room > 1)

    def next(self, limit: int) -> Plan[Sequence[Attempt]]:
        """Claim up to `limit` messages, waiting until there is one; [] when the run is over.

        Also [] if each slot claims for itself and there are too many slots, so that this one can end.
        """
        while not self._run.over:
            if self._in_flight.apart:  # nothing else may start alongside them
                yield RoomWanted()
                continue
            try:
                found = yield from self._look(limit)
            except StoreUnavailable as error:
                seconds = self._outage.next()
                self._run.journal.unavailable("fetch from", error, seconds)
                yield from self._sleep(seconds)
                continue
            if self._outage.failing:
                self._outage.reset()
                self._run.journal.available("fetch from")
            if found:
                self._interval.reset()
                return found
            if self._run.options.one_by_one and self._run.crowded:
                break
        return []

    def settle_and_claim(self, settler: Settler, batch: Sequence[Ended]) -> Plan[Sequence[Attempt]]:
        """Settle, and return what was claimed at the same time, if anything; for a slot that does both."""
        claims, since = self._run.settles_and_claims, monotonic()
        reservations = yield from settler.settle(batch, claims)
        self._looked = reservations is not None and not reservations
        if not reservations:
            return []
        try:
            if not self._run.over:
                return (yield from self._admit(reservations, since))
            yield from self._give_back(reservations)
        except StoreUnavailable:
            pass  # the run is over and cannot give a message back, so its lease has to end
        return []

    def _look(self, limit: int) -> Plan[Sequence[Attempt]]:
        """Claim; if there is nothing, tell the store, which says when the next message is due, and sleep until then.

        A claim that found less than it asked for often found all there was. If that was so the last time, no other
        claim comes before telling the store.
        """
        short, self._short = self._short, False
        idle = self._looked
        found: Sequence[Attempt] = []
        if not idle and not (short and self._alone):
            found = yield from self._claim(limit)
            if short:
                self._alone = not found
            if found or self._run.over:
                return found
            if self._in_flight.held and not self._napped:
                # A short run ends once the messages in hand are done, so it never needs a connection that listens for
                # pushes.
                self._napped = True
                yield from self._sleep(NAP)
                return []
        yield Listen()
        # From here on, a settlement by this worker may come too late for the look; it must then end the next sleep.
        self._run.sleeps_until = inf
        try:
            # A push in progress that could not know of this sleep does not end it, so the first sleep is short.
            self._noted = monotonic() < self._noted_at + self._run.poll + NOTED_S
            if not self._noted:
                self._interval.reset()
            self._due_in = yield NextDue(timedelta(seconds=self._run.poll), exact=self._run.until is not None)
            self._noted_at = monotonic()
            # A push may have come in since the last claim, before the store knew that this worker sleeps. Only a claim
            # finds all that was committed late, so one comes after each sleep that nothing ended.
            if idle or self._is_due or self._run.until is not None:
                found = yield from self._claim(limit, nothing_will_be_due=self._due_in is None)
            if short:
                self._alone = not found
            if not found and not self._run.over:
                yield from self._sleep_until_due()
            return found
        finally:
            self._run.sleeps_until = 0.0

    @property
    def _is_due(self) -> bool:
        return self._due_in is not None and self._due_in <= timedelta(0)

    def _claim(self, limit: int, nothing_will_be_due: bool = False) -> Plan[Sequence[Attempt]]:
        run = self._run
        empty_handed = not self._in_flight.held
        since = monotonic()
        self._looked = False
        reservations = yield Reserve(limit, exact=run.until is not None)
        self._in_flight.prefetch.note_claim(monotonic() - since)
        if reservations and run.over:
            yield from self._give_back(reservations)
            return []
        if reservations:
            self._short = len(reservations) < limit
            return (yield from self._admit(reservations, since))
        if empty_handed and (run.until == "idle" or (run.until == "empty" and nothing_will_be_due)):
            if not self._ticked:  # even a short run pushes the due messages of schedules
                yield from self._ticking.look_before_the_end()
                self._ticked = True
                return (yield from self._claim(limit, nothing_will_be_due))
            run.over = True
        return []

    def _admit(self, reservations: Sequence[BareReservation], since: float) -> Plan[Sequence[Attempt]]:
        """Return which of the messages that were claimed at `since` to start now."""
        attempts = self._in_flight.take_in(reservations, since)
        self._run.journal.fetched(attempts)
        return (yield from self._isolation.admit(attempts))

    def _give_back(self, reservations: Sequence[BareReservation]) -> Plan[None]:
        """Give back what was claimed while the run was ending; the settler may have stopped already."""
        yield Settle([(reservation, Release()) for reservation in reservations])

    def _sleep_until_due(self) -> Plan[None]:
        due_in = None if self._due_in is None else self._due_in.total_seconds()
        overdue = self._is_due  # for example locked by another transaction
        hears_all = self._run.hears and self._noted and self._run.until is None
        seconds = self._interval.next(self._run.poll, WOKEN_GROWTH if hears_all and not overdue else 2.0)
        falls_due = due_in is not None and 0 < due_in <= seconds
        if due_in is not None and falls_due:
            seconds = due_in
        woken = yield from self._sleep(seconds)
        # If nothing ended the sleep, announce the next sleep to the store before looking at the queue.
        self._looked = not (woken or falls_due)

    def _sleep(self, seconds: float) -> Plan[bool]:
        self._run.sleeps_until = monotonic() + seconds
        try:
            woken: bool = yield Sleep(seconds)
        finally:
            self._run.sleeps_until = 0.0
        return woken
