"""Read finished turns, and delete old ones."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from bson import Int64

from duerow.plan import Plan
from duerow.store import HistoryQuery, HistoryRow
from duerow.store.retention import NOTED_FOR, STAGED_FOR
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import PLAIN, history_row_of, micro
from duerow.stores.mongodb.filters import filter_of
from duerow.stores.mongodb.plans.context import MongoPlans


class MongoHistory(MongoPlans):
    """Plans for history."""

    def find(self, query: HistoryQuery) -> Plan[list[HistoryRow]]:
        """Read finished turns; see HistoryStore.find."""
        if query.limit < 1:
            return []
        chosen: list[dict[str, Any]] = [{"queue": query.queue}]
        if query.id is not None:
            chosen.append({"id": Int64(query.id)})
        if query.ends:
            chosen.append({"outcome": {"$ne": "failed"}})
        if query.where is not None:
            chosen.append(filter_of(query.where, turns=True))
        if query.until is not None:
            chosen.append(_beside(query.until, "$lt", "$lte"))
        if query.after is not None:
            behind = "$gt" if query.oldest_first else "$lt"
            chosen.append(_beside(query.after, behind, behind))
        way = 1 if query.oldest_first else -1
        sort = {"finished_at": way, "id": way, "token": way}
        read = commands.find(self.names.history, {"$and": chosen}, sort, query.limit, PLAIN)
        found = yield commands.bounded(read, query.id is None)
        return [history_row_of(one) for one in found]

    def prune(self, limit: int) -> Plan[int]:
        """Delete rows that were kept long enough; see HistoryStore.prune."""
        now = yield from self.context.now()
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
        """Delete documents that were staged but never published; each has several entries."""
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


def _beside(place: tuple[datetime, int, int], strictly: str, at_last: str) -> dict[str, Any]:
    """Return a filter for turns on one side of a place in the order of history."""
    finished_at, id_, token = micro(place[0]), Int64(place[1]), Int64(place[2])
    return {
        "$or": [
            {"finished_at": {strictly: finished_at}},
            {"finished_at": finished_at, "id": {strictly: id_}},
            {"finished_at": finished_at, "id": id_, "token": {at_last: token}},
        ]
    }
