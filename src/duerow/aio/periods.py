"""The work done on a queue in each 15-minute period of the last day."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from datetime import datetime
from functools import partial

from duerow.aio.executor import Executor
from duerow.aio.handle import P, QueueHandle
from duerow.aio.own_messages import OwnMessages
from duerow.queue import periods
from duerow.queue.counts import CAP
from duerow.queue.periods import CHARTS, FRESH, KEPT, PERIOD, Period


class PeriodsOfQueue(QueueHandle[P]):
    """The part of a queue for charts of the last day; see `Queue`."""

    async def periods(self) -> list[Period]:
        """Return the work done on the queue in each 15-minute period of the last day, oldest first.

        The queue's workers record each period within five minutes after its end. A period is left out if nothing was
        done and nothing was ready, or if no worker was running.
        """
        database = self.database
        counters = await database.run(lambda: self._store.counters.read(self.name))
        keys = {periods.key_of(self.name, start): start for start in periods.of_last_day(counters.now)}
        stored = await OwnMessages(database, CHARTS).read(keys)
        found = [periods.period_of(keys[key], payload) for key, payload in stored.items()]
        return sorted((one for one in found if one is not None), key=_start)

    async def keep_periods(self) -> int:
        """Record the latest 15-minute periods for `periods`, as workers do regularly; return how many."""
        return await keep_periods(self.database, [self.name], {})


async def keep_periods(database: Executor, names: Iterable[str], kept: MutableMapping[str, datetime]) -> int:
    """Record the periods of these queues that have ended; return how many.

    Args:
        database: the database that contains the queues.
        names: the queues.
        kept: the start of the last period known to be recorded, by queue; updated here.
    """
    store, charts = database.store, OwnMessages(database, CHARTS)
    if not {"counters", "operations"} <= store.capabilities.parts:
        return 0
    entries = []
    for name in names:
        counters = await database.run(partial(store.counters.read, name))
        starts = periods.over(counters.now)
        missing = [start for start in starts if name not in kept or start > kept[name]]
        for start in missing:
            ready = None
            if counters.now - (start + PERIOD) <= FRESH:
                standing = await database.run(partial(store.operations.queue_stats, name, CAP + 1))
                ready = min(standing.ready, CAP)
            period = periods.added_up(counters, start, ready)
            if not period.is_empty:
                due, key = start + PERIOD + KEPT, periods.key_of(name, start)
                entries.append(charts.entry(key, periods.payload_of(period), due))
        kept[name] = starts[-1]
    if entries:
        await charts.push(entries, "ignore")
    return len(entries)


def _start(one: Period) -> datetime:
    return one.start
