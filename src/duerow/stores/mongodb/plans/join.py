"""Gather parts into sets, and turn complete sets into messages.

Each set is a document, and adding a part also writes that document. If two transactions add parts at the same time,
one of them is repeated and then sees the other one's part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bson import Int64
from msgspec.structs import replace

from duerow.clock import moment
from duerow.errors import DuerowError
from duerow.plan import Plan
from duerow.store import Closed, End, Entry, Joined, Record, Refused, Turn
from duerow.stores.join_sets import SetPlace, SetState, complete, join
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import micro
from duerow.stores.mongodb.plans.context import MongoContext, MongoPlans
from duerow.stores.mongodb.plans.push import MongoPush
from duerow.stores.mongodb.unit_of_work import UnitOfWork
from duerow.stores.records import created

FORGOTTEN_AT_ONCE = 20
"""How many expired records of complete sets are deleted whenever a set becomes complete."""


@dataclass
class Sets:
    """The sets that the turns of one call change."""

    work: UnitOfWork
    ids: Any
    by_place: dict[SetPlace, SetState] = field(default_factory=dict)
    parts: dict[int, dict[int, str]] = field(default_factory=dict)
    ends: dict[int, End | None] = field(default_factory=dict)
    touched: dict[SetPlace, None] = field(default_factory=dict)
    added: dict[int, dict[int, str]] = field(default_factory=dict)
    emptied: set[int] = field(default_factory=set)

    def gather(self, record: Record, end: Joined | Closed) -> DuerowError | None:
        """End the turn of a set, or of a part that joins one; return why it was refused, or None."""
        if isinstance(end, Closed):
            complete(self, record, end.correlation, end.remember)
            self.ends[record.id] = None
            return None
        outcome = join(self, record, end)
        if isinstance(outcome, DuerowError):
            return outcome
        self.ends[record.id] = outcome
        return None

    def remaining(self, turns: Sequence[tuple[int, Turn]], refused: Mapping[int, Refused]) -> list[tuple[int, Turn]]:
        """Return the turns that have not been settled yet; parts now have their final ends."""
        left: list[tuple[int, Turn]] = []
        for place, turn in turns:
            if place in refused:
                continue
            if not isinstance(turn.end, Joined | Closed):
                left.append((place, turn))
                continue
            end = self.ends[turn.receipt.id]
            if end is not None:
                left.append((place, replace(turn, end=end)))
        return left

    @property
    def now(self) -> datetime:
        """The time of the change."""
        return self.work.now

    def set_at(self, place: SetPlace) -> SetState:
        """Return the state of a set."""
        return self.by_place.get(place, (None, None))

    def message(self, id_: int) -> Record | None:
        """Return the message with this id; None if there is none."""
        return self.work.records.get(id_)

    def parts_of(self, set_id: int) -> Mapping[int, str]:
        """Return the parts of the set that has this message."""
        return self.parts.get(set_id, {})

    def begin(self, entry: Entry) -> Record:
        """Push the message of a new set, and return it."""
        record = created(next(self.ids), entry, self.work.now)
        self.work.put(record)
        return record

    def add(self, place: SetPlace, set_id: int, part_id: int, parts: dict[int, str]) -> None:
        """Store the parts of a set after one was added."""
        self.parts[set_id] = parts
        self.added.setdefault(set_id, {})[part_id] = parts[part_id]
        self.touched[place] = None

    def empty(self, set_id: int) -> None:
        """Delete the parts of a set."""
        self.parts.pop(set_id, None)
        self.added.pop(set_id, None)
        self.emptied.add(set_id)

    def put(self, record: Record) -> None:
        """Store a message."""
        self.work.put(record)

    def change(self, place: SetPlace, state: SetState) -> None:
        """Store the state of a set."""
        self.by_place[place] = state
        self.touched[place] = None


class MongoJoin(MongoPlans):
    """Plans for the turns of parts and of due sets.

    Args:
        context: the state that all plans of the store share.
        push: adds messages.
    """

    def __init__(self, context: MongoContext, push: MongoPush) -> None:
        super().__init__(context)
        self._push = push

    def load_sets(self, work: UnitOfWork, turns: Sequence[Turn]) -> Plan[Sets]:
        """Read the sets, their messages and their parts."""
        ends = [turn.end for turn in turns if isinstance(turn.end, Joined | Closed)]
        sets = Sets(work, iter(()))
        if not ends:
            return sets
        places = sorted({(end.sets, end.correlation) for end in ends})
        for chunk in commands.in_commands([_id_of(place) for place in places]):
            for one in (yield commands.find(self.names.sets, {"_id": {"$in": chunk}})):
                until = one.get("closed_until")
                message = one.get("message")
                sets.by_place[one["queue"], one["correlation"]] = (
                    None if message is None else int(message),
                    None if until is None else moment(until),
                )
        messages = {message for message, _ in sets.by_place.values() if message is not None}
        messages |= {turn.receipt.id for turn in turns if isinstance(turn.end, Closed)}
        yield from work.load(messages)
        for ids in commands.in_commands(sorted(messages)):
            chosen = {"message": {"$in": [Int64(id_) for id_ in ids]}}
            for one in (yield commands.find(self.names.parts, chosen)):
                sets.parts.setdefault(int(one["message"]), {})[int(one["part"])] = one["text"]
        joins = sum(isinstance(end, Joined) for end in ends)
        sets.ids = iter((yield from self._push.ids(joins)))
        return sets

    def write_sets(self, sets: Sets) -> Plan[None]:
        """Write the changed sets and their parts; delete some expired records."""
        for message in sorted(sets.emptied):
            yield commands.delete(self.names.parts, {"message": Int64(message)}, many=True)
        added = [
            {"message": Int64(message), "part": Int64(id_), "text": text}
            for message, parts in sorted(sets.added.items())
            for id_, text in sorted(parts.items())
        ]
        for documents in commands.in_commands(added):
            yield commands.insert(self.names.parts, documents)
        for place in sorted(sets.touched):
            yield self._write_set(place, *sets.by_place[place])
        if sets.emptied:
            over = {"closed_until": {"$lte": micro(sets.work.now)}, "message": None}
            found = yield commands.find(self.names.sets, over, limit=FORGOTTEN_AT_ONCE, shown={"_id": 1})
            if found:
                yield commands.delete_ids(self.names.sets, [one["_id"] for one in found])

    def _write_set(self, place: SetPlace, message: int | None, closed_until: datetime | None) -> Any:
        """Write the set even if it is unchanged, so that a concurrent writer gets a conflict."""
        queue, correlation = place
        if message is None and closed_until is None:
            return commands.delete(self.names.sets, {"_id": _id_of(place)})
        fields: dict[str, Any] = {"queue": queue, "correlation": correlation}
        gone: dict[str, str] = {}
        for name, value in (
            ("message", None if message is None else Int64(message)),
            ("closed_until", None if closed_until is None else micro(closed_until)),
        ):
            if value is None:
                gone[name] = ""
            else:
                fields[name] = value
        update: dict[str, Any] = {"$set": fields, "$inc": {"version": 1}}
        if gone:
            update["$unset"] = gone
        return commands.update(self.names.sets, [commands.change({"_id": _id_of(place)}, update, upsert=True)])


def _id_of(place: SetPlace) -> str:
    """Return the id of a set's document; it is unambiguous because queue names contain no spaces."""
    return " ".join(place)
