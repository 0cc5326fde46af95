"""Push the messages of due schedules and prune what has been kept long enough, while handlers work.

A plan (see `duerow.plan`) for its own thread and connection. Every worker of a database does this for all of its
schedules: the first worker to see a tick pushes its message, and the others find that it has been pushed.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Final

import msgspec

from duerow.errors import DuerowError, StoreUnavailable
from duerow.plan import Plan
from duerow.queue.history import PRUNE_BATCH
from duerow.queue.schedule import Maintained
from duerow.worker.outage import Backoff
from duerow.worker.run import Run
from duerow.worker.supervisor import AllChanged, StartSlot

LOOK: Final = 10.0
"""The longest time between looks at the schedules, in seconds: a schedule that was just declared may tick this late."""

SHORTEST_REST: Final = 0.01
"""The fewest seconds between looks, even if the database's clock stands still just before a tick."""

PRESENT: Final = 9.0
"""Seconds after which a worker reports again that it is active, and prunes, at the next look."""

UNKNOWN: Final = 50.0
"""Seconds after which messages left because of their unknown kind are counted again, at the next look."""

CHARTED: Final = 290.0
"""Seconds after which the numbers for charts of the last day are added up again, at the next look."""

FIRST_CHARTED: Final = 30.0
"""Seconds before they are first added up; short runs end sooner and skip this."""

SETTLED_IN: Final = 1.0
"""Seconds before a worker first looks at the schedules: its own work, which may be short, goes first."""

TICKER: Final = "ticker"


class Maintain(msgspec.Struct, frozen=True):
    """Push the messages of due schedules; answered with what `Database.tick` returns."""


class Present(msgspec.Struct, frozen=True):
    """Record in the database that this worker is active, and write the counts of its work."""


class KeepPeriods(msgspec.Struct, frozen=True):
    """Store what was done in each past quarter of an hour, for charts of the last day."""


class ReadLimits(msgspec.Struct, frozen=True):
    """Read the limits that operators have set for the queues; answered with them."""


class TellDifferences(msgspec.Struct, frozen=True):
    """Log where the database's settings of the queues differ from this worker's handles."""


class LookForUnknown(msgspec.Struct, frozen=True):
    """Count messages left because this worker does not know their kind, if there were any; log new ones."""


class Prune(msgspec.Struct, frozen=True):
    """Delete a batch of rows that have been kept long enough; answered with how many there were."""


class RestUntil(msgspec.Struct, frozen=True):
    """Wait for this many seconds, or until the run is over."""

    seconds: float


class Maintenance:
    """Keeps the schedules of a database ticking for as long as a run lasts."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._outage = Backoff()
        self._failed: dict[str, str] = {}
        self._present_at = float("-inf")
        self._prunes = False
        self._looked_at = float("-inf")
        self._charted_at = monotonic() - CHARTED + FIRST_CHARTED

    def tick(self) -> Plan[None]:
        """Until the run is over, push what is due and sleep until the next tick."""
        yield RestUntil(SETTLED_IN)
        while not self._run.over:
            try:
                done = yield from self.look()
            except StoreUnavailable as error:
                seconds = self._outage.next()
                self._run.journal.unavailable("check schedules while working on", error, seconds)
                self._run.reaches = False
            else:
                self._run.reaches = True
                self._outage.reset()
                seconds = SHORTEST_REST if self._prunes else _until_next_look(done)
            self._run.looked_after_at = monotonic()
            yield RestUntil(seconds)

    def look(self) -> Plan[Maintained]:
        """Now and then, report that this worker is active, and prune a batch; push what is due."""
        if monotonic() - self._present_at >= PRESENT:
            yield Present()
            self._present_at, self._prunes = monotonic(), True
            if monotonic() - self._charted_at >= CHARTED:
                yield KeepPeriods()
                self._charted_at = monotonic()
            new = self._run.limit((yield ReadLimits()))
            for _ in range(0 if self._run.over else self._run.concurrency - len(self._run.slots)):
                yield StartSlot()
            if new or self._run.crowded:
                yield AllChanged()  # slots with nothing to do end, and a fetcher that waits for room has some
            yield from self._look_for_unknown()
        yield from self._compare()
        if self._prunes:  # one batch at a time, so that due schedules do not wait for all of them
            self._prunes = (yield Prune()) >= PRUNE_BATCH
        return (yield from self._push_what_is_due())

    def look_before_the_end(self) -> Plan[None]:
        """Push what is due, for a run with nothing else to do. Report first: a short run has not done so yet."""
        if not self._run.compared:
            yield Present()
            yield from self._compare()
        yield LookForUnknown()
        yield from self._push_what_is_due()

    def _look_for_unknown(self) -> Plan[None]:
        if monotonic() - self._looked_at >= UNKNOWN:
            yield LookForUnknown()
            self._looked_at = monotonic()

    def _compare(self) -> Plan[None]:
        if not self._run.compared:
            yield TellDifferences()
            self._run.compared = True

    def _push_what_is_due(self) -> Plan[Maintained]:
        done: Maintained = yield Maintain()
        self._tell(done.failed)
        return done

    def _tell(self, failed: Mapping[str, DuerowError]) -> None:
        """Log which schedules cannot tick: once, not at every look."""
        for name, error in failed.items():
            if self._failed.get(name) != str(error):
                self._run.journal.not_ticking(name, error)
        self._failed = {name: str(error) for name, error in failed.items()}


def _until_next_look(done: Maintained) -> float:
    if done.next_in is None or done.failed:
        return LOOK
    return min(LOOK, max(SHORTEST_REST, done.next_in.total_seconds()))
