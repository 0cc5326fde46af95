"""Gather parts into sets, and turn complete sets into messages.

A set is a document. Adding a part also writes that document. So if two transactions add parts at the same time, one of
them starts again and sees the part of the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from bson import Int64
from msgspec.structs import replace

from duerow.clock import moment
from duerow.errors import DuerowError
from duerow.plan import Plan
from duerow.store import Closed, End, Joined, Record, Refused, Turn
from duerow.store.join_sets import Grown, first_entry, grown, in_order, joined, late_end
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import micro
from duerow.stores.mongodb.plans.context import MongoContext, MongoPlans
from duerow.stores.mongodb.plans.push import MongoPush
from duerow.stores.mongodb.unit_of_work import UnitOfWork
from duerow.stores.records import created, whole_set

SetPlace = tuple[str, str]
"""The queue of a set, and its correlation."""

FORGOTTEN_AT_ONCE = 20
"""How many expired records of complete sets are deleted whenever a set becomes complete."""


@dataclass
class Set:
    """A set of parts.

    Attributes:
        message: the id of its message while it is incomplete; None: it has none.
        closed_until: until when its completion is remembered.
    """

    message: int | None = None
    closed_until: datetime | None = None


@dataclass
class Sets:
    """The sets of the turns of one call."""

    work: UnitOfWork
    ids: Any
    by_place: dict[SetPlace, Set] = field(default_factory=dict)
    parts: dict[int, dict[int, str]] = field(default_factory=dict)
    ends: dict[int, End | None] = field(default_factory=dict)
    touched: dict[SetPlace, None] = field(default_factory=dict)
    added: dict[int, dict[int, str]] = field(default_factory=dict)
    emptied: set[int] = field(default_factory=set)

    def gather(self, record: Record, end: Joined | Closed) -> DuerowError | None:
        """End the turn of a set, or of a part that joins one; return why it was refused, or None."""
        if isinstance(end, Closed):
            self._close(record, end.correlation, end.remember)
            self.ends[record.id] = None
            return None
        outcome = self._join(record, end)
        if isinstance(outcome, DuerowError):
            return outcome
        self.ends[record.id] = outcome
        return None

    def remaining(self, turns: Sequence[tuple[int, Turn]], refused: Mapping[int, Refused]) -> list[tuple[int, Turn]]:
        """Return the turns that are still to be settled, with the final ends of parts."""
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

    def _join(self, record: Record, join: Joined) -> End | DuerowError:
        place = (join.sets, join.correlation)
        at_place = self.by_place.setdefault(place, Set())
        if (late := late_end(join, at_place.closed_until, self.work.now)) is not None:
            return late
        known = None if at_place.message is None else self.work.records.get(at_place.message)
        if known is not None and known.queue != join.sets:  # an operator moved the set away
            known = None
        outcome = grown(join, record, {} if known is None else self.parts.get(known.id, {}))
        if not isinstance(outcome, Grown):
            return outcome
        if known is None:
            if at_place.message is not None:
                self._empty(at_place.message)
            known = created(next(self.ids), first_entry(join), self.work.now)
            self.work.put(known)
            self.by_place[place] = Set(known.id)
        self.parts[known.id] = outcome.parts
        self.added.setdefault(known.id, {})[record.id] = outcome.parts[record.id]
        self.touched[place] = None
        if outcome.complete:
            self._close(known, join.correlation, join.remembered)
        return joined(join, record, known.id)

    def _close(self, record: Record, correlation: str, remember: timedelta | None) -> None:
        place = (record.queue, correlation)
        self.work.put(whole_set(record, correlation, in_order(self.parts.get(record.id, {})), self.work.now))
        self._empty(record.id)
        known = self.by_place.get(place, Set())
        if known.message in (record.id, None):
            self.by_place[place] = Set(None, self.work.now + remember if remember else None)
        self.touched[place] = None

    def _empty(self, message: int) -> None:
        self.parts.pop(message, None)
        self.added.pop(message, None)
        self.emptied.add(message)


class MongoJoin(MongoPlans):
    """Plans for the turns of parts and of due sets.

    Args:
        context: what all plans of the store share.
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
                sets.by_place[one["queue"], one["correlation"]] = Set(
                    None if message is None else int(message), None if until is None else moment(until)
                )
        messages = {known.message for known in sets.by_place.values() if known.message is not None}
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
            yield self._write_set(place, sets.by_place[place])
        if sets.emptied:
            over = {"closed_until": {"$lte": micro(sets.work.now)}, "message": None}
            found = yield commands.find(self.names.sets, over, limit=FORGOTTEN_AT_ONCE, shown={"_id": 1})
            if found:
                yield commands.delete_ids(self.names.sets, [one["_id"] for one in found])

    def _write_set(self, place: SetPlace, known: Set) -> Any:
        """Write the set even if it is unchanged, so that a concurrent writer gets a conflict."""
        queue, correlation = place
        if known.message is None and known.closed_until is None:
            return commands.delete(self.names.sets, {"_id": _id_of(place)})
        fields: dict[str, Any] = {"queue": queue, "correlation": correlation}
        gone: dict[str, str] = {}
        for name, value in (
            ("message", None if known.message is None else Int64(known.message)),
            ("closed_until", None if known.closed_until is None else micro(known.closed_until)),
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
    """Return the id of a set's document; no queue's name has a space."""
    return " ".join(place)
