"""Learn what operators want of running handlers: at once, or within a second if the database sends no notifications.

Operators cancel messages and ask for stacks. A plan (see `duerow.plan`) for its own thread and connection. It starts
with the first handler that takes long, so a worker with short handlers pays nothing for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Final

import msgspec

from duerow.errors import StoreUnavailable
from duerow.plan import Plan
from duerow.reservation import BareReservation, Receipt
from duerow.worker.attempt import Attempt
from duerow.worker.cluster_limit import AwaitChange
from duerow.worker.outage import Backoff
from duerow.worker.run import Run

LONG: Final = 1.0
"""Seconds after which a running handler is worth a connection that listens."""

BREATHER: Final = 0.5
"""Seconds between two looks: on SQLite, any commit to the file causes one."""

MOST_AT_ONCE: Final = 1_000
"""The maximum number of messages in one look."""


class WatchCancellations(msgspec.Struct, frozen=True):
    """Start the watch."""


class AwaitCancellation(msgspec.Struct, frozen=True):
    """Wait at most this many seconds; answered with whether messages in hand may have been cancelled or asked about."""

    seconds: float


class FindLost(msgspec.Struct, frozen=True):
    """Find the reservations that are no longer ours; answered with them as refused, each with its reason."""

    reservations: list[BareReservation]


class AnswerQuestions(msgspec.Struct, frozen=True):
    """Write the stacks of the attempts about whose messages operators have asked."""

    attempts: list[Attempt]


class CancellationWatch:
    """Tells handlers of a run that their messages were cancelled, and operators where handlers are."""

    def __init__(self, run: Run) -> None:
        self._run, self._outage = run, Backoff()

    def watch(self) -> Plan[None]:
        """Look at the messages in hand whenever operators may want something, until the last handler has ended."""
        heard = False
        while not self._run.closing:
            if not handles_long(self._run):
                yield AwaitChange(LONG)
                continue
            try:
                heard = heard or (yield AwaitCancellation(self._run.poll))
                if heard:
                    yield from self._look()
            except StoreUnavailable as error:
                seconds = self._outage.next()
                self._run.journal.unavailable("listen for cancelled messages of", error, seconds)
                yield AwaitChange(seconds)
                continue
            self._outage.reset()
            if heard:
                heard = False
                yield AwaitChange(BREATHER)

    def _look(self) -> Plan[None]:
        ours = [attempt for attempt in self._run.in_flight.ours() if not attempt.finished]
        for start in range(0, len(ours), MOST_AT_ONCE):
            part = ours[start : start + MOST_AT_ONCE]
            refused = yield FindLost([attempt.reservation for attempt in part])
            lose(self._run, part, {one.receipt: one.error for one in refused})
            yield AnswerQuestions([attempt for attempt in part if not attempt.over])


def handles_long(run: Run) -> bool:
    """Return whether a handler of a run has been running for long."""
    now = monotonic()
    return any(slot.attempt is not None and now - slot.started >= LONG for slot in run.slots.copy())


def lose(run: Run, attempts: Sequence[Attempt], reasons: dict[Receipt, Exception]) -> None:
    """Tell the handlers of messages that are no longer ours; drop those messages that have not begun."""
    for attempt in attempts if reasons else ():
        error = reasons.get(attempt.reservation.receipt)
        if error is None or attempt.finished:
            continue
        attempt.tell(error)
        if run.in_flight.withdraw(attempt):
            run.in_flight.let_go([attempt])
            run.journal.lost(attempt)
