"""The work done on a queue in each quarter of an hour of the last day, for charts.

The counts of each minute are kept for about an hour. After each quarter of an hour, a worker adds up the counts of all
processes and keeps the sums as a message in the queue `duerow.charts`. The key names the queue and the time, so each
period is kept once, whichever worker comes first, and the periods of a day are found by their keys. When the message is
a day old, it is due and is popped.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from duerow.clock import EPOCH
from duerow.queue import histogram
from duerow.queue.histogram import Buckets
from duerow.queue.reserved import RESERVED
from duerow.queue.stats import Minute, minute_of, process_name
from duerow.store import Counted, Counters, Totals

CHARTS: Final = f"{RESERVED}charts"
"""The queue whose messages are the sums of other queues."""

PERIOD: Final = timedelta(minutes=15)
DAY: Final = timedelta(days=1)
PERIODS: Final = DAY // PERIOD
KEPT: Final = DAY + PERIOD

LATE: Final = timedelta(seconds=30)
"""How long after its end a period is added up, since processes write their counts every ten seconds."""

FRESH: Final = PERIOD / 2
"""How long after its end a period may count the ready messages: a later count would say nothing about the period."""

BACK: Final = 3
"""How many periods are added up later if no worker was running; counts of minutes are not kept any longer."""

MOST_PROCESSES: Final = 20
"""How many processes a period lists; any others are left out."""


class Period(Minute, frozen=True):
    """The work done on a queue in 15 minutes; fields as in `Minute`.

    Attributes:
        ready: how many messages were ready when it was written, counted up to 10,000; None: not counted.
    """

    ready: int | None = None


class KeptPeriod(msgspec.Struct, frozen=True, omit_defaults=True):
    """A period as the payload of a message; the times are histograms as JSON text."""

    ended: tuple[int, int, int, int] = (0, 0, 0, 0)
    waiting: str | None = None
    handling: str | None = None
    processes: dict[str, int] = {}
    ready: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was done and nothing was waiting."""
        return not (any(self.ended) or self.waiting or self.handling or self.ready)


def begin_of(moment: datetime) -> datetime:
    """Return when the period that contains a moment began."""
    return moment - (moment - EPOCH) % PERIOD


def over(now: datetime) -> list[datetime]:
    """Return the starts of the periods that are over and can still be added up, the oldest first."""
    last = begin_of(now - LATE)
    return [last - PERIOD * ago for ago in range(BACK, 0, -1)]


def of_last_day(now: datetime) -> list[datetime]:
    """Return the starts of the periods of the last day, the oldest first."""
    last = begin_of(now)
    return [last - PERIOD * ago for ago in range(PERIODS, 0, -1)]


def key_of(queue: str, start: datetime) -> str:
    """Return the key of a period."""
    return f"{start:%Y%m%dT%H%M}/{queue}"


def added_up(counters: Counters, start: datetime, ready: int | None) -> KeptPeriod:
    """Return the sums of a period over all processes."""
    rows = [row for row in counters.lately if start <= row.minute < start + PERIOD]
    waiting, handling = _histograms(rows)
    processes: dict[str, int] = {}
    for row in rows:
        name = process_name(row.process)
        processes[name] = processes.get(name, 0) + sum(_ends(row.totals))
    busiest = sorted(processes, key=lambda name: -processes[name])[:MOST_PROCESSES]
    ends = [_ends(row.totals) for row in rows]
    return KeptPeriod(
        (
            sum(one[0] for one in ends),
            sum(one[1] for one in ends),
            sum(one[2] for one in ends),
            sum(one[3] for one in ends),
        ),
        histogram.written(waiting),
        histogram.written(handling),
        {name: processes[name] for name in busiest if processes[name]},
        ready,
    )


def payload_of(period: KeptPeriod) -> Any:
    """Return a period as a payload."""
    return msgspec.json.decode(msgspec.json.encode(period))


def period_of(start: datetime, payload: Any) -> Period | None:
    """Return a period from a payload; None if another version wrote it."""
    try:
        kept = msgspec.convert(payload, KeptPeriod)
        waiting, handling = histogram.read(kept.waiting), histogram.read(kept.handling)
    except (msgspec.ValidationError, msgspec.DecodeError):
        return None
    one = minute_of(start, kept.ended, waiting, handling, kept.processes)
    return Period(**msgspec.structs.asdict(one), ready=kept.ready)


def _histograms(rows: Iterable[Counted]) -> tuple[Buckets, Buckets]:
    waiting: Buckets = {}
    handling: Buckets = {}
    for row in rows:
        histogram.add_up(waiting, histogram.read(row.waiting))
        histogram.add_up(handling, histogram.read(row.handling))
    return waiting, handling


def _ends(totals: Totals) -> tuple[int, int, int, int]:
    return totals.done, totals.failed, totals.dead, totals.moved
