"""Put the next message of a group in line, and wake sleeping consumers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from duerow.plan import Plan
from duerow.store import cancellations
from duerow.stores.sql.plans.context import Plans
from duerow.stores.sql.statements import Step


class PromotePlans(Plans):
    """Plans for messages that another write has made available."""

    def promote_next(self, groups: Iterable[tuple[str, Any]]) -> Plan[None]:
        """Put the next message of each group in line: the previous one has left, or is no longer leased."""
        given = sorted({one for one in groups if isinstance(one[1], str)})  # any other value is damaged, not a group
        for chunk in self.context.chunks(given):
            rows = yield self.context.given(self.context.statements.groups.promote_next, ("queue", "group"), chunk)
            self.context.floors.written()
            for _, due_at in rows:
                self.context.floors.lower(self.context.dialect.read_moment(due_at))
            yield from self.wake(queue for queue, _ in rows)

    def tell_cancelled(self, queue: str) -> Plan[None]:
        """Make workers check the messages of this queue that they are handling."""
        if (announce := self.context.statements.queues.announce) is not None:
            yield self.context.step(announce, {"told_in": cancellations(queue)})

    def wake(self, queues: Iterable[str]) -> Plan[None]:
        """Wake the sleeping consumers of these queues."""
        steps = self.waking(queues)
        if steps:
            yield steps[0]

    def waking(self, queues: Iterable[str]) -> list[Step]:
        """Return the steps of `wake`: none or one."""
        names = sorted(set(queues))
        wake = self.context.statements.queues.wake
        if not names or wake is None:
            return []
        return [self.context.step(wake, self.context.dialect.pack("given", {"queue": names}))]
