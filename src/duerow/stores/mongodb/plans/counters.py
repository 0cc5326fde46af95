"""Write and read counters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from duerow.clock import moment
from duerow.plan import BEGIN, Plan
from duerow.store import Counted, Counters, Totals
from duerow.store.metadata import COUNTS_KEPT, of_last_hour
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import micro
from duerow.stores.mongodb.plans.context import MongoPlans

FOLDED_AT_ONCE: Final = 500
TOTALS: Final = ("done", "failed", "dead", "moved")


class MongoCounters(MongoPlans):
    """Plans for counters."""

    def note_counts(self, process: str, rows: Sequence[Counted]) -> Plan[None]:
        """Write the counts of a process, and add up old ones; see CounterStore.note_counts."""
        now = yield from self.context.now()
        changes = [_counted_change(process, row) for row in rows]
        for some in commands.in_commands(changes):
            yield commands.update(self.names.counts, some)
        old = {"minute": {"$lt": micro(now - COUNTS_KEPT)}}
        if not (yield commands.find(self.names.counts, old, limit=1)):
            return
        if self.context.capabilities.transactions:
            yield BEGIN
        found = yield commands.find(self.names.counts, old, limit=FOLDED_AT_ONCE)
        # Deleted before they are added up: if the process dies in between, the totals are too low, never too high.
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

    def read(self, queue: str) -> Plan[Counters]:
        """Read the counters; see CounterStore.read."""
        now = yield from self.context.now()
        before = yield commands.find(self.names.lifetimes, {"_id": queue})
        found = yield commands.find(self.names.counts, {"queue": queue})
        rows = [
            Counted(
                queue, moment(one["minute"]), _totals([one]), one.get("waiting"), one.get("handling"), one["process"]
            )
            for one in found
        ]
        lately = of_last_hour(rows, now)
        return Counters(now, _totals([*before, *found]), lately)


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
