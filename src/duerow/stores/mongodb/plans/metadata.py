"""Metadata: queue settings, indexes, consumers, schedules and pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from hashlib import blake2b
from typing import Any, Final

from duerow.clock import moment
from duerow.plan import BEGIN, Plan
from duerow.store import Consumer, Indexed, Indexing, Planned, ScheduleChange, SchedulesFound, StoredPipeline
from duerow.store.metadata import DUE_AT_ONCE
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import maybe_moment, micro
from duerow.stores.mongodb.filters import field_of
from duerow.stores.mongodb.plans.context import MongoContext, MongoPlans
from duerow.stores.mongodb.plans.push import MongoPush
from duerow.stores.mongodb.steps import Command

SEEN_FOR: Final = timedelta(days=1)


class MongoMetadata(MongoPlans):
    """Plans for metadata.

    Args:
        context: the state that all plans of the store share.
        push: adds messages.
    """

    def __init__(self, context: MongoContext, push: MongoPush) -> None:
        super().__init__(context)
        self._push, self.settings = push, context.settings

    # Queues and consumers.

    def put_settings(
        self, queue: str, paused: bool | None = None, draining: bool | None = None, definition: str | None = None
    ) -> Plan[None]:
        """Change settings of a queue; see MetadataStore.put_settings."""
        said = {"paused": paused, "draining": draining, "definition": definition}
        fields = {name: value for name, value in said.items() if value is not None}
        update = {"$set": fields} if fields else {"$setOnInsert": {"paused": False}}
        yield commands.update(self.names.queues, [commands.change({"_id": queue}, update, upsert=True)])
        self.context.forget_settings(queue)

    def note_consumer(self, name: str, queues: Sequence[str], kinds: Sequence[str], version: str) -> Plan[None]:
        """Record that a consumer is alive; see MetadataStore.note_consumer."""
        now = yield from self.context.now()
        fields = {"queues": list(queues), "kinds": list(kinds), "version": version, "seen_at": micro(now)}
        yield commands.upsert(self.names.consumers, name, fields)
        yield commands.delete(self.names.consumers, {"seen_at": {"$lt": micro(now - SEEN_FOR)}}, many=True)

    def consumers(self) -> Plan[list[Consumer]]:
        """Return the recorded consumers; see MetadataStore.consumers."""
        found = yield commands.find(self.names.consumers, {}, {"_id": 1})
        return [
            Consumer(one["_id"], tuple(one["queues"]), tuple(one["kinds"]), one["version"], moment(one["seen_at"]))
            for one in found
        ]

    # Indexes.

    def index(self, queue: str, fields: Sequence[Indexed], dry_run: bool) -> Plan[Indexing]:
        """Create the indexes for payload fields of a queue; see MetadataStore.index."""
        beginning = f"by_{_short(queue)}_"
        there: list[dict[str, Any]] = yield Command({"listIndexes": self.names.messages, "cursor": {}}, rows=True)
        made = {one["name"] for one in there if one["name"].startswith(beginning)}
        wanted = {f"{beginning}{_short(field_of(field.path))}": field for field in fields}
        new = [name for name in wanted if name not in made]
        old = sorted(made - wanted.keys())
        if not dry_run:
            if new:
                yield Command(
                    {
                        "createIndexes": self.names.messages,
                        "indexes": [
                            {
                                "name": name,
                                "key": {field_of(wanted[name].path): 1, "_id": 1},
                                "partialFilterExpression": {"queue": queue},
                            }
                            for name in new
                        ],
                    }
                )
            for name in old:
                yield Command({"dropIndexes": self.names.messages, "index": name})
        return Indexing(tuple(new), tuple(old))

    # Schedules.

    def schedules(self, name: str | None = None, due: bool = False) -> Plan[SchedulesFound]:
        """Read schedules; see MetadataStore.schedules."""
        now = yield from self.context.now()
        waiting = {"next_at": {"$gte": 0}}
        first = yield commands.find(self.names.schedules, waiting, {"next_at": 1}, 1)
        next_at = maybe_moment(first[0]["next_at"]) if first else None
        chosen: dict[str, Any] = {} if name is None else {"_id": name}
        if due:
            chosen["next_at"] = {"$gte": 0, "$lte": micro(now)}
            found = yield commands.find(self.names.schedules, chosen, {"next_at": 1, "_id": 1}, DUE_AT_ONCE)
        else:
            found = yield commands.find(self.names.schedules, chosen, {"_id": 1})
        return SchedulesFound(now, next_at, [_planned(one) for one in found])

    def set_schedule(self, change: ScheduleChange) -> Plan[bool]:
        """Change a schedule and push its messages; see MetadataStore.set_schedule."""
        context = self.context
        context.check_entries(change.push)
        if change.push:
            context.need(f"the tick of schedule {change.name!r}, which pushes and advances the schedule together,")
            yield BEGIN
        elif change.version is None:
            context.need(f"schedule {change.name!r}, each tick of which pushes and advances it together,")
        now = yield from context.now()
        after = None
        if change.after is not None:
            fields = {
                "_id": change.after.name,
                "definition": change.after.definition,
                "next_at": change.after.next_at and micro(change.after.next_at),
                "last_at": change.after.last_at and micro(change.after.last_at),
                "version": change.after.version,
            }
            after = {name: value for name, value in fields.items() if value is not None}
        if not (yield from self._compare_and_set(self.names.schedules, change.name, change.version, after)):
            return False
        if change.push:
            yield from context.check_taking(change.push)
            yield from self._push.add(change.push, now)
        return True

    # Pipelines.

    def pipelines(self, name: str | None = None) -> Plan[list[StoredPipeline]]:
        """Read pipelines; see MetadataStore.pipelines."""
        found = yield commands.find(self.names.pipelines, {} if name is None else {"_id": name}, {"_id": 1})
        return [StoredPipeline(one["_id"], one["definition"], one["version"]) for one in found]

    def set_pipeline(self, name: str, version: int | None, after: StoredPipeline | None) -> Plan[bool]:
        """Save a pipeline unless it has changed since it was read; see MetadataStore.set_pipeline."""
        fields = None if after is None else {"_id": name, "definition": after.definition, "version": after.version}
        return (yield from self._compare_and_set(self.names.pipelines, name, version, fields))

    def _compare_and_set(
        self, collection: str, name: str, version: int | None, after: dict[str, Any] | None
    ) -> Plan[bool]:
        """Replace a document with `after` (None: delete it) if it has this version (None: if it does not exist)."""
        if version is None:
            if (yield commands.find(collection, {"_id": name})):
                return False
            if after is not None:
                reply = yield commands.insert(collection, [after], taken=True)
                return bool(reply["n"])
            return True
        if after is None:
            reply = yield commands.delete(collection, {"_id": name, "version": version})
        else:
            reply = yield commands.update(collection, [commands.change({"_id": name, "version": version}, after)])
        return bool(reply["n"])


def _planned(found: dict[str, Any]) -> Planned:
    next_at, last_at = maybe_moment(found.get("next_at")), maybe_moment(found.get("last_at"))
    return Planned(found["_id"], found["definition"], next_at, last_at, found["version"])


def _short(name: str) -> str:
    return blake2b(name.encode(), digest_size=6).hexdigest()
