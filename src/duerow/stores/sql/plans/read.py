"""Read messages without reserving them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from duerow.conditions.fields import FIELDS, JSON, Path
from duerow.conditions.model import Compare, Condition, In, Value, conjuncts
from duerow.message import LIVE
from duerow.plan import Plan
from duerow.store import Indexed, Inspection, Order, Query, QueueStats, Record, Tally
from duerow.stores.sql.conditions import asked_statuses
from duerow.stores.sql.payload_indexes import index_name
from duerow.stores.sql.plans.context import Context, Plans
from duerow.stores.sql.plans.priorities import PriorityPlans
from duerow.stores.sql.plans.queues import QueuePlans
from duerow.stores.sql.statements import Statement, all_bounded
from duerow.stores.sql.statements.pages import MOST_COMPARISONS

ALL: Final = (1 << 31) - 1


class ReadPlans(Plans):
    """Plans that read messages.

    Args:
        context: shared by all plans of the store.
        priorities: finds the priorities that other processes use.
        queues: reads consumers.
    """

    def __init__(self, context: Context, priorities: PriorityPlans, queues: QueuePlans) -> None:
        super().__init__(context)
        self._priorities, self._queues = priorities, queues

    def queue_stats(self, queue: str, cap: int | None) -> Plan[QueueStats]:
        """Return the statistics of a queue; see OperationStore.queue_stats."""
        return all_bounded(self._queue_stats(queue, cap))

    def _queue_stats(self, queue: str, cap: int | None) -> Plan[QueueStats]:
        context = self.context
        yield from self._priorities.look(queue)
        read: Callable[[Any], Any] = context.dialect.read_moment
        bound: dict[str, Any] = {"queue_in": queue, "limit_in": ALL if cap is None else cap}
        numbers = {"ready": 0, "delayed": 0, "leased": 0}
        firsts: dict[str, list[datetime]] = {"ready": [], "later": []}
        for line in context.priorities.of(queue):
            for due in (True, False):
                rows = yield context.step(
                    context.statements.read.in_line(line.grouped, due), {**bound, "priority_in": line.priority}
                )
                for lent, number, first in rows:
                    if number:
                        numbers["ready" if due else "leased" if lent else "delayed"] += number
                        firsts["ready" if due else "later"].append(read(first))
        ((dead, stopped, waiting, paused, _),) = yield context.step(context.statements.read.out_of_line, bound)
        most = {name: number if cap is None else min(number, cap) for name, number in numbers.items()}
        return QueueStats(
            ready=most["ready"],
            delayed=most["delayed"],
            leased=most["leased"],
            waiting=waiting,
            stopped=stopped,
            dead=dead,
            oldest_due_at=min(firsts["ready"], default=None),
            next_due_at=min(firsts["later"], default=None),
            paused=bool(paused),
        )

    def inspect(self, queue: str, id: int | None, key: str | None) -> Plan[Inspection | None]:
        """Read a message, and the reasons why no consumer gets it; see OperationStore.inspect."""
        return all_bounded(self._inspect(queue, id, key))

    def _inspect(self, queue: str, id: int | None, key: str | None) -> Plan[Inspection | None]:
        context = self.context
        query = Query(queue, ids=(id,)) if id is not None else Query(queue, keys=(str(key),), statuses=LIVE)
        found = yield from self.find(query)
        if not found:
            return None
        record = found[0]
        blocker = None
        if record.group is not None:
            bound = {"queue_in": queue, "group_in": record.group, "id_in": record.id}
            rows = yield context.step(context.statements.read.blocker, bound)
            blocker = context.dialect.record(rows[0]) if rows else None
        ((*_, paused, at),) = yield context.step(
            context.statements.read.out_of_line, {"queue_in": queue, "limit_in": 0}
        )
        read: Callable[[Any], Any] = context.dialect.read_moment
        return Inspection(read(at), record, blocker, bool(paused), (yield from self._queues.consumers()))

    def find(self, query: Query) -> Plan[list[Record]]:
        """Read messages; see MessageStore.find."""
        context = self.context
        values: dict[str, Any] = {"queue_in": query.queue, "limit_in": query.limit}
        by: list[str] = []
        for name in ("ids", "keys", "statuses"):
            wanted = getattr(query, name)
            if wanted is not None:
                if not wanted:
                    return []
                if name == "statuses" and query.keys is not None and set(wanted) == set(LIVE):
                    by.append("live")
                    continue
                by.append(name)
                values |= context.dialect.pack(name, {"value": wanted})
        if _rest(query.statuses) or _rest(asked_statuses(query.where)):
            by.append("resting")
        if query.after_id is not None:
            by.append("after_id")
            values["after_id"] = query.after_id
        if query.by_id:
            by.append("by_id")
        indexed_of = None
        if query.where is not None or query.order is not None:
            indexed_of = yield from self._served(query.queue, query.indexed)
        if not by and not query.locked and self._is_in_parts(query.where, indexed_of):
            rows = yield from all_bounded(self._page(query, values))
        elif query.where is None and query.order is None and not query.locked:
            rows = yield context.step(context.statements.read.find(tuple(by)), values)
        else:
            statement = context.statements.read.search(
                tuple(by), query.where, query.order or Order(), query.locked, indexed_of
            )
            rows = yield context.step(statement, values)
        return [context.dialect.record(row) for row in rows]

    def _is_in_parts(self, where: Condition | None, indexed_of: tuple[str, tuple[Indexed, ...]] | None) -> bool:
        """Return whether a page is read from each index of the queue's parts, because no single index can serve it."""
        if where is None:
            return True
        if _names_ids(where):
            return False
        served = indexed_of is not None and self.context.statements.read.is_served(where, *indexed_of)
        return not served and where.number <= MOST_COMPARISONS

    def _page(self, query: Query, values: dict[str, Any]) -> Plan[Any]:
        """Return the rows of a page of a queue: from the next few ids if they suffice, or else part by part.

        If the queue has few messages, a condition is evaluated on all of them.
        """
        context, order = self.context, query.order
        pages = context.statements.pages
        if query.where is not None:
            order = order or Order()
            if not _bounds_due(query.where) and not (yield from self._is_large(query.queue)):
                return (yield context.step(pages.small(query.where, order), values))
        if order is not None and order.field == "id":
            rows = yield context.step(pages.near(query.where, order), values)
            if len(rows) >= query.limit:
                return rows
        yield from self._priorities.look(query.queue)
        asked = asked_statuses(query.where)
        live = asked is not None and asked <= set(LIVE)
        return (yield context.step(pages.page(query.where, order, context.priorities.of(query.queue), live), values))

    def _is_large(self, queue: str) -> Plan[bool]:
        ((is_large,),) = yield self.context.step(self.context.statements.pages.is_large, {"queue_in": queue})
        return bool(is_large)

    def tally(
        self, queue: str, where: Condition | None, by: Path | None, limit: int | None, indexed: tuple[Indexed, ...] = ()
    ) -> Plan[Tally]:
        """Count messages by one of their values; see OperationStore.tally."""
        context = self.context
        values: dict[str, Any] = {"queue_in": queue}
        if limit is not None:
            values["limit_in"] = limit + 1
        resting = _rest(asked_statuses(where))
        indexed_of = yield from self._served(queue, indexed)
        rows = yield context.step(
            context.statements.read.tally(where, by, limit is not None, resting, indexed_of), values
        )
        if by is None:
            return [(None, number) for _, number in rows]
        if by[0] in JSON:
            read = context.dialect.read_json
        elif FIELDS[by[0]] == "moment":
            read = context.dialect.read_moment
        else:
            return [(value, number) for value, number in rows]
        return [(read(value), number) for value, number in rows]

    def _served(self, queue: str, indexed: tuple[Indexed, ...]) -> Plan[tuple[str, tuple[Indexed, ...]] | None]:
        """Return the queue and its fields that have an index; None if no field has one."""
        context = self.context
        if indexed and context.dialect.asks_for_indexes:
            there = {row[0] for row in (yield context.step(self._indexes, {}))}
            indexed = tuple(field for field in indexed if index_name(context.tables.prefix, queue, field) in there)
        return (queue, indexed) if indexed else None

    @cached_property
    def _indexes(self) -> Statement:
        return Statement(self.context.dialect.indexes(self.context.tables.message))

    def peek(self, queue: str, limit: int) -> Plan[list[Record]]:
        """Read due messages; see OperationStore.peek."""
        return all_bounded(self._peek(queue, limit))

    def _peek(self, queue: str, limit: int) -> Plan[list[Record]]:
        context = self.context
        yield from self._priorities.look(queue)
        due: list[Record] = []
        for priority, lines in groupby(context.priorities.of(queue), key=attrgetter("priority")):
            found: list[Record] = []
            for line in lines:
                bound = {"queue_in": queue, "priority_in": priority, "limit_in": limit - len(due)}
                rows = yield context.step(context.statements.read.peek(line.grouped), bound)
                found += [context.dialect.record(row) for row in rows]
            due += sorted(found, key=attrgetter("due_at", "id"))[: limit - len(due)]
            if len(due) == limit:
                break
        return due

    def count(self, queue: str) -> Plan[dict[str, int]]:
        """Count messages by status; see OperationStore.count."""
        counts: dict[str, int] = {}
        for stored, number in (yield self.context.step(self.context.statements.read.count, {"queue_in": queue})):
            status = str(stored)
            counts[status] = counts.get(status, 0) + number
        return counts

    def queues(self, with_empty: bool = False) -> Plan[list[str]]:
        """List the known queues; see OperationStore.queues."""
        names = yield from self._names_by(self.context.statements.queues.queues_after)
        if with_empty:
            names = sorted({*names, *(yield from self._names_by(self.context.statements.queues.past_queues_after))})
        return names

    def _names_by(self, names_after: Statement) -> Plan[list[str]]:
        """Read all names, a few at a time."""
        names, most = [""], self.context.dialect.names_at_once
        while True:
            rows = yield self.context.step(names_after, {"queue_in": names[-1]})
            found = [(name, place) for name, place in rows if name is not None]
            ends = [name for name, place in found if place == most]
            names += sorted({name for name, _ in found if not ends or name <= min(ends)})
            if not ends:
                return names[1:]


def _rest(statuses: Collection[Value] | None) -> bool:
    """Return whether all messages with these statuses are at rest; there is an index for those."""
    return statuses is not None and not set(statuses) & set(LIVE)


def _names_ids(where: Condition) -> bool:
    """Return whether a condition matches only certain ids, so the primary key finds the rows."""
    for term in conjuncts(where):
        match term:
            case In(("id",)) | Compare(("id",), "="):
                return True
    return False


def _bounds_due(where: Condition) -> bool:
    """Return whether a condition matches only a range of due times, so indexes find the rows."""
    return any(isinstance(term, Compare) and term.path == ("due_at",) for term in conjuncts(where))
