"""A unit of work: messages are read, changed in Python, and then written at once.

In a transaction, everything is written together; if a message has changed since it was read, Conflict is raised.
Without transactions, each message is written separately, and only if it still has the token that was read.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Literal

from bson import Int64

from duerow.errors import Conflict
from duerow.message import LIVE
from duerow.plan import Plan
from duerow.reservation import Receipt
from duerow.store import HistoryRow, Record, Retention
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import (
    PLAIN,
    CollectionNames,
    difference,
    document,
    history_document,
    maybe_moment,
    micro,
    record_of,
    whole_batch,
)
from duerow.stores.mongodb.steps import DUPLICATE_KEY

Written = Literal["written", "lost", "taken"]
KeyPlace = tuple[str, str]
"""A queue and a key in that queue."""


GroupPlace = tuple[str, str]
"""A queue and a group in that queue."""


def promote_next(names: CollectionNames, groups: Iterable[GroupPlace]) -> Plan[None]:
    """Put the first message of each group in line, in the transaction in which another message leaves the group.

    The message is written even if it is already in line. If it leaves at the same time, one of the two transactions is
    rolled back; when it is repeated, it sees the message behind it.
    """
    for queue, group in sorted(groups):
        members = {"queue": queue, "line_group": group}
        shown = {"line_at": 1, "due_at": 1, "lent_group": 1}
        for first in (yield commands.find(names.messages, members, {"_id": 1}, 1, shown)):
            if "lent_group" not in first:
                change: dict[str, Any] = {"$inc": {"followers": 1}}
                if "due_at" in first and "line_at" not in first:
                    change["$set"] = {"line_at": first["due_at"]}
                yield commands.update(names.messages, [commands.change({"_id": first["_id"]}, change)])


class UnitOfWork:
    """The messages that a plan changes.

    Args:
        names: the names of the collections.
        now: the time of the change.
        keep: how long to keep history and remembered keys.
        expiring: whether the server itself deletes expired documents.
    """

    def __init__(
        self, names: CollectionNames, now: datetime, keep: Retention | None = None, expiring: bool = True
    ) -> None:
        self.names, self.now, self.keep, self.expiring = names, now, keep, expiring
        self.records: dict[int, Record] = {}
        self._before: dict[int, dict[str, Any]] = {}
        self._places: dict[int, datetime | None] = {}
        self._holders: dict[KeyPlace, int] = {}
        self._touched: dict[int, None] = {}
        self._pasts: list[HistoryRow] = []
        self._remembered: dict[KeyPlace, tuple[int, datetime]] = {}

    # Reading.

    def load(self, ids: Iterable[int]) -> Plan[None]:
        """Read messages by id."""
        wanted = sorted({*ids} - self._before.keys())
        for chunk in commands.in_commands(wanted):
            self._take((yield commands.find(self.names.messages, commands.ids_in(chunk), shown=PLAIN)))

    def load_holders(self, keys: Iterable[KeyPlace]) -> Plan[None]:
        """Read the live messages that hold keys."""
        by_queue: dict[str, list[str]] = {}
        for queue, key in dict.fromkeys(keys):
            by_queue.setdefault(queue, []).append(key)
        for queue, wanted in by_queue.items():
            for chunk in commands.in_commands(wanted):
                chosen = {"queue": queue, "live_key": {"$in": chunk}}
                self._take((yield commands.find(self.names.messages, chosen, shown=PLAIN)))

    def _take(self, found: Iterable[dict[str, Any]]) -> None:
        for one in found:
            id_ = int(one["_id"])
            if id_ not in self._before:
                self.read(one)

    def read(self, found: dict[str, Any]) -> Record:
        """Add a message that was read."""
        record = record_of(found)
        self._before[record.id] = found
        self._places[record.id] = maybe_moment(found.get("place"))
        self.records[record.id] = record
        self._enter(record)
        return record

    # Deciding.

    def lent_on(self, receipt: Receipt) -> Record | None:
        """Return the message if it still has the receipt's token, else None; this fences all later writes."""
        record = self.records.get(receipt.id)
        return record if record is not None and record.token == receipt.token else None

    def holder(self, queue: str, key: str | None) -> Record | None:
        """Return the loaded live message that holds a key."""
        id_ = None if key is None else self._holders.get((queue, key))
        return None if id_ is None else self.records[id_]

    def place(self, record: Record) -> datetime | None:
        """Return the due time that determined a message's place in line when it was last leased."""
        return self._places.get(record.id)

    def put(self, record: Record) -> None:
        """Store a message."""
        self._leave(record.id)
        self.records[record.id] = record
        self._enter(record)
        self._touch(record.id)

    def lend(self, record: Record, place: datetime | None) -> None:
        """Store a leased message, with its former place in line."""
        self._places[record.id] = place
        self.put(record)

    def drop(self, id_: int) -> None:
        """Delete a message."""
        self._leave(id_)
        del self.records[id_]
        self._touch(id_)

    def note(self, past: HistoryRow) -> None:
        """Write a turn to the history, if history is kept."""
        if self.keep is not None and self.keep.history is not None:
            self._pasts.append(past)

    def left(self, record: Record) -> None:
        """Remember the key of a message that has left, if keys are remembered."""
        if self.keep is not None and self.keep.keys is not None and record.key is not None:
            self._remembered[record.queue, record.key] = record.id, self.now + self.keep.keys

    def _touch(self, id_: int) -> None:
        self._touched.pop(id_, None)
        self._touched[id_] = None

    def _enter(self, record: Record) -> None:
        if record.key is not None and record.status in LIVE:
            self._holders[record.queue, record.key] = record.id

    def _leave(self, id_: int) -> None:
        before = self.records.get(id_)
        if before is not None and before.key is not None and self._holders.get((before.queue, before.key)) == id_:
            del self._holders[before.queue, before.key]

    # Writing.

    def write(self) -> Plan[None]:
        """Write everything in the plan's transaction; raise Conflict if a message has changed since it was read."""
        messages = self.names.messages
        gone = [id_ for id_ in self._touched if id_ not in self.records and id_ in self._before]
        for chunk in commands.in_commands(gone):
            deleted = yield commands.delete(messages, *(self._fence(id_) for id_ in chunk))
            _check_all(deleted, chunk)
        changed = [self._change(id_) for id_ in self._touched if id_ in self.records and id_ in self._before]
        for some in commands.in_commands([change for change in changed if change is not None]):
            _check_all((yield commands.update(messages, some)), some)
        new = sorted(id_ for id_ in self._touched if id_ in self.records and id_ not in self._before)
        for documents in commands.in_commands(whole_batch(self.records[id_] for id_ in new)):
            yield commands.insert(messages, documents)
        yield from promote_next(self.names, self._left_groups())
        yield from self._write_history()

    def write_alone(self, id_: int) -> Plan[Written]:
        """Write one message separately; return whether it was unchanged since it was read."""
        if id_ not in self.records:
            reply = yield commands.delete(self.names.messages, self._fence(id_))
            return "written" if reply["n"] else "lost"
        change = self._change(id_)
        if change is None:
            return "written"
        reply = yield commands.update(self.names.messages, [change], taken=True)
        if any(error["code"] == DUPLICATE_KEY for error in reply.get("writeErrors", ())):
            return "taken"
        return "written" if reply["n"] else "lost"

    def _fence(self, id_: int) -> dict[str, Any]:
        return {"_id": Int64(id_), "token": self._before[id_].get("token")}

    def _change(self, id_: int) -> dict[str, Any] | None:
        record = self.records[id_]
        place = self._places.get(id_) if record.leased_by is not None else None
        update = difference(self._before[id_], document(record, place))
        return {"q": self._fence(id_), "u": update} if update else None

    def _left_groups(self) -> set[GroupPlace]:
        """Return the groups that lost a message, or in which a message is no longer leased."""
        left: set[GroupPlace] = set()
        for id_ in self._touched:
            before = self._before.get(id_, {})
            if "line_group" not in before:
                continue
            group = before["queue"], before["line_group"]
            after = self.records.get(id_)
            stays = after is not None and after.status in LIVE and (after.queue, after.group) == group
            if not stays or ("lent_group" in before and after is not None and after.leased_by is None):
                left.add(group)
        return left

    def _write_history(self) -> Plan[None]:
        history = timedelta(0) if self.keep is None or self.keep.history is None else self.keep.history
        turns = [history_document(past) | self.until(self.now + history) for past in self._pasts]
        for documents in commands.in_commands(turns):
            yield commands.insert(self.names.history, documents)
        held = [
            {
                "q": {"queue": queue, "key": key},
                "u": {"$set": {"id": Int64(id_), **self.until(until)}},
                "upsert": True,
            }
            for (queue, key), (id_, until) in sorted(self._remembered.items())
        ]
        for changes in commands.in_commands(held):
            yield commands.update(self.names.keys, changes)

    def until(self, until: datetime) -> dict[str, Any]:
        """Return a document's expiry fields; if the server deletes expired documents, one field is a date."""
        return {"until": micro(until)} | ({"expires": until} if self.expiring else {})


def _check_all(reply: dict[str, Any], wanted: list[Any]) -> None:
    if reply["n"] != len(wanted):
        raise Conflict("another client changed a message while it was being written")
