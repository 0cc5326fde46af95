"""Keep what processes counted, and read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from duerow.clock import EPOCH
from duerow.plan import BEGIN, Plan
from duerow.store import Counted, Counters, Totals
from duerow.stores.sql.plans.core import CorePlans
from duerow.stores.sql.statements.counters import COUNTED, NUMBERS

KEPT: Final = timedelta(minutes=70)
"""How long the rows of a minute are kept; then they are added to the lifetime of their queue."""

FORGOTTEN: Final = 300
"""How many of them at a time."""

_HOUR: Final = timedelta(hours=1)
_MINUTE: Final = timedelta(minutes=1)


class CounterPlans(CorePlans):
    """Plans about what was counted. A queue's lifetime is the row of no process, of the minute 0."""

    def note_counts(self, process: str, rows: Sequence[Counted]) -> Plan[None]:
        """Keep what a process counted; see Store.note_counts."""
        yield BEGIN
        for chunk in self._chunks(rows):
            given = [self._counted_row(process, row) for row in chunk]
            yield self._given(self.statements.note_counts, COUNTED, given)
        bound = {"ago": self.dialect.write_span(-KEPT), "limit_in": FORGOTTEN}
        gone = yield self._step(self.statements.forget_counts, bound)
        if gone:
            beginning = self.dialect.write_moment(EPOCH)
            sums = [(queue, beginning, "", *numbers) for queue, numbers in sorted(_sums(gone).items())]
            yield self._given(self.statements.add_to_lifetimes, ("queue", "minute", "process", *NUMBERS), sums)

    def counters(self, queue: str) -> Plan[Counters]:
        """Read what was counted; see Store.counters."""
        read: Callable[[Any], datetime | None] = self.dialect.read_moment
        rows = yield self._step(self.statements.counters, {"queue_in": queue})
        ((at,),) = [rows[0][-1:]] if rows else (yield self._step(self.statements.time, {}))
        now = _known(read(at))
        lifetime = _sums((queue, *row[1:5]) for row in rows).get(queue, (0, 0, 0, 0))
        lately = [
            Counted(queue, _known(read(minute)), Totals(*numbers), waiting, handling)
            for minute, *numbers, waiting, handling, _ in rows
        ]
        return Counters(now, Totals(*lifetime), [row for row in lately if row.minute + _MINUTE > now - _HOUR])

    def _counted_row(self, process: str, row: Counted) -> tuple[Any, ...]:
        numbers = (getattr(row.totals, name) for name in NUMBERS)
        return (row.queue, self.dialect.write_moment(row.minute), process, *numbers, row.waiting, row.handling)


def _sums(rows: Any) -> dict[str, tuple[int, ...]]:
    """Return the sums of numbers by their queues, each row being a queue and its numbers."""
    sums: dict[str, tuple[int, ...]] = {}
    for queue, *numbers in rows:
        before = sums.get(queue, (0,) * len(numbers))
        sums[queue] = tuple(a + b for a, b in zip(before, numbers, strict=True))
    return sums


def _known(moment: datetime | None) -> datetime:
    if moment is None:
        raise AssertionError("a minute and the time are never null")
    return moment
