"""Gather parts into sets, and turn complete sets into messages, under the locks of the sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

from duerow.errors import DuerowError
from duerow.payload import codec
from duerow.plan import Plan
from duerow.reservation import Receipt
from duerow.store import Closed, Committed, Entry, Joined, Moved, Record, Retention, Turn
from duerow.store.join_sets import is_complete, open_text, part_headers, part_text, whole_text
from duerow.stores.sql.plans.context import Context, Plans
from duerow.stores.sql.plans.push import PushPlans
from duerow.stores.sql.statements import RECEIPT

Placed = tuple[int, Turn]
"""A turn and its place in the call; NOWHERE for a turn that the caller did not ask for."""

SetPlace = tuple[str, str]
"""The queue of a set, and its correlation."""

NOWHERE: Final = -1

PRUNED_AT_ONCE: Final = 20
"""Whenever a call completes sets, it prunes this many more expired sets than it completes."""

_CONSUMED: Final = Committed()


class _Set:
    """A set that parts are joining.

    Args:
        place: its queue and correlation.
        id: the id of its message; None: it has no message yet.
        count: the number of its parts in the table.
        closed: whether an earlier completion is still remembered.
    """

    def __init__(self, place: SetPlace, id: int | None, count: int, closed: bool) -> None:
        self.place, self.id, self.count, self.closed = place, id, count, closed
        self.token = 0
        self.kept: dict[int, str] = {}
        self.new: dict[int, str] = {}
        self.within = self.remember = timedelta(0)
        self.whole: list[tuple[Receipt | None, list[str]]] = []
        self.pushed: list[int] = []

    @property
    def messages(self) -> list[int]:
        """The ids of its messages in this call, once written: one for each completion, and the current one."""
        pushed = iter(self.pushed)
        ids = [next(pushed) if receipt is None else receipt.id for receipt, _ in self.whole]
        return ids if self.id is None else [*ids, self.id]

    @property
    def size(self) -> int:
        """The number of its parts."""
        return self.count + len(self.new)

    def take(self, record: Record, join: Joined) -> int:
        """Add a part; this may complete the set, and then the next part begins a new one.

        Return the index in `messages` of the message to which the part belongs.

        Raises:
            DuerowError: the predicate raised it; the part was not added.
        """
        text, place = part_text(record), len(self.whole)
        complete = is_complete(join, self.size + 1, lambda: self._texts_with(record.id, text))
        if not self.size:
            self.within, self.closed = join.within, False
        self.new[record.id] = text
        if complete:
            texts = self._texts_with(record.id, text)
            self.whole.append((None if self.id is None else Receipt(self.id, self.token), texts))
            self.close(join.remembered)
        return place

    def close(self, remember: timedelta | None) -> None:
        """Mark the set as complete: parts within `remember` are late, and any later part begins a new set."""
        self.id, self.count, self.kept, self.new = None, 0, {}, {}
        self.closed, self.remember = bool(remember), remember or timedelta(0)

    def _texts_with(self, id: int, text: str) -> list[str]:
        """Return the texts of its parts and one more, in the order of ids; parts in the table must have been read."""
        parts = {**self.kept, **self.new, id: text}
        return [parts[id] for id in sorted(parts)]


class JoinPlans(Plans):
    """Plans for the turns of parts and of due sets.

    Args:
        context: shared by all plans of the store.
        push: adds messages, and finds the holders of keys.
    """

    def __init__(self, context: Context, push: PushPlans) -> None:
        super().__init__(context)
        self._push = push

    def join(
        self,
        closed: Sequence[Placed],
        joined: Sequence[Placed],
        refused: dict[int, DuerowError | None],
        keep: Retention | None,
    ) -> Plan[tuple[list[Placed], list[Placed]]]:
        """Complete the sets whose time is up, and add messages to sets.

        Return how the turns of parts end, and the turns that complete the messages of sets.
        """
        ended: list[Placed] = []
        whole: list[Placed] = []
        if closed:
            whole += yield from self._close(closed)
        if joined:
            turns, more = yield from self._gather(joined, refused, keep)
            ended += turns
            whole += more
        return ended, whole

    def _close(self, items: Sequence[Placed]) -> Plan[list[Placed]]:
        """Complete sets with the parts that have arrived; return how the turns of their messages end."""
        ends = {turn.receipt: (place, turn.end) for place, turn in items if isinstance(turn.end, Closed)}
        sets = yield from self._lock_sets((end.sets, end.correlation) for _, end in ends.values())
        records = yield from self._owned(list(ends))
        parts = yield from self._parts([receipt.id for receipt in records])
        turns: list[Placed] = []
        for receipt in records:
            place, end = ends[receipt]
            one = sets[end.sets, end.correlation]
            kept = parts.get(receipt.id, {})
            turns.append((place, Turn(receipt, _whole(one.place, [kept[id] for id in sorted(kept)]))))
            if one.id in (receipt.id, None):
                one.close(end.remember)
        yield from self._delete_parts([receipt.id for receipt in records])
        yield from self._note(list(sets.values()))
        return turns

    def _gather(
        self, items: Sequence[Placed], refused: dict[int, DuerowError | None], keep: Retention | None
    ) -> Plan[tuple[list[Placed], list[Placed]]]:
        """Turn messages into parts of sets; return how their turns end, and the turns that complete sets."""
        joins = {turn.receipt: (place, turn.end) for place, turn in items if isinstance(turn.end, Joined)}
        sets = yield from self._lock_sets((join.sets, join.correlation) for _, join in joins.values())
        gone = yield from self._look_for_messages(sets.values())
        records = yield from self._owned(list(joins))
        read = _to_be_read(sets, [joins[receipt][1] for receipt in records])
        for id, kept in (yield from self._parts([one.id for one in read if one.id is not None])).items():
            next(one for one in read if one.id == id).kept = kept
        turns: list[Placed] = []
        taken: list[tuple[int, Record, _Set, int]] = []
        for receipt in sorted(records, key=lambda receipt: receipt.id):
            place, join = joins[receipt]
            one = sets[join.sets, join.correlation]
            if one.closed and join.late is not None:
                turns.append((place, Turn(receipt, join.late)))
            elif one.size >= join.limit:
                turns.append((place, Turn(receipt, join.full)))
            else:
                try:
                    number = one.take(records[receipt], join)
                except DuerowError as error:
                    refused[place] = error
                else:
                    taken.append((place, records[receipt], one, number))
        whole = _of_whole(sets.values())
        yield from self._delete_parts([*gone, *(turn.receipt.id for _, turn in whole)])
        yield from self._write_sets(list(sets.values()))
        told = keep is not None and keep.history is not None
        turns += [
            (place, Turn(Receipt(record.id, record.token), _part(record, one, number) if told else _CONSUMED))
            for place, record, one, number in taken
        ]
        return turns, whole

    def _lock_sets(self, places: Iterable[SetPlace]) -> Plan[dict[SetPlace, _Set]]:
        """Lock the rows of sets, always in the same order, and read their state."""
        context = self.context
        sets: dict[SetPlace, _Set] = {}
        for chunk in context.chunks(sorted(set(places))):
            rows = yield context.given(context.statements.join.lock_sets, ("queue", "correlation"), chunk)
            for queue, correlation, id, count, closed in rows:
                sets[queue, correlation] = _Set((queue, correlation), id, count, bool(closed))
        return sets

    def _look_for_messages(self, sets: Iterable[_Set]) -> Plan[list[int]]:
        """Read the tokens of the sets' messages; restart sets whose message was removed, and return those ids."""
        context = self.context
        by_id = {one.id: one for one in sets if one.id is not None}
        found: set[int] = set()
        for chunk in context.chunks(sorted((id, one.place[0]) for id, one in by_id.items())):
            for id, token in (yield context.given(context.statements.join.standing_sets, ("id", "queue"), chunk)):
                by_id[id].token = token
                found.add(id)
        gone = [id for id in by_id if id not in found]
        for id in gone:
            by_id[id].id, by_id[id].count = None, 0
        return gone

    def _owned(self, receipts: Sequence[Receipt]) -> Plan[dict[Receipt, Record]]:
        """Lock the messages whose token still matches their receipt, and read them."""
        context = self.context
        owned: dict[Receipt, Record] = {}
        for chunk in context.chunks(sorted((receipt.id, receipt.token) for receipt in receipts)):
            for row in (yield context.given(context.statements.settle.owned, RECEIPT, chunk)):
                record = context.dialect.record(row)
                owned[Receipt(record.id, record.token)] = record
        return owned

    def _parts(self, ids: Sequence[int]) -> Plan[dict[int, dict[int, str]]]:
        """Read the parts of sets: for the id of each set's message, the texts of its parts by id."""
        context = self.context
        parts: dict[int, dict[int, str]] = {}
        for chunk in context.chunks(sorted(ids)):
            for set_id, part_id, content in (
                yield context.given(context.statements.join.parts, ("id",), [(id,) for id in chunk])
            ):
                parts.setdefault(set_id, {})[part_id] = content
        return parts

    def _delete_parts(self, ids: Sequence[int]) -> Plan[None]:
        context = self.context
        for chunk in context.chunks(sorted(ids)):
            yield context.given(context.statements.join.delete_parts, ("set_id",), [(id,) for id in chunk])

    def _write_sets(self, sets: Sequence[_Set]) -> Plan[None]:
        """Write the new state of sets: missing messages, new parts, and the rows of the sets."""
        context = self.context
        begun = [one for one in sets if one.id is None and one.new]
        whole = [_pushed_whole(one.place, texts) for one in sets for receipt, texts in one.whole if receipt is None]
        if begun or whole:
            pushed = yield from self._push.add([*map(_standing, begun), *whole], "ignore")
            ids = iter([message.id for message in pushed])
            for one in begun:
                one.id = next(ids)
            for one in sets:
                one.pushed = [next(ids) for receipt, _ in one.whole if receipt is None]
        rows = [(one.id, id, text) for one in sets for id, text in one.new.items()]
        for chunk in context.chunks(rows, lambda row: len(row[2])):
            yield context.given(context.statements.join.insert_parts, ("set_id", "part_id", "content"), chunk)
        for one in sets:
            one.count = one.size
        yield from self._note(sets)

    def _note(self, sets: Sequence[_Set]) -> Plan[None]:
        """Write the rows of sets; delete those of sets with neither parts nor a completion to remember."""
        context = self.context
        statements = context.statements
        forgotten = [one.place for one in sets if one.id is None and not one.closed]
        for chunk in context.chunks(sorted(forgotten)):
            yield context.given(statements.join.forget_sets, ("queue", "correlation"), chunk)
        # A set that was complete before this call keeps its row unchanged.
        kept = [one for one in sets if one.id is not None or (one.closed and one.remember)]
        names = ("queue", "correlation", "set_id", "parts", "remember")
        rows = [(*one.place, one.id, one.count, self._remembered_for(one)) for one in kept]
        for noted in context.chunks(sorted(rows, key=lambda row: row[:2])):
            yield context.given(statements.join.note_sets, names, noted)
        if closed := sum(one.id is None for one in kept):
            yield context.step(statements.join.prune_sets, {"limit_in": closed + PRUNED_AT_ONCE})

    def _remembered_for(self, one: _Set) -> object:
        return self.context.dialect.write_span(one.remember) if one.id is None else None


def _to_be_read(sets: dict[SetPlace, _Set], joins: Sequence[Joined]) -> list[_Set]:
    """Return the sets whose stored parts have to be read: a predicate checks them, or they may become complete."""
    coming: dict[SetPlace, int] = {}
    for join in joins:
        place = (join.sets, join.correlation)
        coming[place] = coming.get(place, 0) + 1
    read: dict[SetPlace, _Set] = {}
    for join in joins:
        place = (join.sets, join.correlation)
        one = sets[place]
        may_be_complete = join.count is not None and one.count + coming[place] >= join.count
        if one.count and (join.complete is not None or may_be_complete):
            read[place] = one
    return list(read.values())


def _part(record: Record, one: _Set, number: int) -> Committed:
    """Return how the turn of a part ends, with its headers for history."""
    return Committed(moved_to=one.place[0], headers=part_headers(record.headers, one.messages[number]))


def _of_whole(sets: Iterable[_Set]) -> list[Placed]:
    """Return the turns that replace the content of sets' messages with the parts."""
    return [
        (NOWHERE, Turn(receipt, _whole(one.place, texts)))
        for one in sets
        for receipt, texts in one.whole
        if receipt is not None
    ]


def _whole(place: SetPlace, texts: Sequence[str]) -> Moved:
    queue, correlation = place
    return Moved(queue, whole_text(correlation, texts), codec.JSON, None, None, None, None, "ignore")


def _pushed_whole(place: SetPlace, texts: Sequence[str]) -> Entry:
    queue, correlation = place
    return Entry(queue, None, codec.JSON, whole_text(correlation, texts), None, None, None)


def _standing(one: _Set) -> Entry:
    queue, correlation = one.place
    return Entry(queue, None, codec.JSON, open_text(correlation), None, None, one.within)
