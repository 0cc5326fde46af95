"""The state of a queue of rows, in the same form as for other queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from duerow.queue.stats import WINDOWS, Rates, Stats
from duerow.store import Totals

if TYPE_CHECKING:
    from duerow.aio.entity import EntityQueue


async def stats_of(queue: EntityQueue[Any]) -> Stats:
    """Return the statistics of a queue of rows in the same form as for other queues; missing numbers are 0."""
    found = await queue.stats()
    rates = {minutes: Rates() for minutes in WINDOWS}
    return Stats(
        queue.name,
        found.ready,
        found.delayed,
        found.leased,
        0,
        0,
        found.dead,
        found.oldest_due_at,
        found.next_due_at,
        False,
        rates,
        Totals(),
        None,
        None,
        found.capped,
    )
