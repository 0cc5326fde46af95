"""End all turns of a call in one transaction: joins first, then commits, other ends, moves and pushes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, Final

from duerow.clock import EPOCH
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
    Refused,
    Released,
    Retention,
    RolledBack,
    Turn,
)
from duerow.store.retention import stood_for
from duerow.store.writes import following
from duerow.stores.sql.plans.context import Context, Plans
from duerow.stores.sql.plans.history import HistoryPlans
from duerow.stores.sql.plans.join import JoinPlans
from duerow.stores.sql.plans.promote import PromotePlans
from duerow.stores.sql.plans.push import Item, Place, PushPlans
from duerow.stores.sql.priorities import PriorityLine
from duerow.stores.sql.statements import RECEIPT, OverRows, Step

_ID: Final = attrgetter("id")
_WITH_PAYLOAD: Final = (Moved, Committed)
_WITH_ERROR: Final = (RolledBack, Buried)

_TURN_ID: Final = attrgetter("receipt.id")


class SettlePlans(Plans):
    """Plans that end turns and extend leases.

    Args:
        context: shared by all plans of the store.
        push: adds messages, and finds the holders of keys.
        join: gathers parts into sets.
        history: writes the history, and remembers keys.
        promote: puts the next message of a group in line, and wakes consumers.
    """

    def __init__(
        self, context: Context, push: PushPlans, join: JoinPlans, history: HistoryPlans, promote: PromotePlans
    ) -> None:
        super().__init__(context)
        self._push, self._join, self._history, self._promote = push, join, history, promote

    def extend(self, receipts: Sequence[Receipt], lease: timedelta) -> Plan[dict[Receipt, datetime]]:
        """Extend leases; see MessageStore.extend."""
        context = self.context
        dialect = context.dialect
        chunks = list(context.chunks(sorted({(receipt.id, receipt.token) for receipt in receipts})))
        if len(chunks) > 1 or dialect.writes_alone:
            yield BEGIN
        context.floors.written()
        extended: dict[Receipt, datetime] = {}
        for chunk in chunks:
            more = {"lease": dialect.write_span(lease)}
            for id, token, until in (yield context.given(context.statements.settle.extend, RECEIPT, chunk, more)):
                end = dialect.read_moment(until)
                if end is not None:
                    extended[Receipt(id, token)] = end
        return extended

    def settle(self, turns: Sequence[Turn], keep: Retention | None = None) -> Plan[list[Refused]]:
        """End turns; see MessageStore.settle. Commits take effect first, then other ends, moves, and finally pushes."""
        if keep is None and only_commits(turns):
            if len(turns) <= self.context.dialect.chunk:
                return after_commit(turns, (yield self.commit_step(turns)))
            return (yield from self._commit_many(turns))
        self.context.floors.written()
        by_kind = _by_kind(turns)
        if keep is not None or self._takes_several(turns, len(by_kind)):
            yield BEGIN
        refused: dict[int, DuerowError | None] = dict.fromkeys(range(len(turns)))
        if Joined in by_kind or Closed in by_kind:
            ended, whole = yield from self._join.join(by_kind.pop(Closed, []), by_kind.pop(Joined, []), refused, keep)
            for item in ended:
                by_kind.setdefault(type(item[1].end), []).append(item)
            if whole:  # history gets no turn: the set's message continues as a new one
                yield from self._move(whole, Moved, refused, None)
        for kind in ORDER_OF_EFFECT:
            if items := by_kind.get(kind):
                yield from (self._move if kind is Moved else self.end)(items, kind, refused, keep)
        then = [
            entry
            for items in by_kind.values()
            for place, turn in items
            if place not in refused
            for entry in following(turn.end)
        ]
        if then:
            yield from self._push.add(then, "ignore")
        yield from self._promote.promote_next(
            turn.group for place, turn in enumerate(turns) if turn.group is not None and place not in refused
        )
        yield from self._promote.wake(turn.end.to for _, turn in by_kind.get(Moved, ()) if isinstance(turn.end, Moved))
        return [
            Refused(turns[place].receipt, error or LeaseLost(turns[place].receipt.id))
            for place, error in sorted(refused.items())
        ]

    def commit_step(self, turns: Sequence[Turn]) -> Step:
        """Return the one statement that commits turns that need nothing else, as most do; it has little overhead."""
        receipts = [turn.receipt for turn in turns]
        if len({one.id for one in receipts}) < len(receipts):  # some databases return a row for each of two equals
            receipts = list(set(receipts))
        receipts.sort(key=_ID)
        columns = {"id": [one.id for one in receipts], "token": [one.token for one in receipts]}
        return self.context.columns(self.context.statements.settle.commit, columns)

    def _commit_many(self, turns: Sequence[Turn]) -> Plan[list[Refused]]:
        """Commit more turns than fit in one statement: in one transaction, in the order of id."""
        yield BEGIN
        refused: list[Refused] = []
        for chunk in self.context.chunks(sorted(turns, key=_TURN_ID)):
            refused += after_commit(chunk, (yield self.commit_step(chunk)))
        if refused:  # restore the order of the call
            places = {turn.receipt: place for place, turn in enumerate(turns)}
            refused.sort(key=lambda one: places[one.receipt])
        return refused

    def _takes_several(self, turns: Sequence[Turn], kinds: int) -> bool:
        """Return whether settling these turns takes more than one write."""
        if kinds > 1 or len(turns) > self.context.dialect.chunk or any(turn.group is not None for turn in turns):
            return True
        if isinstance(turns[0].end, Joined | Closed):
            return True
        ends = [turn.end for turn in turns if type(turn.end) is not Committed or turn.end.then]
        return (
            any(isinstance(end, Moved) and end.key is not None for end in ends)
            or any(following(end) for end in ends)
            or sum(_end_size(end) for end in ends) > self.context.dialect.chunk_bytes
        )

    def end(
        self,
        items: Sequence[tuple[int, Turn]],
        kind: type[End],
        refused: dict[int, DuerowError | None],
        keep: Retention | None = None,
    ) -> Plan[None]:
        """End turns of one kind, in the order of id; remove the ended ones from `refused`."""
        statement = self._endings[kind]
        size = None if kind is Released or (kind is Committed and keep is None) else _turn_size
        for chunk in self.context.chunks(sorted(items, key=_by_id), size):
            if keep is not None:
                yield from self._history.keep([turn for _, turn in chunk], keep)
            receipts = [turn.receipt for _, turn in chunk]
            values = {
                "id": [one.id for one in receipts],
                "token": [one.token for one in receipts],
                **self._values([turn.end for _, turn in chunk]),
            }
            ended = {(id, token) for id, token in (yield self.context.columns(statement, values))}
            for (place, _), receipt in zip(chunk, receipts, strict=True):
                if (receipt.id, receipt.token) in ended:
                    refused.pop(place, None)

    @property
    def _endings(self) -> dict[type[End], OverRows]:
        """The statement for each end."""
        settle = self.context.statements.settle
        return {
            Committed: settle.commit,
            RolledBack: settle.roll_back,
            Buried: settle.bury,
            Released: settle.release,
            Moved: settle.move,
        }

    def _values(self, ends: Sequence[Any]) -> dict[str, Sequence[Any]]:
        """Return what the statement for ends of one kind is given in addition to the receipts, column by column."""
        dialect = self.context.dialect
        match ends[0]:
            case Moved():
                self._note_places(ends)
                return {"queue": [end.to for end in ends], **self.context.contents(ends)}
            case RolledBack():
                delays = [dialect.write_span(end.delay) for end in ends]
                return {"delay": delays, "error": [end.error for end in ends]}
            case Buried():
                return {"error": [end.error for end in ends]}
            case Released():
                self.context.floors.lower(min(EPOCH if end.due_at is None else end.due_at for end in ends))
                return {"due": [dialect.write_moment(end.due_at) for end in ends]}
        return {}

    def _note_places(self, ends: Sequence[Moved]) -> None:
        """Tell this process's claims where moved messages will be."""
        context = self.context
        for end in ends:
            if end.due is not None:
                context.floors.lower(end.due)
            if end.priority or end.group is not None:
                context.priorities.add(end.to, [PriorityLine(end.priority, end.group is not None)])

    def _move(
        self,
        items: Sequence[tuple[int, Turn]],
        kind: type[End],
        refused: dict[int, DuerowError | None],
        keep: Retention | None,
    ) -> Plan[None]:
        """Move rows as if one by one in the order of id: most in one write, the others after the moves they depend on.

        If another live message holds the key in the target, `on_duplicate` of the turn decides. A free key is held for
        its move by the same INSERT … ON CONFLICT as in a push: a row is added and deleted again in this transaction,
        so nobody else can add one before the move, and no statement fails. Moves without keys don't depend on others.
        """
        if all(_target(turn).key is None for _, turn in items):
            yield from self.end(items, kind, refused, keep)
            return
        pending = sorted(items, key=_by_id)
        while pending:
            now, later = _first_at_each_place(pending)
            holders = {
                at: record.id for at, record in (yield from self._push.holders(_wish(turn) for _, turn in now)).items()
            }
            # If the holder of a key moves away later in this call, a move to that key still finds it there.
            awaited = {
                holders.get(_place(turn)) for _, turn in pending if turn.receipt.id < holders.get(_place(turn), 0)
            }
            ids = {turn.receipt.id for _, turn in pending}
            free: list[tuple[int, Turn]] = []
            unheld: list[tuple[int, Turn]] = []
            met: list[tuple[int, Turn]] = []
            for item in now:
                id, holder = _by_id(item), holders.get(_place(item[1]))
                if id in awaited or (holder is not None and holder in ids and holder < id):
                    later.append(item)
                elif holder is None and _target(item[1]).key is not None:
                    unheld.append(item)
                else:
                    (free if holder in (None, id) else met).append(item)
            got = yield from self._hold_keys(unheld)
            if free or got:
                yield from self.end([*free, *got], kind, refused, keep)
            for place, turn in met:
                yield from self._merge_into_holder(place, turn, refused, keep)
            pending = sorted([*later, *(item for item in unheld if item not in got)], key=_by_id)

    def _hold_keys(self, items: Sequence[tuple[int, Turn]]) -> Plan[list[tuple[int, Turn]]]:
        """Hold the keys of moves until the end of the transaction; return the moves whose key was still free."""
        context = self.context
        if not items or context.dialect.writes_alone:
            return list(items)
        ids = [row[0] for row in (yield context.step(context.statements.push.next_ids, {"count": len(items)}))]
        held = yield from self._push.insert(
            [Item(0, id, _wish(turn)) for id, (_, turn) in zip(ids, items, strict=True)]
        )
        yield from self._push.take_back(list(held))
        return [item for id, item in zip(ids, items, strict=True) if id in held]

    def _merge_into_holder(
        self, place: int, turn: Turn, refused: dict[int, DuerowError | None], keep: Retention | None
    ) -> Plan[None]:
        """End a move whose key another live message holds: refuse it, or end it as done and change the other."""
        context = self.context
        receipt, target = turn.receipt, _target(turn)
        owned = yield context.given(context.statements.settle.owned, RECEIPT, [(receipt.id, receipt.token)])
        if not owned:
            return
        if target.on_duplicate == "reject":
            refused[place] = DuplicateKey(target.to, [str(target.key)])
            return
        done = Turn(receipt, Committed(why=stood_for(target.to, str(target.key))))
        yield from self.end([(place, done)], Committed, refused, keep)
        if target.on_duplicate != "ignore":
            record = context.dialect.record(owned[0])
            payload = record.payload if target.payload is None else target.payload
            entry = Entry(
                target.to,
                target.key,
                target.kind or record.kind,
                payload,
                target.headers,
                target.due,
                target.delay,
                target.group,
                target.priority,
            )
            yield from self._push.push_wave([Item(0, 0, entry)], target.on_duplicate, {})


def only_commits(turns: Sequence[Turn]) -> bool:
    """Return whether all that these turns need is to remove their rows."""
    return all(type(turn.end) is Committed and turn.group is None and not turn.end.then for turn in turns)


def after_commit(turns: Sequence[Turn], rows: Sequence[Sequence[Any]]) -> list[Refused]:
    """Return the turns that were refused, given the receipts of the rows that `commit_step` removed."""
    if len(rows) == len(turns):  # each row is returned once
        return []
    ended = {(id, token) for id, token in rows}
    refused: list[Refused] = []
    for turn in turns:
        receipt = (turn.receipt.id, turn.receipt.token)
        if receipt in ended:
            ended.remove(receipt)  # a receipt given twice ends one turn
        else:
            refused.append(Refused(turn.receipt, LeaseLost(turn.receipt.id)))
    return refused


def _by_kind(turns: Sequence[Turn]) -> dict[type[End], list[tuple[int, Turn]]]:
    """Return turns with their places, by kind of end; if a receipt occurs twice, only its first turn counts."""
    by_kind: dict[type[End], list[tuple[int, Turn]]] = {}
    for place, turn in enumerate(turns):
        by_kind.setdefault(type(turn.end), []).append((place, turn))
    used: set[Receipt] = set()
    for kind in ORDER_OF_EFFECT:
        items: list[tuple[int, Turn]] = []
        for place, turn in by_kind.get(kind, ()):
            if turn.receipt not in used:
                used.add(turn.receipt)
                items.append((place, turn))
        if items:
            by_kind[kind] = items
        else:
            by_kind.pop(kind, None)
    return by_kind


def _target(turn: Turn) -> Moved:
    if not isinstance(turn.end, Moved):
        raise AssertionError(f"{turn} is no move")
    return turn.end


def _place(turn: Turn) -> Place:
    """Return the target queue and key of a move."""
    return (_target(turn).to, _target(turn).key)


def _first_at_each_place(items: Sequence[tuple[int, Turn]]) -> tuple[list[tuple[int, Turn]], list[tuple[int, Turn]]]:
    """Split moves into the first for each key, together with all moves without keys, and the others."""
    first: list[tuple[int, Turn]] = []
    others: list[tuple[int, Turn]] = []
    taken: set[Place] = set()
    for item in items:
        place = _place(item[1])
        (others if place in taken else first).append(item)
        if place[1] is not None:
            taken.add(place)
    return first, others


def _wish(turn: Turn) -> Entry:
    """Return the equivalent push into the target of a move."""
    end = _target(turn)
    kind, payload = end.kind or "json", end.payload or "null"
    return Entry(end.to, end.key, kind, payload, end.headers, end.due, end.delay, end.group, end.priority)


def _by_id(item: tuple[int, Turn]) -> int:
    return item[1].receipt.id


def _turn_size(item: tuple[int, Turn]) -> int:
    return _end_size(item[1].end)


def _end_size(end: End) -> int:
    if isinstance(end, _WITH_PAYLOAD):
        return len(end.payload or "") + len(end.headers or "")
    return len(end.error or "") if isinstance(end, _WITH_ERROR) else 0
