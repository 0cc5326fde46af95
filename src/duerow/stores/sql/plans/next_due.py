"""How long a consumer may sleep."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from duerow.clock import EPOCH, LAST
from duerow.plan import Plan
from duerow.stores.sql.plans.context import Context, Plans
from duerow.stores.sql.plans.kinds import of_kinds, padded, source_of
from duerow.stores.sql.plans.priorities import PriorityPlans
from duerow.stores.sql.statements import IN_LINE

NOTE: Final = timedelta(seconds=10)
"""How long after its sleep a consumer is still recorded as sleeping, so that pushes in progress wake it too."""


class _Look(NamedTuple):
    """How one statement looks at some queues.

    Attributes:
        kinds: the only kinds of messages that count, padded; none: all of them.
        floor: where it begins: nothing is due before this time, or claims look below it; None: it looks at all rows.
    """

    kinds: tuple[str, ...]
    floor: datetime | None


class NextDuePlans(Plans):
    """Plans for idle consumers.

    Args:
        context: shared by all plans of the store.
        priorities: finds the priorities that other processes use.
    """

    def __init__(self, context: Context, priorities: PriorityPlans) -> None:
        super().__init__(context)
        self._priorities = priorities

    def next_due(
        self,
        queues: Sequence[str],
        until: timedelta,
        kinds: Mapping[str, Collection[str]] | None = None,
        relied_on: bool = False,
    ) -> Plan[timedelta | None]:
        """Note that a consumer sleeps, and return how long it may sleep; see MessageStore.next_due."""
        context = self.context
        dialect, statements, names = context.dialect, context.statements, sorted(set(queues))
        if statements.queues.wake is not None:
            note = until + NOTE
            spans = {"span": dialect.write_span(note), "half": dialect.write_span(until + NOTE / 2)}
            yield context.given(statements.queues.note_waiting, ("queue",), [(name,) for name in names], spans)
        relied_on = relied_on or not until  # no later claim will find rows that this look misses
        if unsure := [name for name in names if relied_on or context.priorities.stale(name)]:
            yield from self._priorities.look(*unsure)
        alike: dict[_Look, list[tuple[str, int]]] = defaultdict(list)  # one statement looks at all of these queues
        waits: list[timedelta] = []
        for name in names:
            if not context.priorities.is_paused(name):
                known = padded(kinds[name]) if kinds and name in kinds else ()
                source = source_of(name, known)
                floor, writes = context.floors.nothing_before(source)
                lines = [(source, line) for line in context.priorities.of(name)]
                lowest, seconds = context.floors.idle(lines)
                if seconds is not None and not relied_on:  # the consumer's claim left out a look
                    waits.append(timedelta(seconds=seconds))
                floor = floor or lowest
                # Rows may have been pushed before the last look, but committed after it.
                alike[_Look(known, None if relied_on else floor)].append((name, writes))
        for look, found in alike.items():
            now, dues = yield from self._next_due([name for name, _ in found], look)
            for name, writes in found:
                due_at = dues.get(name)
                if due_at is not None:
                    waits.append(due_at - now)
                context.floors.looked(source_of(name, look.kinds), now if due_at is None else min(now, due_at), writes)
        return min(waits, default=None)

    def _next_due(self, queues: Sequence[str], look: _Look) -> Plan[tuple[datetime, dict[str, datetime]]]:
        """Return the time, and when the next message of each queue that has one becomes due."""
        context, dialect = self.context, self.context.dialect
        read: Callable[[Any], Any] = dialect.read_moment
        lines = [(name, line.grouped, line.priority) for name in queues for line in context.priorities.of(name)]
        statement = context.statements.reserve.next_due(len(look.kinds))
        bound = {"floor": dialect.write_moment(look.floor or EPOCH), **of_kinds(look.kinds)}
        rows = yield context.given(statement, IN_LINE, lines, bound)
        if look.floor is not None and read(rows[0][2]) < look.floor:  # the clock was set back to before the floor
            rows = yield context.given(statement, IN_LINE, lines, {**bound, "floor": dialect.write_moment(EPOCH)})
        dues: dict[str, datetime] = {}
        for name, due, _ in rows:
            if due is not None:
                dues[name] = min(read(due), dues.get(name, LAST))
        return read(rows[0][2]), dues
