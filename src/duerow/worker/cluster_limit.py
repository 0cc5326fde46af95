"""One active worker in the cluster, or a limit on handlers in all workers together: permits, reserved like messages.

A permit is a message in a separate queue. A worker holds a permit by reserving it, so the permit has a lease that ends
if its holder dies, and no two workers hold it at the same time. Plans (see `duerow.plan`) whose steps a worker carries
out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from time import monotonic
from typing import Any, Final

import msgspec

from duerow.errors import InvalidMessage, StoreUnavailable
from duerow.message import check_queue_name
from duerow.plan import Plan
from duerow.queue.reserved import PermitKind, permits_prefix
from duerow.reservation import BareReservation
from duerow.settlement import Release
from duerow.worker.outage import Backoff
from duerow.worker.run import Run
from duerow.worker.settler import Freed
from duerow.worker.supervisor import TurnsEnded

POLL: Final = 1.0
"""Seconds between two attempts to get a permit."""


class MakePermits(msgspec.Struct, frozen=True):
    """Make sure that `total` permits exist."""

    total: int


class TakePermits(msgspec.Struct, frozen=True):
    """Reserve up to `limit` permits; answered with their reservations."""

    limit: int


class ExtendPermits(msgspec.Struct, frozen=True):
    """Extend the leases of permits; answered with the refused ones."""

    reservations: list[BareReservation]


class GivePermits(msgspec.Struct, frozen=True):
    """Give permits back for others to take; `for_good` deletes them, because there are too many."""

    reservations: list[BareReservation]
    for_good: bool = False


class RecallBegun(msgspec.Struct, frozen=True):
    """Look up what was started under the rate.

    Answered with pairs: for how many more seconds some messages count, and how many messages they are.

    Attributes:
        permit: the permit that was just taken; it tells the time on the database's clock.
    """

    permit: BareReservation


class AwaitChange(msgspec.Struct, frozen=True):
    """Wait for this many seconds, or until the run changes."""

    seconds: float


def permit_queue(kind: PermitKind, queues: Sequence[str]) -> str:
    """Return the name of the queue that holds the permits of a worker's queues, or the record of their rate."""
    name = f"{permits_prefix(kind)}{queues[0]}"
    if len(queues) == 1:
        try:
            return check_queue_name(name)
        except InvalidMessage:  # the name is too long
            pass
    return f"{permits_prefix(kind)}{hashlib.sha256(','.join(sorted(queues)).encode()).hexdigest()[:32]}"


def permits_of(queue: Any) -> Any:
    """Return the database that keeps the permits of a worker's queue: its own, unless the queue names another one."""
    return getattr(queue, "permits", None) or queue.database


class Permits:
    """Holds the permits of a run, and lets it claim as much as they allow."""

    def __init__(self, run: Run) -> None:
        options = run.options
        self._run = run
        self._total = options.cluster_concurrency or 1
        self._wanted = 1 if options.singleton else min(options.concurrency, self._total)
        self._lease = options.lease.total_seconds()
        self._held: list[BareReservation] = []
        self._since = 0.0  # when the oldest lease began, or when all were last extended
        self._made = False
        self._budget = options.budget if options.singleton else None
        self._recalled = False  # whether the budget includes what the permit's previous holder started
        self._allowed = (0, 0)
        self._outage = Backoff()

    def keep(self) -> Plan[None]:
        """Take permits, keep them until the handlers have ended, and give them back."""
        while not self._run.closing:
            seconds = yield from self._look_after()
            yield from self._allow(self._in_hand())
            yield AwaitChange(seconds)
        if held := self._held:
            self._held = []
            try:
                yield GivePermits(held)
            except StoreUnavailable as error:
                self._run.journal.unavailable("give back permits of", error, self._lease)

    def _look_after(self) -> Plan[float]:
        """Extend what is held and take what is missing; return how many seconds to wait before the next look."""
        journal = self._run.journal
        try:
            yield from self._follow_limits()
            yield from self._extend()
            yield from self._take()
            yield from self._recall()
        except StoreUnavailable as error:
            seconds = min(self._outage.next(), self._lease / 3)
            if self._held:  # nobody else may take them while they still count as ours
                seconds = min(seconds, max(0.0, self._since + self._lease - monotonic()))
            journal.unavailable("get permits of", error, seconds)
            return seconds
        if self._outage.failing:
            self._outage.reset()
            journal.available("get permits of")
        if not self._held:
            return POLL
        until_third = max(0.0, self._since + self._lease / 3 - monotonic())
        return min(POLL, until_third) if len(self._held) < self._wanted else until_third

    def _follow_limits(self) -> Plan[None]:
        """Follow the number of permits that operators now allow; give back those beyond it that are not in use."""
        run, options = self._run, self._run.options
        if options.singleton:
            return
        total = run.limits.cluster_concurrency or options.cluster_concurrency or 1
        wanted = min(run.concurrency, total)
        if (total, wanted) == (self._total, self._wanted):
            return
        self._made = self._made and total <= self._total
        self._total, self._wanted = total, wanted
        beyond = [one for one in self._held if one.message.payload >= total]
        kept = [one for one in self._held if one.message.payload < total]
        used = max(wanted, -(-len(run.in_flight.held) // run.width))
        self._held, back = kept[:used], kept[used:]
        if beyond:
            yield GivePermits(beyond, for_good=True)
        if back:
            yield GivePermits(back)

    def _extend(self) -> Plan[None]:
        now = monotonic()
        if not self._held or now < self._since + self._lease / 3:  # exactly the sum that `_look_after` waits for
            return
        refused = yield ExtendPermits(self._held)
        lost = {one.receipt for one in refused}
        self._held = [one for one in self._held if one.receipt not in lost]
        self._made = self._made and not lost  # they may have been removed
        self._since = now

    def _take(self) -> Plan[None]:
        missing = self._wanted - len(self._held)
        if not missing or self._run.over:
            return
        if not self._made:
            yield MakePermits(self._total)
            self._made = True
        now = monotonic()
        taken: list[BareReservation] = yield TakePermits(missing)
        if not self._held:
            self._since = now
        self._held += [one for one in taken if one.message.payload < self._total]
        if beyond := [one for one in taken if one.message.payload >= self._total]:
            yield GivePermits(beyond, for_good=True)  # the limit used to be higher

    def _recall(self) -> Plan[None]:
        """Find out what a rate still allows: another worker may have used some of it."""
        if self._budget is None or self._recalled or not self._held:
            return
        self._budget.recall((yield RecallBegun(self._held[0])))
        self._recalled = True

    def _in_hand(self) -> int:
        """How many permits are certainly ours and usable: none after their lease has ended."""
        if self._held and monotonic() - self._since >= self._lease:
            self._held = []
        if not self._held:
            self._recalled = False
        return len(self._held) if self._recalled or self._budget is None else 0

    def _allow(self, permits: int) -> Plan[None]:
        """Let the run claim for this many permits; if there are fewer than before, give back what has not started."""
        run = self._run
        handlers = run.handlers_for(permits)
        if (permits, handlers) == self._allowed:
            return
        fewer, self._allowed = permits < self._allowed[0], (permits, handlers)
        run.in_flight.prefetch.allow(handlers)
        run.journal.permitted(permits)
        if fewer:
            while (attempt := run.in_flight.next()) is not None:
                run.in_flight.end(attempt, Release())
            yield TurnsEnded()
        yield Freed(wake=True)
