"""How turns end: settle and extend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from duerow.errors import DuerowError, DuplicateKey, LeaseLost
from duerow.plan import BEGIN, Plan
from duerow.reservation import Receipt
from duerow.store import (
    ORDER_OF_EFFECT,
    Buried,
    Closed,
    Committed,
    End,
    Entry,
    Joined,
    Moved,
    Record,
    Refused,
    Released,
    Retention,
    RolledBack,
    Turn,
)
from duerow.store.writes import following
from duerow.stores import history_rows
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import micro
from duerow.stores.mongodb.plans.context import MongoContext, MongoPlans
from duerow.stores.mongodb.plans.join import MongoJoin
from duerow.stores.mongodb.plans.push import MongoPush
from duerow.stores.mongodb.unit_of_work import UnitOfWork
from duerow.stores.records import as_new, dead, due_time, met, settled

Numbered = tuple[int, Turn]
"""A turn and its place in the call."""


class MongoSettle(MongoPlans):
    """Plans that end turns.

    Args:
        context: the state that all plans of the store share.
        push: adds messages.
        join: gathers parts into sets.
    """

    def __init__(self, context: MongoContext, push: MongoPush, join: MongoJoin) -> None:
        super().__init__(context)
        self._push, self._join = push, join

    def extend(self, receipts: Sequence[Receipt], lease: timedelta) -> Plan[dict[Receipt, datetime]]:
        """Extend leases, then read which tokens are still valid (extending keeps them); see MessageStore.extend."""
        until = (yield from self.context.now()) + lease
        later = {"$set": dict.fromkeys(("due_at", "line_at", "leased_until"), micro(until))}
        changes = [commands.change(commands.fence(one.id, one.token), later) for one in sorted(receipts, key=_by_id)]
        for some in commands.in_commands(changes):
            yield commands.update(self.names.messages, some)
        kept: set[Receipt] = set()
        for chunk in commands.in_commands([receipt.id for receipt in receipts]):
            found = yield commands.find(self.names.messages, commands.ids_in(chunk), shown={"token": 1})
            kept |= {Receipt(int(one["_id"]), int(one["token"])) for one in found}
        return {receipt: until for receipt in receipts if receipt in kept}

    def settle(self, turns: Sequence[Turn], keep: Retention | None = None) -> Plan[list[Refused]]:
        """End turns, then push their follow-ups; see MessageStore.settle.

        If a receipt is given twice, the turn that takes effect first is settled, and the other one is refused.
        """
        context = self.context
        context.check_keeping(keep)
        if not context.capabilities.transactions:
            self._require_lone_turns(turns)
            now = yield from context.now()
            return (yield from self._settle_each(turns, now))
        yield BEGIN
        now = yield from context.now()
        work = context.work(now, keep)
        refused = yield from self.settle_into(work, turns)
        yield from work.write()
        return refused

    def settle_into(self, work: UnitOfWork, turns: Sequence[Turn]) -> Plan[list[Refused]]:
        """Decide how turns end, and push their follow-ups; write nothing except sets."""
        yield from work.load(turn.receipt.id for turn in turns)
        yield from work.load_holders(_keys_wanted(turns))
        sets = yield from self._join.load_sets(work, turns)
        refused: dict[int, Refused] = {}
        left = _without_repeated(turns, refused)
        for place, turn in left:
            outcome: End | DuerowError | None = turn.end
            if isinstance(turn.end, Joined | Closed):
                record = work.lent_on(turn.receipt)
                outcome = LeaseLost(turn.receipt.id) if record is None else sets.gather(record, turn.end)
            if isinstance(outcome, DuerowError):
                refused[place] = Refused(turn.receipt, outcome)
        for place, turn in in_order_of_effect(sets.remaining(left, refused)):
            error = end_turn(work, turn)
            if error is not None:
                refused[place] = Refused(turn.receipt, error)
        yield from self._join.write_sets(sets)
        ended = [turn.end for place, turn in enumerate(turns) if place not in refused]
        then = [entry for end in ended for entry in following(end)]
        if then:
            yield from self._push.push_into(work, then, "ignore")
        return [refused[place] for place in sorted(refused)]

    # Without transactions.

    def _require_lone_turns(self, turns: Sequence[Turn]) -> None:
        """Raise NotSupported if a turn would also have to change a message other than its own."""
        context = self.context
        for turn in turns:
            if following(turn.end):
                context.need(f"then= with the settlement of message {turn.receipt.id}")
            match turn.end:
                case Moved(key=str(), on_duplicate="replace" | "earliest"):
                    asked = f"move(on_duplicate={turn.end.on_duplicate!r}) with a key"
                    context.need(f"{asked}, of message {turn.receipt.id},")
                case Moved(group=str()):
                    context.need(f"move(group=…) of message {turn.receipt.id}")
                case Joined() | Closed():
                    context.need(f"the join of message {turn.receipt.id}")

    def _settle_each(self, turns: Sequence[Turn], now: datetime) -> Plan[list[Refused]]:
        """End each turn with one atomic write, so that a refused turn does not affect the others."""
        read = self.context.work(now)
        yield from read.load(turn.receipt.id for turn in turns)
        refused: dict[int, Refused] = {}
        for place, turn in _without_repeated(turns, refused):
            error = yield from self._settle_alone(read, turn)
            if error is not None:
                refused[place] = Refused(turn.receipt, error)
        return [refused[place] for place in sorted(refused)]

    def _settle_alone(self, work: UnitOfWork, turn: Turn) -> Plan[DuerowError | None]:
        """End one turn. The server itself refuses a taken key, so there is no gap between a check and the write."""
        before = work.lent_on(turn.receipt)
        error = end_turn(work, turn)
        if before is None or error is not None:
            return error
        written = yield from work.write_alone(before.id)
        if written == "lost":
            return LeaseLost(before.id)
        if written == "taken" and isinstance(turn.end, Moved):
            if turn.end.on_duplicate == "reject":
                return DuplicateKey(turn.end.to, [str(turn.end.key)])
            work.drop(before.id)
            written = yield from work.write_alone(before.id)
            return LeaseLost(before.id) if written == "lost" else None
        return None


def end_turn(work: UnitOfWork, turn: Turn) -> DuerowError | None:
    """End a turn, but ignore its `then`, and write its history; return why it was refused, or None."""
    record, now = work.lent_on(turn.receipt), work.now
    if record is None:
        return LeaseLost(turn.receipt.id)
    if not isinstance(turn.end, Moved | Released):
        work.note(history_rows.ended(record, work.place(record), now, turn.end))
    match turn.end:
        case Committed():
            work.drop(record.id)
            work.left(record)
        case RolledBack(delay, error):
            after = replace(settled(record), status="error", due_at=now + delay)
            work.put(replace(after, last_error=_latest_error(record, error)))
        case Buried(error):
            work.put(replace(dead(record), last_error=_latest_error(record, error)))
            work.left(record)
        case Released(due_at):
            place = due_at or work.place(record) or record.first_due_at
            work.put(replace(settled(record), due_at=place, attempts=record.attempts - 1))
        case Moved() as move:
            return _move(work, record, move)
        case Closed() | Joined():
            raise AssertionError("the turns of sets and of their parts end before all others")
    return None


def in_order_of_effect(turns: Iterable[Numbered]) -> list[Numbered]:
    """Return turns with their places in the call, in the order in which they take effect: by kind of end, then id."""

    def effect(numbered: Numbered) -> tuple[int, int]:
        _, turn = numbered
        return ORDER_OF_EFFECT.index(type(turn.end)), turn.receipt.id

    return sorted(turns, key=effect)


def _without_repeated(turns: Sequence[Turn], refused: dict[int, Refused]) -> list[Numbered]:
    """Return turns in the order in which they take effect; refuse all but the first turn with the same receipt."""
    used: set[Receipt] = set()
    left: list[Numbered] = []
    for place, turn in in_order_of_effect(enumerate(turns)):
        if turn.receipt in used:
            refused[place] = Refused(turn.receipt, LeaseLost(turn.receipt.id))
        else:
            left.append((place, turn))
        used.add(turn.receipt)
    return left


def _keys_wanted(turns: Iterable[Turn]) -> list[tuple[str, str]]:
    """Return the keys that moves take, including moves with which the turns of sets may end."""
    ends: list[End | None] = []
    for turn in turns:
        ends.append(turn.end)
        if isinstance(turn.end, Joined):
            ends += [turn.end.full, turn.end.late]
    return [(end.to, end.key) for end in ends if isinstance(end, Moved) and end.key is not None]


def _move(work: UnitOfWork, record: Record, move: Moved) -> DuplicateKey | None:
    payload = record.payload if move.payload is None else move.payload
    kind = record.kind if move.kind is None else move.kind
    held = work.holder(move.to, move.key)
    place = work.place(record)
    if move.key is None or held is None or held.id == record.id:
        work.note(history_rows.ended(record, place, work.now, move))
        work.left(record)
        arrived = as_new(record, due_time(work.now, move.due, move.delay))
        arrived = replace(arrived, queue=move.to, payload=payload, kind=kind, key=move.key, headers=move.headers)
        work.put(replace(arrived, group=move.group, priority=move.priority))
        return None
    if move.on_duplicate == "reject":
        return DuplicateKey(move.to, [move.key])
    # From now on, the message that holds the key replaces this one.
    work.note(history_rows.ended(record, place, work.now, move, met=True))
    work.left(record)
    entry = Entry(move.to, move.key, kind, payload, move.headers, move.due, move.delay, move.group, move.priority)
    after = met(work.now, held, entry, move.on_duplicate)
    if after is not None:
        work.put(after)
    work.drop(record.id)
    return None


def _latest_error(record: Record, error: str | None) -> str | None:
    return record.last_error if error is None else error


def _by_id(receipt: Receipt) -> int:
    return receipt.id
