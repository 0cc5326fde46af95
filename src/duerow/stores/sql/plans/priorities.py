"""Find out which priorities of a queue other processes use, and whether it is paused."""

from __future__ import annotations

import time

from duerow.plan import Plan
from duerow.stores.sql.plans.context import Plans
from duerow.stores.sql.priorities import PriorityLine
from duerow.stores.sql.statements import IN_GAP


class PriorityPlans(Plans):
    """Plans for the lines of a queue: its priorities, with and without groups."""

    def look(self, *queues: str) -> Plan[None]:
        """Find the lines of some queues that other processes use."""
        context, paused = self.context, set[str]()
        begun, looking = time.monotonic(), {queue: set[PriorityLine]() for queue in queues}
        while looking:
            for queue, new in looking.items():
                context.priorities.add(queue, new)
            gaps = [(queue, *gap) for queue in looking for gap in context.priorities.gaps(queue)]
            rows = yield context.given(context.statements.reserve.further_lines, IN_GAP, gaps)
            looking = {queue: set() for queue in looking}
            for queue, grouped, priority, is_paused in rows:
                if priority is not None:
                    looking[queue].add(PriorityLine(priority, bool(grouped)))
                (paused.add if is_paused else paused.discard)(queue)
            looking = {queue: new for queue, new in looking.items() if new}
        for queue in queues:
            context.priorities.looked(queue, queue in paused, begun)
