"""Batches: entries are staged where no consumer sees them, and then published all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from duerow.clock import moment
from duerow.errors import BatchRefused, StagedLost
from duerow.message import OnDuplicate
from duerow.plan import BEGIN, Plan
from duerow.store import Entry, Published, Retention, Turn
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import micro
from duerow.stores.mongodb.plans.context import MongoContext, MongoPlans
from duerow.stores.mongodb.plans.push import MongoPush
from duerow.stores.mongodb.plans.settle import MongoSettle


class MongoStage(MongoPlans):
    """Plans for batches.

    Args:
        context: the state that all plans of the store share.
        push: adds messages.
        settle: ends turns.
    """

    def __init__(self, context: MongoContext, push: MongoPush, settle: MongoSettle) -> None:
        super().__init__(context)
        self._push, self._settle = push, settle

    def stage(self, batch: str, part: str, entries: Sequence[Entry]) -> Plan[None]:
        """Stage entries, with as many in each document as fit; see BulkStore.stage."""
        self.context.check_entries(entries)
        ids = yield from self._push.ids(1 + len(entries))
        now = yield from self.context.now()
        kept = [_kept(entry) for entry in entries]
        documents = [
            {"_id": id_, "batch": batch, "part": part, "at": micro(now), "count": len(some), "entries": some}
            for id_, some in zip(ids, commands.in_commands(kept), strict=False)
        ]
        for document in documents:
            yield commands.insert(self.names.staged, [document])

    def publish(
        self,
        batch: str,
        parts: Mapping[str, int],
        turns: Sequence[Turn] = (),
        on_duplicate: OnDuplicate = "ignore",
        once: str | None = None,
        keep: Retention | None = None,
    ) -> Plan[Published]:
        """End turns and publish what a batch staged; see BulkStore.publish."""
        context = self.context
        context.need("publishing a batch")
        yield BEGIN
        now = yield from context.now()
        if once is not None and not (yield from self._push.note_once(once, now)):
            return Published(True, 0)
        entries = yield from self._chosen(batch, parts)
        yield from context.check_taking(entries)
        work = context.work(now, keep)
        refused = yield from self._settle.settle_into(work, turns)
        if refused:
            raise BatchRefused(batch, refused)
        yield from self._push.push_into(work, entries, on_duplicate)
        yield from work.write()
        yield from self.discard(batch)
        return Published(False, len(entries))

    def discard(self, batch: str) -> Plan[None]:
        """Discard what a batch staged; see BulkStore.discard."""
        yield commands.delete(self.names.staged, {"batch": batch}, many=True)

    def _chosen(self, batch: str, parts: Mapping[str, int]) -> Plan[list[Entry]]:
        """Return the entries staged by parts of a batch, if their numbers are as expected."""
        by_part: dict[str, list[Entry]] = {}
        for one in (yield commands.find(self.names.staged, {"batch": batch}, {"_id": 1})):
            by_part.setdefault(one["part"], []).extend(map(_entry, one["entries"]))
        entries: list[Entry] = []
        for part, wanted in parts.items():
            its = by_part.get(part, [])
            if len(its) != wanted:
                raise StagedLost(batch, part, wanted, len(its))
            entries += its
        return entries


def _kept(entry: Entry) -> dict[str, Any]:
    fields = msgspec.structs.asdict(entry)
    fields |= {"due": entry.due and micro(entry.due), "delay": entry.delay and micro(moment(0) + entry.delay)}
    return {name: value for name, value in fields.items() if value is not None}


def _entry(kept: dict[str, Any]) -> Entry:
    due, delay = kept.get("due"), kept.get("delay")
    return Entry(
        kept["queue"],
        kept.get("key"),
        kept["kind"],
        kept["payload"],
        kept.get("headers"),
        None if due is None else moment(due),
        None if delay is None else moment(delay) - moment(0),
        kept.get("group"),
        kept["priority"],
    )
