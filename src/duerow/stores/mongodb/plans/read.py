"""Read messages and finished turns without reserving anything."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from bson import Int64

from duerow.clock import FIRST, micros, moment
from duerow.clock import LAST as LATEST
from duerow.conditions.fields import PAST_JSON, Path
from duerow.conditions.model import Condition
from duerow.plan import Plan
from duerow.reservation import Receipt
from duerow.store import HistoryRow, Indexed, Inspection, MessageHeader, Order, Query, QueueStats, Record, Scan, Tally
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import PLAIN, history_row_of, micro, read_json, record_of, told_moment
from duerow.stores.mongodb.filters import field_of, filter_of, order_after
from duerow.stores.mongodb.plans.context import MongoContext, MongoPlans
from duerow.stores.mongodb.plans.metadata import MongoMetadata
from duerow.stores.mongodb.plans.priorities import MongoPriorities, of_kinds

LAST: Final = "_last"
"""A field for sorting: messages without the field of the order come last."""

GROUPED: Final = {"group": 1, "due_at": 1, "leased_by": 1}


class MongoRead(MongoPlans):
    """Plans that read.

    Args:
        context: the state that all plans of the store share.
        priorities: finds the next messages in line.
        metadata: reads consumers.
    """

    def __init__(self, context: MongoContext, priorities: MongoPriorities, metadata: MongoMetadata) -> None:
        super().__init__(context)
        self._priorities, self._metadata = priorities, metadata

    def find(self, query: Query) -> Plan[list[Record]]:
        """Read messages; see MessageStore.find."""
        chosen: list[dict[str, Any]] = [{"queue": query.queue}]
        if query.ids is not None:
            chosen.append(commands.ids_in(query.ids))
        if query.keys is not None:
            chosen.append({"key": {"$in": list(query.keys)}})
        if query.statuses is not None:
            chosen.append({"status": {"$in": list(query.statuses)}})
        if query.after_id is not None:
            chosen.append({"_id": {"$gt": Int64(query.after_id)}})
        if query.where is not None:
            chosen.append(filter_of(query.where))
        if query.order is not None:
            chosen.append(order_after(query.order))
        found = yield from self._sorted({"$and": chosen}, query)
        return [record_of(one) for one in found]

    def _sorted(self, chosen: dict[str, Any], query: Query) -> Plan[list[dict[str, Any]]]:
        messages, limit = self.names.messages, max(query.limit, 0)
        searches = query.ids is None and query.keys is None
        if not limit:
            return []
        if query.order is None and query.by_id:
            read = commands.find(messages, chosen, {"_id": 1}, limit, PLAIN)
            by_id: list[dict[str, Any]] = yield commands.bounded(read, searches)
            return by_id
        if query.order is None:
            field, sort = "due_at", {"priority": 1, LAST: 1, "due_at": 1, "_id": 1}
        else:
            field, way = field_of((query.order.field,)), -1 if query.order.descending else 1
            if field == "_id":
                read = commands.find(messages, chosen, {"_id": way}, limit, PLAIN)
                ordered: list[dict[str, Any]] = yield commands.bounded(read, searches)
                return ordered
            if field == "due_at" and searches:
                page = yield from self._by_due_time(chosen, query.order, limit)
                if page is not None:
                    return page
            sort = {LAST: 1, field: way, "_id": way}
        lacking = {"$cond": [{"$lte": [f"${field}", None]}, 1, 0]}
        sorted_by = commands.aggregate(
            messages,
            {"$match": chosen},
            {"$addFields": {LAST: lacking}},
            {"$sort": sort},
            {"$limit": limit},
            {"$project": PLAIN},
        )
        found: list[dict[str, Any]] = yield commands.bounded(sorted_by, searches)
        return found

    def _by_due_time(self, chosen: dict[str, Any], order: Order, limit: int) -> Plan[list[dict[str, Any]] | None]:
        """Read a page with the index, which does not order equal due times by id; None if messages change meanwhile.

        The first read finds the last due time of the page, and the second reads all messages up to that time.
        """
        messages, way = self.names.messages, -1 if order.descending else 1
        page: list[dict[str, Any]] = []
        if order.after is None or order.after[0] is not None:
            behind, within = ("$lte", "$gte") if order.descending else ("$gte", "$lte")
            bounds: list[dict[str, Any]] = [{"due_at": {"$ne": None}}]
            if order.after is not None and order.after[0] not in (FIRST, LATEST):
                bounds.append({"due_at": {behind: micro(order.after[0])}})  # where the scan of the index begins
            due = {"$and": [chosen, *bounds]}
            times = yield commands.bounded(commands.find(messages, due, {"due_at": way}, limit, {"due_at": 1}))
            if len(times) == limit:
                due = {"$and": [chosen, *bounds, {"due_at": {within: times[-1]["due_at"]}}]}
            by_time = commands.find(messages, due, {"due_at": way, "_id": way}, limit, PLAIN)
            page = yield commands.bounded(by_time)
            if len(page) < len(times):
                return None
        if len(page) < limit:
            resting = {"$and": [chosen, {"due_at": None}]}
            read = commands.find(messages, resting, {"_id": way}, limit - len(page), PLAIN)
            page += yield commands.bounded(read)
        return page

    def scan(self, query: Scan) -> Plan[list[Record] | list[HistoryRow]]:
        """Read messages or finished turns of many queues; see BulkStore.scan."""
        if query.limit < 1:
            return []
        names = ("id", "token") if query.turns else ("_id",)
        way = -1 if query.descending else 1
        chosen: list[dict[str, Any]] = [{names[0]: {"$lte": Int64(query.last)}}]
        if not query.descending:
            chosen.append(_behind(query.after, query.turns))
        if query.queues is not None:
            chosen.append({"queue": {"$in": list(query.queues)}})
        if query.statuses is not None and not query.turns:
            chosen.append({"status": {"$in": list(query.statuses)}})
        if query.where is not None:
            chosen.append(filter_of(query.where, query.turns))
        collection = self.names.history if query.turns else self.names.messages
        sort = dict.fromkeys(names, way)
        found = yield commands.find(collection, {"$and": chosen}, sort, query.limit, PLAIN)
        return [history_row_of(one) for one in found] if query.turns else [record_of(one) for one in found]

    def leased_range(self, queue: str, consumer: str, first: int, last: int, limit: int) -> Plan[list[Record]]:
        """Read the messages of a claim in a range of ids; see BulkStore.leased_range."""
        chosen = {"_id": {"$gte": Int64(first), "$lte": Int64(last)}, "queue": queue, "leased_by": consumer}
        found = yield commands.find(self.names.messages, chosen, {"_id": 1}, limit, PLAIN)
        return [record_of(one) for one in found]

    def message_headers(self, queue: str, receipts: Sequence[Receipt]) -> Plan[list[MessageHeader]]:
        """Read messages without their payloads; see BulkStore.message_headers."""
        tokens = {receipt.id: receipt.token for receipt in receipts}
        chosen = {"_id": {"$in": [Int64(id) for id in tokens]}, "queue": queue}
        found = yield commands.find(self.names.messages, chosen, None, len(tokens), PLAIN)
        ours = [one for one in map(record_of, found) if one.token == tokens[one.id]]
        return [MessageHeader(one.id, one.key, one.headers, one.group, one.priority) for one in ours]

    def count(self, queue: str) -> Plan[dict[str, int]]:
        """Count messages by status; see OperationStore.count."""
        counted = commands.aggregate(
            self.names.messages, {"$match": {"queue": queue}}, {"$group": {"_id": "$status", "n": {"$sum": 1}}}
        )
        found = yield commands.bounded(counted)
        return {str(one["_id"]): one["n"] for one in found}

    def queues(self, with_empty: bool = False) -> Plan[list[str]]:
        """List the known queues; see OperationStore.queues."""
        found: list[Any] = []
        others = (self.names.history, self.names.keys, self.names.counts) if with_empty else ()
        for collection in (self.names.messages, *others):
            found.extend((yield commands.distinct(collection, "queue", {}))["values"])
        if with_empty:
            found.extend((yield commands.distinct(self.names.lifetimes, "_id", {}))["values"])
        return sorted({name for name in found if isinstance(name, str)})

    def tally(
        self, queue: str, where: Condition | None, by: Path | None, limit: int | None, indexed: tuple[Indexed, ...] = ()
    ) -> Plan[Tally]:
        """Count messages by the value at a path, from JSON text; see OperationStore.tally."""
        chosen: dict[str, Any] = {"queue": queue}
        if where is not None:
            chosen = {"$and": [chosen, filter_of(where)]}
        most = None if limit is None else limit + 1
        if by is None:
            found = yield commands.bounded(commands.counted(self.names.messages, chosen, most))
            return [(None, found[0]["n"])] if found else []
        shown = {by[0] if by[0] in PAST_JSON else field_of(by[:1]): 1}
        found = yield commands.bounded(commands.find(self.names.messages, chosen, None, most or 0, shown))
        return [(_at(one, by), 1) for one in found]

    def inspect(self, queue: str, id: int | None, key: str | None) -> Plan[Inspection | None]:
        """Read a message and what prevents its delivery; see OperationStore.inspect."""
        return commands.all_bounded(self._inspect(queue, id, key))

    def _inspect(self, queue: str, id: int | None, key: str | None) -> Plan[Inspection | None]:
        now = yield from self.context.now()
        chosen = {"queue": queue, "live_key": key} if id is None else {"_id": Int64(id), "queue": queue}
        found = yield commands.find(self.names.messages, chosen, limit=1, shown=PLAIN)
        if not found:
            return None
        record = record_of(found[0])
        blocker = yield from self._blocker(record)
        said = yield from self.context.settings(queue)
        known = yield from self._metadata.consumers()
        return Inspection(now, record, blocker, any(one.paused for one in said), known)

    def _blocker(self, record: Record) -> Plan[Record | None]:
        """Return the message of the group that has to leave first: the leased one, or else the first one."""
        if record.group is None or record.status not in ("new", "error"):
            return None
        group = (yield from self._priorities.groups(record.queue, [record.group]))[record.group]
        lent = None if group.lent is None else group.lent.id
        if group.head == record.id and lent in (None, record.id):
            return None
        blocker = group.head if lent is None or lent == record.id else lent
        found = yield commands.find(self.names.messages, commands.ids_in([blocker or 0]), shown=PLAIN)
        return record_of(found[0]) if found else None

    def queue_stats(self, queue: str, cap: int | None) -> Plan[QueueStats]:
        """Return the statistics of a queue; see OperationStore.queue_stats."""
        return commands.all_bounded(self._queue_stats(queue, cap))

    def _queue_stats(self, queue: str, cap: int | None) -> Plan[QueueStats]:
        now = micro((yield from self.context.now()))
        alone: dict[str, Any] = {"queue": queue, "group": None}
        due, later = {"due_at": {"$gte": Int64(0), "$lte": now}}, {"due_at": {"$gt": now}}
        kinds: dict[str, dict[str, Any]] = {
            "ready": {**alone, **due},
            "delayed": {**alone, **later, "leased_by": None},
            "leased": {**alone, **later, "leased_by": {"$ne": None}},
            "stopped": {"queue": queue, "due_at": None, "status": {"$ne": "dead"}},
            "dead": {"queue": queue, "due_at": None, "status": "dead"},
        }
        numbers: dict[str, int] = {"waiting": 0}
        for name, chosen in kinds.items():
            found = yield commands.counted(self.names.messages, chosen, cap)
            numbers[name] = found[0]["n"] if found else 0
        oldest = yield from self._earliest({**alone, **due})
        following = yield from self._earliest({**alone, **later})
        for kind, due_at in (yield from self._grouped(queue, now)):
            numbers[kind] += 1
            if kind == "ready":
                oldest = min(due_at, oldest or due_at)
            elif kind != "waiting":
                following = min(due_at, following or due_at)
        said = yield from self.context.settings(queue)
        return QueueStats(
            **{name: number if cap is None else min(number, cap) for name, number in numbers.items()},
            oldest_due_at=None if oldest is None else moment(oldest),
            next_due_at=None if following is None else moment(following),
            paused=any(one.paused for one in said),
        )

    def _earliest(self, chosen: dict[str, Any]) -> Plan[int | None]:
        found = yield commands.find(self.names.messages, chosen, {"due_at": 1}, 1, {"due_at": 1})
        return micros(told_moment(found[0]["due_at"])) if found else None

    def _grouped(self, queue: str, now: int) -> Plan[list[tuple[str, int]]]:
        """Return the state and the due time of each message of a group that has one; this reads them one by one."""
        chosen = {"queue": queue, "line_group": {"$exists": True}}
        found = yield commands.find(self.names.messages, chosen, {"_id": 1}, shown=GROUPED)
        heads: dict[str, Any] = {}
        leased: dict[str, Any] = {}
        for one in found:
            heads.setdefault(one["group"], one["_id"])
            if "leased_by" in one:
                leased[one["group"]] = one["_id"]
        kinds: list[tuple[str, int]] = []
        for one in found:
            if "due_at" not in one:
                continue
            group, id_, due_at = one["group"], one["_id"], micros(told_moment(one["due_at"]))
            has_turn = heads[group] == id_ and leased.get(group, id_) == id_
            if "leased_by" not in one and not has_turn:
                kinds.append(("waiting", due_at))
            elif due_at <= now:
                kinds.append(("ready", due_at))
            else:
                kinds.append(("leased" if "leased_by" in one else "delayed", due_at))
        return kinds

    def next_due(
        self,
        queues: Sequence[str],
        until: timedelta,
        kinds: Mapping[str, Collection[str]] | None = None,
        relied_on: bool = False,
    ) -> Plan[timedelta | None]:
        """Return how long until the next message is due; record no sleeping consumers. See MessageStore.next_due."""
        now = yield from self.context.now()
        dues: list[int] = []
        for queue in queues:
            if any(one.paused for one in (yield from self.context.settings(queue))):
                continue
            known = None if kinds is None else kinds.get(queue)
            free = {"queue": queue, "group": None, "due_at": {"$gte": Int64(0)}, **of_kinds(known)}
            alone = yield from self._earliest(free)
            dues += [] if alone is None else [alone]
            dues += [due for kind, due in (yield from self._grouped_turns(queue, known)) if kind == "turn"]
        return moment(min(dues)) - now if dues else None

    def _grouped_turns(self, queue: str, kinds: Collection[str] | None) -> Plan[list[tuple[str, int]]]:
        """Return when the next messages of groups are due: the first of each, unless another one is leased."""
        found = yield commands.aggregate(
            self.names.messages,
            {"$match": {"queue": queue, "line_group": {"$exists": True}}},
            {"$sort": {"queue": 1, "line_group": 1, "_id": 1}},
            {
                "$group": {
                    "_id": "$line_group",
                    "head": {"$first": "$_id"},
                    "due": {"$first": "$due_at"},
                    "kind": {"$first": "$kind"},
                }
            },
        )
        lent = yield commands.find(
            self.names.messages, {"queue": queue, "lent_group": {"$exists": True}}, shown=GROUPED
        )
        lenders = {one["group"]: one for one in lent}
        turns: list[tuple[str, int]] = []
        for one in found:
            lender = lenders.get(one["_id"])
            if lender is not None and lender["_id"] != one["head"]:
                # That message's turn ends, at the latest, when its lease does.
                turns.append(("turn", micros(told_moment(lender.get("due_at")))))
            elif one.get("due") is not None and (kinds is None or one.get("kind") in kinds):
                turns.append(("turn", micros(told_moment(one["due"]))))
        return turns


def _behind(after: tuple[int, int], turns: bool) -> dict[str, Any]:
    id_, token = Int64(after[0]), Int64(after[1])
    if not turns:
        return {"_id": {"$gt": id_}}
    return {"$or": [{"id": {"$gt": id_}}, {"id": id_, "token": {"$gt": token}}]}


def _at(found: dict[str, Any], path: Path) -> Any:
    """Return the value at a path of a message; None when it is missing or null."""
    root, names = path[0], path[1:]
    if root not in PAST_JSON:
        value = found.get(field_of((root,)))
        return told_moment(value) if value is not None and root.endswith(("_at", "_until")) else value
    text = found.get(root)
    try:
        value = None if text is None else read_json(text)
    except (ValueError, TypeError, RecursionError):
        return None
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value
