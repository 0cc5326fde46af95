"""The lines of a queue: the messages due at each priority, and the message of a group that may be handed out."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from bson import Int64

from duerow.clock import MICROSECOND
from duerow.message import PRIORITIES
from duerow.plan import Plan
from duerow.store import Record
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import PLAIN, micro, record_of
from duerow.stores.mongodb.plans.context import MongoPlans

IN_LINE: Final = {"line_at": 1, "_id": 1}

Found = dict[str, Any]
"""The document of a message, unchanged since it was read."""


@dataclass(frozen=True)
class MongoGroup:
    """The id of a group's first message, and the group's leased message as a record and as a document."""

    head: int | None
    lent: Record | None = None
    found: Found | None = None


class MongoPriorities(MongoPlans):
    """Reads lines and groups."""

    def next_line(self, queue: str, after: int | None) -> Plan[int | None]:
        """Return the queue's next priority that has messages with a due time, with one read of the index."""
        above = PRIORITIES[0] - 1 if after is None else after
        priorities = {"$gt": above, "$lte": PRIORITIES[-1]}
        chosen: dict[str, Any] = {"queue": queue, "line_at": {"$gte": Int64(0)}, "priority": priorities}
        order = {"priority": 1, **IN_LINE}
        found = yield commands.find(self.names.messages, chosen, order, 1, {"priority": 1})
        return found[0]["priority"] if found else None

    def groups(self, queue: str, names: Iterable[str]) -> Plan[dict[str, MongoGroup]]:
        """Return the first message and the leased message of each group."""
        wanted = sorted(names)
        heads: dict[str, int] = {}
        lent_ones: dict[str, Found] = {}
        for chunk in commands.in_commands(wanted):
            found = yield commands.aggregate(
                self.names.messages,
                {"$match": {"queue": queue, "line_group": {"$in": chunk}}},
                {"$sort": {"queue": 1, "line_group": 1, "_id": 1}},
                {"$group": {"_id": "$line_group", "head": {"$first": "$_id"}}},
            )
            heads |= {one["_id"]: int(one["head"]) for one in found}
            leased = {"queue": queue, "lent_group": {"$in": chunk}}
            found = yield commands.find(self.names.messages, leased, shown=PLAIN)
            lent_ones |= {one["group"]: one for one in found}
        leases = {name: record_of(one) for name, one in lent_ones.items()}
        return {name: MongoGroup(heads.get(name), leases.get(name), lent_ones.get(name)) for name in wanted}


def is_kept_back(group: MongoGroup) -> bool:
    """Return whether a message of the group other than the first is leased."""
    return group.lent is not None and group.lent.id != group.head


def has_lapsed(record: Record | None, priority: int, now: datetime) -> bool:
    """Return whether the lease of a message has expired, and the message is in this line or an earlier one."""
    return (
        record is not None
        and record.leased_until is not None
        and record.leased_until <= now
        and record.priority <= priority
    )


def behind(after: Found | None, now: datetime) -> dict[str, Any]:
    """Return a filter for the due messages after a place in line."""
    end = micro(now + MICROSECOND)
    if after is None:
        return {"line_at": {"$gte": Int64(0), "$lt": end}}
    due = after["line_at"]
    return {"$or": [{"line_at": {"$gt": due, "$lt": end}}, {"line_at": due, "_id": {"$gt": after["_id"]}}]}


def of_kinds(kinds: Collection[str] | None) -> dict[str, Any]:
    """Return a filter for messages of these kinds; None: all kinds."""
    return {} if kinds is None else {"kind": {"$in": sorted(kinds)}}
