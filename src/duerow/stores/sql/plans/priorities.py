"""Find out which priorities of a queue other processes use, and whether it is paused."""

from __future__ import annotations

import time

from duerow.plan import Plan
from duerow.stores.sql.plans.context import Plans
from duerow.stores.sql.priorities import PriorityLine


class PriorityPlans(Plans):
    """Plans for the lines of a queue: its priorities, with and without groups."""

    def look(self, queue: str) -> Plan[None]:
        """Find the lines that other processes use."""
        context, new = self.context, set[PriorityLine]()
        begun, looking = time.monotonic(), True
        while looking:
            context.priorities.add(queue, new)
            gaps = context.priorities.gaps(queue)
            further = context.statements.reserve.further_lines
            rows = yield context.given(further, ("grouped", "low", "high"), gaps, {"queue_in": queue})
            new = {PriorityLine(priority, bool(grouped)) for grouped, priority, _ in rows if priority is not None}
            looking = bool(new)
        context.priorities.looked(queue, bool(rows[0][2]), begun)
