"""How long a consumer may sleep."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from duerow.clock import EPOCH
from duerow.plan import Plan
from duerow.stores.sql.plans.context import Context, Plans
from duerow.stores.sql.plans.kinds import of_kinds, padded
from duerow.stores.sql.plans.priorities import PriorityPlans

NOTE: Final = timedelta(seconds=10)
"""How long after its sleep a consumer is still recorded as sleeping, so that pushes in progress wake it too."""


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
        dialect, statements = context.dialect, context.statements
        if statements.queues.wake is not None:
            note = until + NOTE
            spans = {"span": dialect.write_span(note), "half": dialect.write_span(until + NOTE / 2)}
            yield context.given(
                statements.queues.note_waiting, ("queue",), [(name,) for name in sorted(set(queues))], spans
            )
        waits: list[timedelta] = []
        read: Callable[[Any], Any] = dialect.read_moment
        relied_on = relied_on or not until  # no later claim will find rows that this look misses
        for name in queues:
            if relied_on or context.priorities.stale(name):
                yield from self._priorities.look(name)
            if context.priorities.is_paused(name):
                continue
            known = padded(kinds[name]) if kinds and name in kinds else ()
            source: Hashable = (name, known) if known else name
            floor, writes = context.floors.nothing_before(source)
            lines = [(line.grouped, line.priority) for line in context.priorities.of(name)]
            if relied_on:  # rows may have been pushed before the last look, but committed after it
                floor = None
            bound = {"queue_in": name, "floor": dialect.write_moment(floor or EPOCH), **of_kinds(known)}
            next_due = statements.reserve.next_due(len(known))
            rows = yield context.given(next_due, ("grouped", "priority"), lines, bound)
            now = read(rows[0][1])
            if floor is not None and now < floor:  # the clock was set back to before the floor
                bound["floor"] = dialect.write_moment(EPOCH)
                rows = yield context.given(next_due, ("grouped", "priority"), lines, bound)
            due_at = min((read(due) for due, _ in rows if due is not None), default=None)
            if due_at is not None:
                waits.append(due_at - now)
            context.floors.looked(source, now if due_at is None else min(now, due_at), writes)
        return min(waits, default=None)
