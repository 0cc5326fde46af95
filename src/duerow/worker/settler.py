"""Settle in batches: carry out what was decided, and decide again if the store refuses it.

Plans (see `duerow.plan`) whose steps a worker carries out, blocking or awaited.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from time import monotonic

import msgspec

from duerow.errors import DuerowError, LeaseLost, StoreRefused, StoreUnavailable
from duerow.plan import Plan
from duerow.reservation import BareReservation
from duerow.settlement import Rollback, Settlement
from duerow.worker.attempt import Attempt
from duerow.worker.in_flight import Ended, by_queue
from duerow.worker.outage import Backoff
from duerow.worker.run import MOST_AT_ONCE, Run

SAMPLES = 100
"""The most handling times counted for a batch: evenly spread samples, each of which stands for its neighbors."""

_NOW = timedelta(0)


class Settle(msgspec.Struct, frozen=True):
    """End these turns in one transaction; answered with the refused ones."""

    pairs: Iterable[tuple[BareReservation, Settlement]]


class SettleAndReserve(msgspec.Struct, frozen=True):
    """End these turns, and claim a message if that can be done at the same time.

    Answered with the refused turns, and with reservations; None instead of these: nothing was claimed.
    """

    pairs: Iterable[tuple[BareReservation, Settlement]]


class WriteCounts(msgspec.Struct, frozen=True):
    """Write the counts for `stats` that have not been written yet."""


class EndWanted(msgspec.Struct, frozen=True):
    """Wait until a turn is decided, or the run closes."""


class RoomWanted(msgspec.Struct, frozen=True):
    """Wait until something in hand was settled, the run is over, or this many seconds have passed."""

    seconds: float | None = None


class Freed(msgspec.Struct, frozen=True):
    """Tell the fetcher that there is room; with `wake`, also if it sleeps."""

    wake: bool


class Pause(msgspec.Struct, frozen=True):
    """Wait for this many seconds, or until the run's time is up."""

    seconds: float


class Settler:
    """Carries out the decisions about the messages of a run."""

    def __init__(self, run: Run) -> None:
        self._run, self._in_flight = run, run.in_flight
        self._several = len(run.queues) > 1
        batch = run.options.batch
        self._limit = batch if batch == 1 else min(max(batch, run.options.concurrency), MOST_AT_ONCE)

    def serve(self) -> Plan[None]:
        """Settle all decided turns until the run closes."""
        while True:
            closing = self._run.closing
            batch = self._in_flight.take_ended(self._limit)
            if batch and self._several:
                for part in by_queue(batch):
                    yield from self.settle(part)
            elif batch:
                yield from self.settle(batch)
            elif closing:
                yield from self._write_counts()
                return
            else:
                yield EndWanted()

    def _write_counts(self) -> Plan[None]:
        try:
            yield WriteCounts()
        except (StoreUnavailable, StoreRefused) as error:
            self._run.journal.not_counted(error)

    def settle(self, batch: Sequence[Ended], claims: bool = False) -> Plan[Sequence[BareReservation] | None]:
        """Carry out what was decided; a turn that cannot be settled is a failed attempt at that message alone.

        With `claims`, claim a message at the same time if possible, and return the reservations; None: not possible.
        """
        claimed: list[Sequence[BareReservation]] = []
        errors = yield from self._carry_out(batch, claimed if claims else None)
        if errors:
            failed = self._failures(errors)
            batch = [ended for ended in batch if ended.attempt not in errors]
            if failed:
                batch += yield from self._settle_failures(failed)
            self._in_flight.let_go(errors)
        yield self.settled(batch)
        return claimed[0] if claimed else None

    def settled(self, batch: Sequence[Ended]) -> Freed:
        """Let go of turns that have ended as decided, and return what to tell the fetcher."""
        self._in_flight.let_go([ended.attempt for ended in batch])
        self._run.journal.settled(batch)
        if batch:
            each = -(-len(batch) // SAMPLES)
            times = [one.attempt.seconds for one in batch[::each] if one.attempt.seconds is not None]
            self._run.metrics.handled(batch[0].attempt.message.queue, times, each)
        return Freed(self._wakes(batch))

    def committed(self, attempt: Attempt, settlement: Settlement) -> Freed:
        """Let go of a turn that ended in its handler's transaction, as `settled` does."""
        self._run.metrics.ended(attempt.message.queue, 1, [(attempt.reservation, settlement)])
        return self.settled([Ended(attempt, settlement)])

    def find_out(self, attempt: Attempt, error: StoreUnavailable) -> Plan[None]:
        """Handle a lost answer to a commit: a turn that can still be ended as failed was not committed."""
        failed = Ended(attempt, self._run.conclude(attempt, error))
        why = (yield from self._carry_out([failed])).get(attempt)
        if why is None:
            yield self.settled([failed])
            return
        self._in_flight.let_go([attempt])
        if isinstance(why, LeaseLost):
            self._run.journal.unknown([attempt], error)
        elif not isinstance(why, StoreUnavailable):
            self._run.journal.unsettled(attempt, why)
            raise why
        yield Freed(self._wakes([]))

    def lost(self, attempt: Attempt, error: Exception) -> Freed:
        """Let go of a message whose settlement was refused for good, and return what to tell the fetcher."""
        attempt.tell(error)
        self._run.journal.lost(attempt)
        self._in_flight.let_go([attempt])
        return Freed(self._wakes([]))

    def _carry_out(
        self, batch: Sequence[Ended], claimed: list[Sequence[BareReservation]] | None = None
    ) -> Plan[dict[Attempt, Exception]]:
        """Settle, however long the database takes to answer; return what was refused, and why.

        If `claimed` is given, also claim in the first try, and add the reservations, unless that was not possible.
        """
        outage: Backoff | None = None
        while True:
            pairs = ((one.attempt.reservation, one.settlement) for one in batch)
            along, claimed = claimed, None
            try:
                if along is None:
                    refused = yield Settle(pairs)
                else:
                    refused, reservations = yield SettleAndReserve(pairs)
                    along += [] if reservations is None else [reservations]
            except StoreUnavailable as error:
                if (lost := self._lost(batch, error)) is not None:
                    return lost
                outage = outage or Backoff()
                seconds = outage.next()
                self._run.journal.unavailable("settle on", error, seconds)
                yield Pause(seconds)
            except Exception as error:
                if along is not None:
                    continue  # the claim may be at fault
                # One of the turns is at fault, and none was changed.
                return (yield from self._carry_out_apart(batch, error))
            else:
                if not refused:
                    return {}
                why = {one.receipt: one.error for one in refused}
                attempts = [one.attempt for one in batch]
                return {one: why[one.reservation.receipt] for one in attempts if one.reservation.receipt in why}

    def _carry_out_apart(self, batch: Sequence[Ended], error: Exception) -> Plan[dict[Attempt, Exception]]:
        """Settle each half separately, until the turn that cannot be settled stands alone."""
        if len(batch) == 1:
            return {batch[0].attempt: error}
        middle = len(batch) // 2
        first = yield from self._carry_out(batch[:middle])
        second = yield from self._carry_out(batch[middle:])
        return first | second

    def _lost(self, batch: Sequence[Ended], error: StoreUnavailable) -> dict[Attempt, Exception] | None:
        """Return the whole batch as lost if another try is pointless, else None."""
        attempts = [one.attempt for one in batch]
        if error.outcome == "unknown":
            self._run.journal.unknown(attempts, error)
        elif self._run.gave_up:
            self._run.journal.given_up(attempts, error)
        else:
            return None
        return dict.fromkeys(attempts, error)

    def _failures(self, errors: dict[Attempt, Exception]) -> list[Ended]:
        """Decide again about refused turns that are still ours."""
        failed: list[Ended] = []
        for attempt, error in errors.items():
            if isinstance(error, LeaseLost):
                attempt.tell(error)
                self._run.journal.lost(attempt)
            elif not isinstance(error, StoreUnavailable):
                failed.append(Ended(attempt, self._run.conclude(attempt, error)))
        return failed

    def _settle_failures(self, failed: list[Ended]) -> Plan[list[Ended]]:
        """Settle turns as failed; return those that could be. If even that fails, no message is to blame."""
        errors = yield from self._carry_out(failed)
        for attempt, error in errors.items():
            if isinstance(error, LeaseLost):
                self._run.journal.lost(attempt)
            elif isinstance(error, DuerowError) and error.of_row:
                # Only this message is affected; when its lease ends, the claim that finds it buries it.
                self._run.journal.unsettled(attempt, error)
            elif not isinstance(error, StoreUnavailable):
                self._run.journal.unsettled(attempt, error)
                raise error
        return [ended for ended in failed if ended.attempt not in errors]

    def _wakes(self, batch: Sequence[Ended]) -> bool:
        """Whether the fetcher has a reason to look before its sleep ends."""
        run = self._run
        if not run.sleeps_until:
            return False
        if run.until is not None and not self._in_flight.held:
            return True
        if any(one.attempt.message.group is not None for one in batch):
            return True  # the next message of its group may now be due
        delays = [one.delay or _NOW for one in (ended.settlement for ended in batch) if isinstance(one, Rollback)]
        return bool(delays) and monotonic() + min(delays).total_seconds() < run.sleeps_until
