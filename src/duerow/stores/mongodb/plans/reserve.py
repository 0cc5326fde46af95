"""Reserve and lend: the next messages in line, one of each group.

A claim picks due messages, leases those that have not changed in the meantime, and reads back the messages it got. One
atomic write leases each message, so two consumers never get the same one. Only one message of a group at a time has
`lent_group`, which has a unique index. The history of an expired lease is written in one transaction with the message.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Literal

from bson import Int64
from msgspec.structs import replace

from duerow.errors import Conflict, StoreRefused
from duerow.message import Failure
from duerow.payload.codec import encode_failure
from duerow.plan import Plan
from duerow.reservation import Receipt
from duerow.store import GivenUp, Lease, Record, Reserved, Retention
from duerow.stores import history_rows
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import PLAIN, difference, document, is_sound, maybe_moment, micro, record_of
from duerow.stores.mongodb.plans.context import MongoContext, MongoPlans
from duerow.stores.mongodb.plans.priorities import (
    IN_LINE,
    Found,
    MongoGroup,
    MongoPriorities,
    behind,
    has_lapsed,
    is_kept_back,
    of_kinds,
)
from duerow.stores.mongodb.steps import Together
from duerow.stores.records import as_dead_letter, dead, ended_lease, lent, settled

LOG: Final = logging.getLogger("duerow.store")

Outcome = Literal["lent", "buried", "aside", "freed", "lost", "locked"]

LOCK_WAIT: Final = 250
"""The milliseconds that a claim waits for a transaction that has locked a message, before it skips the message."""

MORE_FOR_EACH: Final = 5
"""Additional milliseconds for each message of a batch."""

_OF_THE_LIVE: Final = dict.fromkeys(
    ("due_at", "line_at", "live_key", "line_group", "lent_group", "leased_by", "leased_until", "place"), ""
)
"""The fields that only live messages have."""


@dataclass(frozen=True)
class ClaimTerms:
    """The parameters of a claim."""

    queue: str
    now: datetime
    lease: timedelta
    attempts: int | None
    consumer: str
    dead_letter: str | None
    keep: Retention | None
    kinds: Collection[str] | None

    @property
    def until(self) -> int:
        """The stored form of the time at which the leases end."""
        return micro(self.now + self.lease)


@dataclass
class MongoClaim:
    """The progress of a claim.

    Attributes:
        limit: how many messages to lease.
        lent: the messages leased so far, with their former places in line.
        buried: the messages buried instead.
        served: the groups from which a message was leased.
        waiting: the groups seen in the current line, each with the message that may still appear there.
        locked: messages that another transaction has locked.
    """

    limit: int
    lent: list[Record] = field(default_factory=list)
    buried: list[GivenUp] = field(default_factory=list)
    served: set[str] = field(default_factory=set)
    waiting: dict[str, int | None] = field(default_factory=dict)
    locked: set[int] = field(default_factory=set)

    @property
    def wanted(self) -> int:
        """How many more messages to lease."""
        return self.limit - len(self.lent)


class MongoReserve(MongoPlans):
    """Plans that hand messages out.

    Args:
        context: the state that all plans of the store share.
        priorities: finds the next messages in line.
    """

    def __init__(self, context: MongoContext, priorities: MongoPriorities) -> None:
        super().__init__(context)
        self._priorities = priorities

    def reserve(
        self,
        queue: str,
        limit: int,
        lease: timedelta,
        attempts: int | None,
        consumer: str,
        dead_letter: str | None = None,
        keep: Retention | None = None,
        kinds: Collection[str] | None = None,
        apart: bool = False,
        exact: bool = True,
    ) -> Plan[Reserved]:
        """Reserve due messages; a message that the server refuses affects no others. See MessageStore.reserve."""
        claim = yield from self._claim(queue, limit, lease, attempts, consumer, dead_letter, keep, kinds)
        return Reserved(sorted(claim.lent, key=_in_line), claim.buried)

    def lend(
        self,
        queue: str,
        limit: int,
        lease: timedelta,
        attempts: int | None,
        consumer: str,
        dead_letter: str | None = None,
        keep: Retention | None = None,
        kinds: Collection[str] | None = None,
        apart: bool = False,
    ) -> Plan[Lease]:
        """Lend due messages and return their receipts; see BulkStore.lend."""
        claim = yield from self._claim(queue, limit, lease, attempts, consumer, dead_letter, keep, kinds)
        records = sorted(claim.lent, key=lambda record: record.id)
        groups = {record.id: record.group for record in records if record.group is not None}
        return Lease([Receipt(record.id, record.token) for record in records], groups, claim.buried)

    # Claims.

    def _claim(
        self,
        queue: str,
        limit: int,
        lease: timedelta,
        attempts: int | None,
        consumer: str,
        dead_letter: str | None,
        keep: Retention | None,
        kinds: Collection[str] | None,
    ) -> Plan[MongoClaim]:
        context = self.context
        context.check_keeping(keep)
        claim = MongoClaim(limit)
        if limit < 1 or (yield from context.is_paused(queue)):
            return claim
        now = yield from context.now()
        kept = keep if keep is not None and (keep.history or keep.keys) is not None else None
        terms = ClaimTerms(queue, now, lease, attempts, consumer, dead_letter, kept, kinds)
        priority = yield from self._priorities.next_line(queue, None)
        while priority is not None and claim.wanted:
            yield from self._claim_line(terms, priority, claim)
            if claim.wanted:
                priority = yield from self._priorities.next_line(queue, priority)
        return claim

    def _claim_line(self, terms: ClaimTerms, priority: int, claim: MongoClaim) -> Plan[None]:
        """Lease the due messages of one priority until there are enough or none are left.

        Messages that were leased or buried are no longer due; the next read leaves out those that have to wait.
        """
        claim.waiting = {}
        while claim.wanted:
            wanted = claim.wanted
            chosen = _due(terms, priority, claim)
            found = yield commands.find(self.names.messages, chosen, IN_LINE, wanted, PLAIN)
            if not found:
                return
            odd = [one for one in found if not is_sound(one)]
            if odd:
                yield from self._bury_odd(terms, odd, claim)
                continue
            plain = [one["_id"] for one in found if "group" not in one and "leased_by" not in one]
            if len(plain) == len(found):
                yield from self._lend_picked(terms, priority, plain, [], claim)
                if len(found) < wanted and claim.wanted == wanted - len(found):
                    return
            else:
                others = yield from self._having_their_turn(terms, priority, found, claim)
                yield from self._lend_picked(terms, priority, plain, others, claim)

    def _bury_odd(self, terms: ClaimTerms, odd: Sequence[Found], claim: MongoClaim) -> Plan[None]:
        """Bury messages that cannot be leased because fields have the wrong type; leave their other fields alone."""
        for one in odd:
            id_, token = one["_id"], one.get("token")
            why = encode_failure(Failure("CodecError", f"message {id_} cannot be handed out: {record_of(one).damage}"))
            ended = token + 1 if isinstance(token, int) else 1
            change = {"$set": {"status": "dead", "last_error": why, "token": Int64(ended)}, "$unset": _OF_THE_LIVE}
            yield commands.update(self.names.messages, [commands.change({"_id": id_, "token": token}, change)])
            claim.buried.append(GivenUp(record_of(one).id, None, 0, why))

    def _lend_picked(
        self, terms: ClaimTerms, priority: int, plain: Sequence[Any], others: Sequence[Found], claim: MongoClaim
    ) -> Plan[None]:
        """Lease or bury picked messages: the plain ones, and the others (with a group or a lease) whose turn it is."""
        changes = [_lend_all(terms, priority, plain)] if plain else []
        tried = list(plain)
        for one in others:
            if "leased_by" in one:
                outcome = yield from self._lapse_apart(terms, one, claim)
                if outcome == "locked":
                    claim.locked.add(int(one["_id"]))
                elif outcome == "buried":
                    record = record_of(one)
                    error = after_error(terms, record)
                    claim.buried.append(GivenUp(record.id, record.key, record.attempts, error))
                if outcome in ("buried", "aside"):
                    claim.waiting.pop(one.get("group", ""), None)
                if outcome != "lent":
                    continue
            else:
                record = record_of(one)
                after = lent(record, terms.now, terms.lease, terms.consumer)
                changes.append(_unless_changed(one, document(after, record.due_at)))
            tried.append(one["_id"])
        try:
            for some in commands.in_commands(changes):
                yield commands.update_soon(self.names.messages, some, LOCK_WAIT + MORE_FOR_EACH * len(tried))
        except Conflict:
            if not self.context.capabilities.transactions:
                raise
            alone = [_lend_all(terms, priority, [id_]) for id_ in plain]
            yield from self._lend_unlocked([*alone, *(changes[1:] if plain else changes)], claim)
        except StoreRefused as refused:
            if not refused.of_row:
                raise
            alone = [_lend_all(terms, priority, [id_]) for id_ in plain]
            for change in [*alone, *(changes[1:] if plain else changes)]:
                yield from self._lend_apart(terms, change, claim)
        if not tried:
            return
        # The lease's end is compared, too: a claim with the same name may have leased or extended the message before.
        ours = {"_id": {"$in": tried}, "queue": terms.queue, "leased_by": terms.consumer, "leased_until": terms.until}
        got = [_in_its_place(one) for one in (yield commands.find(self.names.messages, ours, shown=PLAIN))]
        claim.lent += got
        claim.served |= {record.group for record in got if record.group is not None}

    # Messages that the server refuses to change.

    def _lend_apart(self, terms: ClaimTerms, change: dict[str, Any], claim: MongoClaim) -> Plan[None]:
        """Lease one message; set it aside if the server refuses the changed document."""
        chosen = change["q"]["_id"]
        id_ = int(chosen["$in"][0] if isinstance(chosen, dict) else chosen)
        try:
            yield commands.update_soon(self.names.messages, [change], LOCK_WAIT)
        except Conflict:
            claim.locked.add(id_)
        except StoreRefused as refused:
            if not refused.of_row:
                raise
            yield from self._set_aside(terms, id_, refused, claim)
            claim.locked.add(id_)

    def _lapse_apart(self, terms: ClaimTerms, found: Found, claim: MongoClaim) -> Plan[Outcome]:
        """Lease or bury a message whose lease expired; set it aside if the server refuses that."""
        try:
            return (yield from self._lapse(terms, found, free=False))
        except StoreRefused as refused:
            if not refused.of_row:
                raise
            return "aside" if (yield from self._set_aside(terms, int(found["_id"]), refused, claim)) else "locked"

    def _set_aside(self, terms: ClaimTerms, id_: int, refused: StoreRefused, claim: MongoClaim) -> Plan[bool]:
        """Bury a message with the reason, and change nothing else; return whether that succeeded."""
        error = encode_failure(Failure("StoreRefused", f"it could not be handed out: {refused}"))
        try:
            if self.context.capabilities.transactions:
                given: list[GivenUp] = yield Together(partial(self._bury_alone, terms, id_, error))
            else:
                given = yield from self._bury_alone(terms, id_, error)
        except StoreRefused as again:
            if not again.of_row:
                raise
            text = "message %s of %s can be neither handed out nor buried; skipping it: %s"
            named = {"event": "skipped", "queue": terms.queue, "message_id": id_}
            LOG.error(text, id_, terms.queue, again, extra=named)
            return False
        claim.buried += given
        return True

    def _bury_alone(self, terms: ClaimTerms, id_: int, error: str) -> Plan[list[GivenUp]]:
        work = self.context.work(terms.now)
        yield from work.load([id_])
        record = work.records.get(id_)
        if record is None or record.queue != terms.queue:
            return []
        work.put(dead(replace(record, last_error=error)))
        if self.context.capabilities.transactions:
            yield from work.write()
        else:
            yield from work.write_alone(id_)
        return [GivenUp(record.id, record.key, record.attempts, error)]

    def _lend_unlocked(self, changes: Sequence[dict[str, Any]], claim: MongoClaim) -> Plan[None]:
        """Make each change in its own transaction, which skips locked messages instead of waiting for them."""
        for change in changes:
            try:
                yield Together(partial(self._lend_one, change))
            except Conflict:
                chosen = change["q"]["_id"]
                claim.locked |= {int(id_) for id_ in (chosen["$in"] if isinstance(chosen, dict) else [chosen])}

    def _lend_one(self, change: dict[str, Any]) -> Plan[None]:
        yield commands.update(self.names.messages, [change])

    def _having_their_turn(
        self, terms: ClaimTerms, priority: int, found: Sequence[Found], claim: MongoClaim
    ) -> Plan[list[Found]]:
        """Return the picked messages with a group or a lease that may be leased; of each group, only the head.

        In this line, the claim then ignores the groups seen here, except for heads that are not held back.
        """
        names = {one["group"] for one in found if "group" in one}
        groups = (yield from self._priorities.groups(terms.queue, names)) if names else {}
        for name, group in groups.items():
            if is_kept_back(group) and has_lapsed(group.lent, priority, terms.now):
                yield from self._free(terms, group.lent)
                group = groups[name] = MongoGroup(group.head)
            claim.waiting[name] = None if is_kept_back(group) else group.head
            late = [one["_id"] for one in found if one.get("group") == name and one["_id"] != claim.waiting[name]]
            if late:
                yield from self._putbehind(terms.queue, name, group, late)
        turns = [
            one
            for one in found
            if ("leased_by" in one if "group" not in one else claim.waiting[one["group"]] == one["_id"])
        ]
        # Even if another claim is faster, this claim must not try these heads again.
        claim.waiting |= {one["group"]: None for one in turns if "group" in one}
        return turns

    def _putbehind(self, queue: str, name: str, group: MongoGroup, late: Sequence[Any]) -> Plan[None]:
        """Take messages that have to wait for another one of their group out of line, so that claims read them once.

        The message for which they wait is written too. If it leaves the queue at the same time, one of the two
        transactions is rolled back, so no message is left waiting forever.
        """
        blocker = group.lent.id if group.lent is not None and is_kept_back(group) else group.head
        if blocker is None:
            return
        with suppress(Conflict):  # the blocker is leaving, or another claim is doing the same
            yield Together(partial(self._put_behind_together, queue, name, blocker, late))

    def _put_behind_together(self, queue: str, name: str, blocker: int, late: Sequence[Any]) -> Plan[None]:
        stands = {"_id": Int64(blocker), "queue": queue, "line_group": name}
        reply = yield commands.update(self.names.messages, [commands.change(stands, {"$inc": {"followers": 1}})])
        if reply["n"]:
            waits = {"_id": {"$in": list(late)}, "queue": queue, "line_group": name, "lent_group": {"$exists": False}}
            change = commands.change(waits, {"$unset": {"line_at": ""}}, multi=True)
            yield commands.update(self.names.messages, [change])

    # Expired leases.

    def _free(self, terms: ClaimTerms, record: Record | None) -> Plan[None]:
        """Remove an expired lease from a message that is no longer the first of its group."""
        if record is not None:
            found = yield commands.find(self.names.messages, commands.ids_in([record.id]), shown=PLAIN)
            if found and found[0]["token"] == record.token:
                yield from self._lapse(terms, found[0], free=True)

    def _lapse(self, terms: ClaimTerms, found: Found, free: bool) -> Plan[Outcome]:
        """Lease a message whose lease expired, or bury it after its last attempt; `free`: only remove its lease."""
        if terms.keep is None and "group" not in found:
            outcome, after, place = _lapsed(terms, record_of(found), free)
            change = _unless_changed(found, document(after, place))
            try:
                reply = yield commands.update_soon(self.names.messages, [change], LOCK_WAIT)
            except Conflict:
                return "locked"
            return outcome if reply["n"] else "lost"
        try:
            kept: Outcome = yield Together(partial(self._lapse_and_keep, terms, found, free))
        except Conflict:
            return "locked"  # another consumer is handling the expired lease
        return kept

    def _lapse_and_keep(self, terms: ClaimTerms, found: Found, free: bool) -> Plan[Outcome]:
        work = self.context.work(terms.now, terms.keep)
        yield from work.load([int(found["_id"])])
        record = work.lent_on(Receipt(int(found["_id"]), int(found["token"])))
        if record is None or record.leased_until is None or record.leased_until > terms.now:
            return "lost"
        outcome, after, place = _lapsed(terms, record, free)
        buried = outcome == "buried"
        work.note(
            history_rows.lapsed(record, work.place(record), after_error(terms, record), buried, terms.dead_letter)
        )
        if buried:
            work.left(record)
        work.lend(after, place)
        yield from work.write()
        return outcome


def after_error(terms: ClaimTerms, record: Record) -> str:
    """Return the error of an expired lease."""
    return ended_lease(record, terms.attempts)


def _lapsed(terms: ClaimTerms, record: Record, free: bool) -> tuple[Outcome, Record, datetime | None]:
    """Return the outcome for a message whose lease expired, the changed message, and the place in line it keeps."""
    failed = replace(record, last_error=after_error(terms, record))
    if free:
        return "freed", settled(failed), None
    if terms.attempts is None or record.attempts < terms.attempts:
        return "lent", lent(failed, terms.now, terms.lease, terms.consumer), record.due_at
    if terms.dead_letter is None:
        return "buried", dead(failed), None
    return "buried", as_dead_letter(terms.now, failed, terms.dead_letter), None


def _due(terms: ClaimTerms, priority: int, claim: MongoClaim) -> dict[str, Any]:
    """Return a filter for due messages in a line; of groups already seen, only heads that may still be leased.

    The lower bound lets the server use the partial index; the upper bound is one microsecond after now.
    """
    chosen: dict[str, Any] = {"queue": terms.queue, "priority": priority, **behind(None, terms.now)}
    chosen |= of_kinds(terms.kinds)
    out = claim.served | {name for name, head in claim.waiting.items() if head is None}
    if out:
        chosen["group"] = {"$nin": sorted(out)}
    if claim.locked:
        chosen["_id"] = {"$nin": [Int64(id_) for id_ in sorted(claim.locked)]}
    heads = {name: head for name, head in claim.waiting.items() if head is not None and name not in out}
    if heads:
        chosen["$nor"] = [{"group": {"$in": sorted(heads)}, "_id": {"$nin": [Int64(id_) for id_ in heads.values()]}}]
    return chosen


def _lend_all(terms: ClaimTerms, priority: int, ids: Sequence[Any]) -> dict[str, Any]:
    """Return the change that leases picked messages if they are still in this line, without a group or a lease."""
    until = terms.until
    still = {"_id": {"$in": list(ids)}, "queue": terms.queue, "priority": priority, **behind(None, terms.now)}
    still |= {"leased_by": {"$exists": False}, "group": {"$exists": False}}
    fields = {
        "place": "$due_at",
        "due_at": until,
        "line_at": until,
        "leased_until": until,
        "leased_by": {"$literal": terms.consumer},  # in a pipeline, a string that begins with $ names a field
        "last_attempt_at": micro(terms.now),
        "attempts": {"$add": ["$attempts", 1]},
        "token": {"$add": ["$token", Int64(1)]},
    }
    return commands.change(still, [{"$set": fields}], multi=True)


def _unless_changed(found: Found, after: dict[str, Any]) -> dict[str, Any]:
    """Return the change of a message that is made only if its token and its due time are still as they were read."""
    still = {"_id": found["_id"], "token": found["token"], "due_at": found.get("due_at")}
    return commands.change(still, difference(found, after))


def _in_its_place(found: Found) -> Record:
    return replace(record_of(found), due_at=maybe_moment(found["place"]))


def _in_line(record: Record) -> tuple[int, datetime, int]:
    return record.priority, record.due_at or record.created_at, record.id
