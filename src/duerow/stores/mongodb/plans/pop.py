"""Pop and peek: the first messages in line, in the order in which they would be handed out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime

from msgspec.structs import replace

from duerow.plan import BEGIN, Plan
from duerow.store import Record, Retention
from duerow.stores import history_rows
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import PLAIN, record_of
from duerow.stores.mongodb.plans.context import MongoContext, MongoPlans
from duerow.stores.mongodb.plans.priorities import (
    IN_LINE,
    Found,
    MongoGroup,
    MongoPriorities,
    behind,
    has_lapsed,
    is_kept_back,
    of_kinds,
)
from duerow.stores.mongodb.unit_of_work import UnitOfWork
from duerow.stores.records import ended_lease, settled, unleased


class MongoPop(MongoPlans):
    """Plans that pop messages, or peek at them.

    Args:
        context: the state that all plans of the store share.
        priorities: finds the next messages in line.
    """

    def __init__(self, context: MongoContext, priorities: MongoPriorities) -> None:
        super().__init__(context)
        self._priorities = priorities

    def pop(
        self,
        queue: str,
        limit: int,
        keep: Retention | None = None,
        kinds: Collection[str] | None = None,
        apart: bool = False,
    ) -> Plan[list[Record]]:
        """Pop due messages; see MessageStore.pop."""
        context = self.context
        context.check_keeping(keep)
        if not context.capabilities.transactions:
            return (yield from self._pop_alone(queue, limit, kinds))
        yield BEGIN
        if (yield from context.is_paused(queue)):
            return []
        now = yield from context.now()
        work = context.work(now, keep)
        taken: list[Record] = []
        first = yield from self._first(queue, limit, now, work, kinds)
        yield from self._take_turns(first, work)
        for record in first:
            if record.leased_until is not None:
                work.note(history_rows.lapsed(record, work.place(record), ended_lease(record, None), False, None))
            work.drop(record.id)
            handed = replace(unleased(record), attempts=record.attempts + 1, last_attempt_at=now)
            work.note(history_rows.popped(record, handed, now))
            work.left(record)
            taken.append(handed)
        yield from work.write()
        return taken

    def _take_turns(self, first: Sequence[Record], work: UnitOfWork) -> Plan[None]:
        """Mark messages of groups as leased before they are deleted, so that the unique index stops concurrent claims.

        A snapshot is not enough: an earlier message of the group may have become visible and been leased after the
        snapshot was taken. If this pop removes an expired lease from another message of the group, that write stops
        concurrent claims instead.
        """
        members = Counter(record.group for record in work.records.values())
        marks = [
            commands.change(commands.fence(record.id, record.token), {"$set": {"lent_group": record.group}})
            for record in first
            if record.group is not None and members[record.group] == 1 and record.leased_by is None
        ]
        for some in commands.in_commands(marks):
            yield commands.update(self.names.messages, some)

    def peek(self, queue: str, limit: int) -> Plan[list[Record]]:
        """Read the messages that `reserve` would return; see OperationStore.peek."""
        now = yield from self.context.now()
        return (yield from commands.all_bounded(self._first(queue, limit, now, None)))

    # The first messages in line.

    def _first(
        self, queue: str, limit: int, now: datetime, work: UnitOfWork | None, kinds: Collection[str] | None = None
    ) -> Plan[list[Record]]:
        """Return the first messages in line that may be handed out, at most `limit`.

        `work` means that they are about to be taken: expired leases are then removed, and do not hold back groups.
        """
        first: list[Record] = []
        served: set[str] = set()
        priority = yield from self._priorities.next_line(queue, None)
        while priority is not None and len(first) < limit:
            yield from self._first_of_line(queue, priority, limit, now, work, first, served, kinds)
            priority = yield from self._priorities.next_line(queue, priority)
        return first

    def _first_of_line(
        self,
        queue: str,
        priority: int,
        limit: int,
        now: datetime,
        work: UnitOfWork | None,
        first: list[Record],
        served: set[str],
        kinds: Collection[str] | None,
    ) -> Plan[None]:
        groups: dict[str, MongoGroup] = {}
        after: Found | None = None
        while len(first) < limit:
            wanted = limit - len(first)
            chosen = {"queue": queue, "priority": priority, **behind(after, now), **of_kinds(kinds)}
            found = yield commands.find(self.names.messages, chosen, IN_LINE, wanted, PLAIN)
            names = {one["group"] for one in found if "group" in one} - groups.keys()
            if names:
                groups |= yield from self._priorities.groups(queue, names)
            for one in found:
                name = one.get("group")
                if name is not None:
                    if work is not None and is_kept_back(groups[name]):
                        groups[name] = _freed(work, groups[name], priority, now)
                    group = groups[name]
                    if name in served or group.head != one["_id"] or is_kept_back(group):
                        continue
                    served.add(name)
                first.append(record_of(one) if work is None else work.read(one))
            if len(found) < wanted:
                return
            after = found[-1]

    def _pop_alone(self, queue: str, limit: int, kinds: Collection[str] | None) -> Plan[list[Record]]:
        """Pop messages one at a time, each with one atomic command."""
        now = yield from self.context.now()
        taken: list[Record] = []
        if (yield from self.context.is_paused(queue)):
            return taken
        priority = yield from self._priorities.next_line(queue, None)
        while priority is not None and len(taken) < limit:
            chosen = {"queue": queue, "priority": priority, **behind(None, now), **of_kinds(kinds)}
            answer = yield commands.take_out(self.names.messages, chosen, IN_LINE)
            if answer["value"] is None:
                priority = yield from self._priorities.next_line(queue, priority)
                continue
            record = record_of(answer["value"])
            taken.append(replace(unleased(record), attempts=record.attempts + 1, last_attempt_at=now))
        return taken


def _freed(work: UnitOfWork, group: MongoGroup, priority: int, now: datetime) -> MongoGroup:
    """Remove an expired lease that holds back a group, if its message is in this line or an earlier one."""
    if group.found is None or not has_lapsed(group.lent, priority, now):
        return group
    record = work.read(group.found)
    work.note(history_rows.lapsed(record, work.place(record), ended_lease(record, None), False, None))
    work.put(replace(settled(record), last_error=ended_lease(record, None)))
    return MongoGroup(group.head)
