"""Change and remove messages for operators."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from duerow.errors import DuerowError, DuplicateKey, LeaseLost, MessageLeased
from duerow.message import LIVE
from duerow.plan import BEGIN, Plan
from duerow.reservation import Receipt
from duerow.store import Change, Entry, Query, Record, Refused, Removal, Retention
from duerow.stores.sql.plans.context import Context, Plans
from duerow.stores.sql.plans.history import HistoryPlans
from duerow.stores.sql.plans.promote import PromotePlans
from duerow.stores.sql.plans.push import Item, PushPlans
from duerow.stores.sql.plans.read import ReadPlans
from duerow.stores.sql.priorities import PriorityLine
from duerow.stores.sql.statements import CHANGED, RECEIPT


class ChangePlans(Plans):
    """Plans that change messages.

    Args:
        context: shared by all plans of the store.
        push: adds messages, and finds the holders of keys.
        read: reads messages.
        history: writes the history, and remembers keys.
        promote: puts the next message of a group in line, and wakes consumers.
    """

    def __init__(
        self, context: Context, push: PushPlans, read: ReadPlans, history: HistoryPlans, promote: PromotePlans
    ) -> None:
        super().__init__(context)
        self._push, self._read, self._history, self._promote = push, read, history, promote

    def change(self, queue: str, changes: Sequence[Change], even_if_leased: bool, dry_run: bool) -> Plan[list[Refused]]:
        """Change messages; see OperationStore.change."""
        yield BEGIN
        reviving = sorted((change for change in changes if change.revives), key=_id)
        if dry_run:
            taken = yield from self._taken(queue, reviving)
            possible = [change for change in changes if change.receipt not in taken]
            changed = yield from self._changeable(queue, possible, even_if_leased)
        else:
            self.context.floors.written()
            taken = yield from self._hold_keys_again(queue, reviving)
            possible = [change for change in changes if change.receipt not in taken]
            changed = yield from self._change_all(queue, possible, even_if_leased)
        left = [change for change in changes if change.record.id not in changed]
        return (yield from self._refused(queue, left, taken)) if left else []

    def _changeable(self, queue: str, changes: Sequence[Change], even_if_leased: bool) -> Plan[set[int]]:
        """Return the ids of the messages that the changes would affect."""
        context = self.context
        found: set[int] = set()
        more = {"queue_in": queue, "even_if_leased": even_if_leased}
        for chunk in context.chunks(sorted(changes, key=_id)):
            rows = [(change.record.id, change.record.token) for change in chunk]
            found.update(
                row[0] for row in (yield context.given(context.statements.change.changeable, RECEIPT, rows, more))
            )
        return found

    def _change_all(self, queue: str, changes: Sequence[Change], even_if_leased: bool) -> Plan[set[int]]:
        """Change messages; return the ids of those that were changed."""
        by_parts: dict[frozenset[str], list[Change]] = {}
        for change in changes:
            self._note_place(change)
            by_parts.setdefault(_parts(change), []).append(change)
        changed: set[int] = set()
        for parts, alike in by_parts.items():
            for chunk in self.context.chunks(sorted(alike, key=_id), _size):
                changed |= yield from self._change(queue, parts, chunk, even_if_leased)
        groups = {change.record.group for change in changes if change.record.id in changed}
        yield from self._promote.promote_next((queue, group) for group in groups if group is not None)
        yield from self._promote.wake([queue] if changed else [])
        return changed

    def _change(
        self, queue: str, parts: frozenset[str], changes: Sequence[Change], even_if_leased: bool
    ) -> Plan[set[int]]:
        """Change the same parts of all given messages; return the ids of those that were changed."""
        names = [name for part in CHANGED if part in parts for name in CHANGED[part]]
        rows = [
            (change.record.id, change.record.token, *(self._value(change, name) for name in names))
            for change in changes
        ]
        more = {"queue_in": queue, "even_if_leased": even_if_leased}
        return {
            row[0]
            for row in (
                yield self.context.given(self.context.statements.change.change(parts), (*RECEIPT, *names), rows, more)
            )
        }

    def _value(self, change: Change, name: str) -> Any:
        value = getattr(change, name)
        match name:
            case "due":
                return self.context.dialect.write_moment(value) if isinstance(value, datetime) else None
            case "delay":
                return self.context.dialect.write_span(value) if value else None
        return value

    def _note_place(self, change: Change) -> None:
        """Tell this process's claims where the message will be."""
        record = change.record
        priority = change.priority if isinstance(change.priority, int) else record.priority
        if priority or record.group is not None:
            self.context.priorities.add(record.queue, [PriorityLine(priority, record.group is not None)])
        self.context.floors.lower(change.due if isinstance(change.due, datetime) else record.due_at)

    def _taken(self, queue: str, reviving: Sequence[Change]) -> Plan[dict[Receipt, DuerowError]]:
        """Return the dead messages that cannot be revived because their key is taken, possibly by an earlier one."""
        first, taken = _first_of_keys(queue, reviving)
        held = yield from self._push.holder_ids((queue, key) for key in first)
        return taken | {first[key].receipt: DuplicateKey(queue, [key]) for key in first if (queue, key) in held}

    def _hold_keys_again(self, queue: str, reviving: Sequence[Change]) -> Plan[dict[Receipt, DuerowError]]:
        """Hold the keys of dead messages that are about to be revived; return those whose key is taken.

        As for a move, a free key is held by adding a row and deleting it again in this transaction.
        """
        context = self.context
        if context.dialect.writes_alone:
            return (yield from self._taken(queue, reviving))
        first, taken = _first_of_keys(queue, reviving)
        if not first:
            return taken
        ids = [row[0] for row in (yield context.step(context.statements.push.next_ids, {"count": len(first)}))]
        items = [Item(0, id, _wish(queue, key)) for id, key in zip(ids, sorted(first), strict=True)]
        held = yield from self._push.insert(items)
        yield from self._push.take_back(list(held))
        free = {item.entry.key for item in items if item.id in held}
        return taken | {first[key].receipt: DuplicateKey(queue, [key]) for key in first if key not in free}

    def _refused(self, queue: str, changes: Sequence[Change], taken: dict[Receipt, DuerowError]) -> Plan[list[Refused]]:
        """Return the reason for each message that was not changed: a new token, a taken key, or a lease."""
        holders: dict[Receipt, str | None] = {}
        for chunk in self.context.chunks(changes):
            query = Query(queue, ids=tuple(map(_id, chunk)), by_id=True, limit=len(chunk))
            for record in (yield from self._read.find(query)):
                holders[Receipt(record.id, record.token)] = record.leased_by
        refused: list[Refused] = []
        for change in changes:
            receipt = change.receipt
            error: DuerowError = LeaseLost(receipt.id)
            if receipt in holders:
                error = taken.get(receipt) or MessageLeased(receipt.id, holders[receipt])
            refused.append(Refused(receipt, error))
        return refused

    def remove(
        self, queue: str, ids: Sequence[int], keys: Sequence[str], even_if_leased: bool, keep: Retention | None = None
    ) -> Plan[Removal]:
        """Remove messages; see OperationStore.remove."""
        context = self.context
        yield BEGIN
        found: dict[int, Record] = {}
        queries = [Query(queue, ids=tuple(chunk), by_id=True, limit=len(chunk)) for chunk in context.chunks(ids)]
        queries += [Query(queue, keys=tuple(chunk), statuses=LIVE, limit=len(chunk)) for chunk in context.chunks(keys)]
        for query in queries:
            for record in (yield from self._read.find(query)):
                found[record.id] = record
        removed: set[int] = set()
        for chunk in context.chunks(sorted(found)):
            more = {"queue_in": queue, "even_if_leased": even_if_leased}
            rows = yield context.given(context.statements.change.remove, ("id",), [(id,) for id in chunk], more)
            removed.update(row[0] for row in rows)
        yield from self._promote.promote_next(
            (queue, group) for id in removed if (group := found[id].group) is not None and found[id].status in LIVE
        )
        if any(found[id].leased_by is not None for id in removed):
            yield from self._promote.tell_cancelled(queue)
        yield from self._history.remember([(queue, found[id].key, id) for id in sorted(removed)], keep)
        left = [(id, found[id].leased_by or "a consumer") for id in sorted(found) if id not in removed]
        return Removal(sorted(removed), left)

    def purge(self, queue: str, limit: int, last: int) -> Plan[int]:
        """Delete messages in any state; see OperationStore.purge."""
        bound = {"queue_in": queue, "limit_in": limit, "last_in": last}
        return len((yield self.context.step(self.context.statements.change.purge, bound)))


def _first_of_keys(queue: str, reviving: Sequence[Change]) -> tuple[dict[str, Change], dict[Receipt, DuerowError]]:
    """Return the first message for each key, and the refusals of the others, whose key is then taken."""
    first: dict[str, Change] = {}
    taken: dict[Receipt, DuerowError] = {}
    for change in reviving:
        key = change.record.key
        if key is not None and first.setdefault(key, change) is not change:
            taken[change.receipt] = DuplicateKey(queue, [key])
    return first, taken


def _wish(queue: str, key: str) -> Entry:
    return Entry(queue, key, "json", "null", None, None, None)


def _parts(change: Change) -> frozenset[str]:
    """Return the parts, as named in CHANGED, that a change affects."""
    parts = {
        "payload": isinstance(change.payload, str),
        "headers": change.headers is None or isinstance(change.headers, str),
        "priority": isinstance(change.priority, int),
        "due": isinstance(change.due, datetime) or isinstance(change.delay, timedelta),
        "stopped": change.due is None,
        "anew": change.anew,
    }
    return frozenset(part for part, changed in parts.items() if changed)


def _id(change: Change) -> int:
    return change.record.id


def _size(change: Change) -> int:
    return len(change.payload) if isinstance(change.payload, str) else 0
