"""Write and read counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from duerow.clock import EPOCH
from duerow.plan import BEGIN, Plan
from duerow.store import Counted, Counters, Totals
from duerow.store.metadata import COUNTS_KEPT, of_last_hour
from duerow.stores.sql.plans.context import Plans
from duerow.stores.sql.statements.counters import COUNTED, NUMBERS

FORGOTTEN: Final = 300
"""The number of old counts that are added to lifetimes at a time."""


class CounterPlans(Plans):
    """Plans for counters. A queue's lifetime is the row with no process and minute 0."""

    def note_counts(self, process: str, rows: Sequence[Counted]) -> Plan[None]:
        """Write the counts of a process; see CounterStore.note_counts."""
        context = self.context
        statements = context.statements
        yield BEGIN
        for chunk in context.chunks(rows):
            given = [self._counted_row(process, row) for row in chunk]
            yield context.given(statements.counters.note_counts, COUNTED, given)
        bound = {"ago": context.dialect.write_span(-COUNTS_KEPT), "limit_in": FORGOTTEN}
        gone = yield context.step(statements.counters.forget_counts, bound)
        if gone:
            beginning = context.dialect.write_moment(EPOCH)
            sums = [(queue, beginning, "", *numbers) for queue, numbers in sorted(_sums(gone).items())]
            yield context.given(statements.counters.add_to_lifetimes, ("queue", "minute", "process", *NUMBERS), sums)

    def read(self, queue: str) -> Plan[Counters]:
        """Read the counters; see CounterStore.read."""
        context = self.context
        read: Callable[[Any], datetime | None] = context.dialect.read_moment
        rows = yield context.step(context.statements.counters.counters, {"queue_in": queue})
        ((at,),) = [rows[0][-1:]] if rows else (yield context.step(context.statements.read.time, {}))
        now = _known(read(at))
        lifetime = _sums((queue, *row[1:5]) for row in rows).get(queue, (0, 0, 0, 0))
        lately = [
            Counted(queue, _known(read(minute)), Totals(*numbers), waiting, handling, process)
            for minute, *numbers, waiting, handling, process, _ in rows
        ]
        return Counters(now, Totals(*lifetime), of_last_hour(lately, now))

    def _counted_row(self, process: str, row: Counted) -> tuple[Any, ...]:
        numbers = (getattr(row.totals, name) for name in NUMBERS)
        return (row.queue, self.context.dialect.write_moment(row.minute), process, *numbers, row.waiting, row.handling)


def _sums(rows: Any) -> dict[str, tuple[int, ...]]:
    """Return the sums of numbers by queue; each row has a queue and its numbers."""
    sums: dict[str, tuple[int, ...]] = {}
    for queue, *numbers in rows:
        before = sums.get(queue, (0,) * len(numbers))
        sums[queue] = tuple(a + b for a, b in zip(before, numbers, strict=True))
    return sums


def _known(moment: datetime | None) -> datetime:
    if moment is None:
        raise AssertionError("a minute and the time are never null")
    return moment
