"""What is kept beside messages: what is said of queues, consumers, schedules, pipelines, numbers; and pruning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any, Final

from duerow.clock import moment
from duerow.plan import BEGIN, Plan
from duerow.store import (
    Counted,
    Counters,
    Indexed,
    Indexing,
    Planned,
    ScheduleChange,
    SchedulesFound,
    StoredPipeline,
    Totals,
)
from duerow.store.retention import NOTED_FOR, STAGED_FOR
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import maybe_moment, micro
from duerow.stores.mongodb.filters import field_of
from duerow.stores.mongodb.plans.push import MongoPush
from duerow.stores.mongodb.steps import Command

DUE_AT_ONCE: Final = 100
FOLDED_AT_ONCE: Final = 500
SEEN_FOR: Final = timedelta(days=1)
HOUR: Final = timedelta(hours=1)
MINUTE: Final = timedelta(minutes=1)
KEPT: Final = timedelta(minutes=70)
TOTALS: Final = ("done", "failed", "dead", "moved")


class MongoMetadata(MongoPush):
    """Plans about what is kept beside messages."""

    # Queues and consumers.

    def put_settings(
        self, queue: str, paused: bool | None = None, draining: bool | None = None, definition: str | None = None
    ) -> Plan[None]:
        """Note what is said of a queue; see Store.put_settings."""
        said = {"paused": paused, "draining": draining, "definition": definition}
        fields = {name: value for name, value in said.items() if value is not None}
        update = {"$set": fields} if fields else {"$setOnInsert": {"paused": False}}
        yield commands.update(self.names.queues, [commands.change({"_id": queue}, update, upsert=True)])
        self._forget_said(queue)

    def note_consumer(self, name: str, queues: Sequence[str], kinds: Sequence[str], version: str) -> Plan[None]:
        """Note that a consumer is there; see Store.note_consumer."""
        now = yield from self.now()
        fields = {"queues": list(queues), "kinds": list(kinds), "version": version, "seen_at": micro(now)}
        yield commands.upsert(self.names.consumers, name, fields)
        yield commands.delete(self.names.consumers, {"seen_at": {"$lt": micro(now - SEEN_FOR)}}, many=True)

    # Indexes.

    def index(self, queue: str, fields: Sequence[Indexed], dry_run: bool) -> Plan[Indexing]:
        """Have indexes for payload fields of a queue, which hold nothing of other queues; see Store.index."""
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
        """Read schedules; see Store.schedules."""
        now = yield from self.now()
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
        """Change a schedule and push what it pushes; see Store.set_schedule."""
        self._check_entries(change.push)
        if change.push:
            self._need(f"the tick of schedule {change.name!r}, which pushes and moves the schedule on together,")
            yield BEGIN
        elif change.version is None:
            self._need(f"schedule {change.name!r}, each tick of which pushes and moves it on together,")
        now = yield from self.now()
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
            yield from self._check_taking(change.push)
            yield from self._add(change.push, now)
        return True

    # Pipelines.

    def pipelines(self, name: str | None = None) -> Plan[list[StoredPipeline]]:
        """Read pipelines; see Store.pipelines."""
        found = yield commands.find(self.names.pipelines, {} if name is None else {"_id": name}, {"_id": 1})
        return [StoredPipeline(one["_id"], one["definition"], one["version"]) for one in found]

    def set_pipeline(self, name: str, version: int | None, after: StoredPipeline | None) -> Plan[bool]:
        """Keep a pipeline if it still is what it was when it was read; see Store.set_pipeline."""
        fields = None if after is None else {"_id": name, "definition": after.definition, "version": after.version}
        return (yield from self._compare_and_set(self.names.pipelines, name, version, fields))

    def _compare_and_set(
        self, collection: str, name: str, version: int | None, after: dict[str, Any] | None
    ) -> Plan[bool]:
        """Have a document as it is `after`, None: not at all, if it has this version, None: if there is none."""
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

    # Numbers.

    def note_counts(self, process: str, rows: Sequence[Counted]) -> Plan[None]:
        """Keep what a process counted, and add up what was counted long ago; see Store.note_counts."""
        now = yield from self.now()
        changes = [_counted_change(process, row) for row in rows]
        for some in commands.in_commands(changes):
            yield commands.update(self.names.counts, some)
        old = {"minute": {"$lt": micro(now - KEPT)}}
        if not (yield commands.find(self.names.counts, old, limit=1)):
            return
        if self.capabilities.transactions:
            yield BEGIN
        found = yield commands.find(self.names.counts, old, limit=FOLDED_AT_ONCE)
        # Taken away before they are added up: who loses them in between counts too few, never too many.
        yield commands.delete_ids(self.names.counts, [one["_id"] for one in found])
        sums: dict[str, list[int]] = {}
        for one in found:
            sums[one["queue"]] = [
                before + one[name] for before, name in zip(sums.get(one["queue"], [0] * 4), TOTALS, strict=True)
            ]
        lifetimes = [
            commands.change({"_id": queue}, {"$inc": dict(zip(TOTALS, numbers, strict=True))}, upsert=True)
            for queue, numbers in sorted(sums.items())
        ]
        if lifetimes:
            yield commands.update(self.names.lifetimes, lifetimes)

    def counters(self, queue: str) -> Plan[Counters]:
        """Read what was counted; see Store.counters."""
        now = yield from self.now()
        before = yield commands.find(self.names.lifetimes, {"_id": queue})
        found = yield commands.find(self.names.counts, {"queue": queue})
        rows = [
            Counted(queue, moment(one["minute"]), _totals([one]), one.get("waiting"), one.get("handling"))
            for one in found
        ]
        lately = [row for row in rows if row.minute + MINUTE > now - HOUR]
        return Counters(now, _totals([*before, *found]), lately)

    # What was kept long enough.

    def prune(self, limit: int) -> Plan[int]:
        """Take away what was kept long enough; see Store.prune."""
        now = yield from self.now()
        gone = 0
        for collection, field, at in (
            (self.names.history, "until", now),
            (self.names.keys, "until", now),
            (self.names.noted, "at", now - NOTED_FOR),
        ):
            gone += yield from self._take_away(collection, {field: {"$lte": micro(at)}}, limit)
        return gone + (yield from self._prune_staged(now - STAGED_FOR, limit))

    def _take_away(self, collection: str, chosen: dict[str, Any], limit: int) -> Plan[int]:
        found = yield commands.find(collection, chosen, limit=limit, shown={"_id": 1})
        if not found:
            return 0
        reply = yield commands.delete_ids(collection, [one["_id"] for one in found])
        return int(reply["n"])

    def _prune_staged(self, since: datetime, limit: int) -> Plan[int]:
        """Take away what was staged but never published; each of these documents has some entries."""
        chosen = {"at": {"$lte": micro(since)}}
        found = yield commands.find(self.names.staged, chosen, limit=limit, shown={"count": 1})
        gone, ids = 0, []
        for one in found:
            if gone < limit:
                ids.append(one["_id"])
                gone += one["count"]
        if ids:
            yield commands.delete_ids(self.names.staged, ids)
        return gone


def _planned(found: dict[str, Any]) -> Planned:
    next_at, last_at = maybe_moment(found.get("next_at")), maybe_moment(found.get("last_at"))
    return Planned(found["_id"], found["definition"], next_at, last_at, found["version"])


def _counted_change(process: str, row: Counted) -> dict[str, Any]:
    place = {"queue": row.queue, "minute": micro(row.minute), "process": process}
    fields: dict[str, Any] = {name: getattr(row.totals, name) for name in TOTALS}
    times = {"waiting": row.waiting, "handling": row.handling}
    gone = {name: "" for name, value in times.items() if value is None}
    update: dict[str, Any] = {"$set": fields | {name: value for name, value in times.items() if value is not None}}
    return commands.change(place, update | ({"$unset": gone} if gone else {}), upsert=True)


def _totals(found: Iterable[dict[str, Any]]) -> Totals:
    rows = list(found)
    return Totals(*(sum(one.get(name, 0) for one in rows) for name in TOTALS))


def _short(name: str) -> str:
    return blake2b(name.encode(), digest_size=6).hexdigest()
