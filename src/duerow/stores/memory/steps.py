"""The steps of the in-memory store: one function for each verb, called with the state and the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby, islice
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from duerow.conditions.fields import Path
from duerow.conditions.model import Condition
from duerow.errors import DuerowError, DuplicateKey, LeaseLost, MessageLeased, QueueDraining
from duerow.message import LIVE, OnDuplicate, Outcome, Pushed
from duerow.reservation import Receipt
from duerow.store import (
    Change,
    Consumer,
    Entry,
    GivenUp,
    Inspection,
    Order,
    Query,
    QueueSettings,
    QueueStats,
    Record,
    Refused,
    Removal,
    Reserved,
    Retention,
    Scan,
    Tally,
    cancellations,
)
from duerow.stores.memory import history
from duerow.stores.memory.conditions import at, holds
from duerow.stores.memory.state import State
from duerow.stores.records import (
    altered,
    as_dead_letter,
    created,
    dead,
    ended_lease,
    lease_runs,
    lent,
    met,
    settled,
    unleased,
)

Step = Callable[[State, datetime], Any]
"""A step of a plan: a function that is called with the state and the time, and returns the answer."""


def push(
    state: State, now: datetime, entries: Sequence[Entry], on_duplicate: OnDuplicate, remembered: bool = False
) -> list[Pushed]:
    """Add messages in order, so that each sees the keys of those before it."""
    former: dict[tuple[str, str | None], int] = {}
    if remembered:
        former = {
            (one.queue, one.key): id_ for one in entries if (id_ := history.former(state, now, one.queue, one.key))
        }
    if on_duplicate == "reject":
        _refuse_taken_keys(state, entries, former, remembered)
    pushed = [_push(state, now, entry, on_duplicate, former.get((entry.queue, entry.key))) for entry in entries]
    if remembered:
        history.taken_again(
            state, [entry for entry, one in zip(entries, pushed, strict=True) if one.outcome == "created"]
        )
    return pushed


def push_new(
    state: State, now: datetime, entries: Sequence[Entry], on_duplicate: OnDuplicate, remembered: bool = False
) -> list[Pushed]:
    """Add messages, unless one of their queues is being drained."""
    for entry in entries:
        if entry.queue in state.draining:
            raise QueueDraining(entry.queue)
    return push(state, now, entries, on_duplicate, remembered)


def merge_into_holder(state: State, now: datetime, held: Record, entry: Entry, on_duplicate: OnDuplicate) -> Outcome:
    """Apply a push to the live message that holds its key; return that message; see `records.met`."""
    after = met(now, held, entry, on_duplicate)
    if after is None:
        return "ignored"
    state.put(after)
    return "updated"


def reserve(
    state: State,
    now: datetime,
    queue: str,
    limit: int,
    lease: timedelta,
    attempts: int | None,
    consumer: str,
    dead_letter: str | None,
    keep: Retention | None,
    kinds: Collection[str] | None = None,
) -> Reserved:
    """Reserve the first `limit` messages in line; bury those whose expired lease was their last attempt."""
    lent: list[Record] = []
    buried: list[GivenUp] = []
    turns = _in_turn(state, now, queue, attempts, keep, kinds)
    # Visit no more lines than needed: visiting a line ends the turns with expired leases in it.
    while len(lent) < limit and (record := next(turns, None)) is not None:
        if record.leased_until is not None:
            error = ended_lease(record, attempts)
            used_up = attempts is not None and record.attempts >= attempts
            history.lapsed(state, now, record, error, used_up, dead_letter, keep)
            record = replace(record, last_error=error)
            if used_up:
                state.put(dead(record) if dead_letter is None else as_dead_letter(now, record, dead_letter))
                buried.append(GivenUp(record.id, record.key, record.attempts, record.last_error))
                continue
        lent.append(_lend(state, now, record, lease, consumer))
    return Reserved(lent, buried)


def extend(state: State, now: datetime, receipts: Sequence[Receipt], lease: timedelta) -> dict[Receipt, datetime]:
    """Extend leases, and with them the due times, to now + lease."""
    until = now + lease
    ours = {receipt: record for receipt in receipts if (record := lent_on(state, receipt)) is not None}
    for record in ours.values():
        state.put(replace(record, due_at=until, leased_until=until))
    return dict.fromkeys(ours, until)


def pop(
    state: State,
    now: datetime,
    queue: str,
    limit: int,
    keep: Retention | None,
    kinds: Collection[str] | None,
) -> list[Record]:
    """Remove and return the first `limit` messages in line, without leases."""
    taken: list[Record] = []
    turns = _in_turn(state, now, queue, None, keep, kinds)
    # Visit no more lines than needed: visiting a line ends the turns with expired leases in it.
    while len(taken) < limit and (record := next(turns, None)) is not None:
        if record.leased_until is not None:
            history.lapsed(state, now, record, ended_lease(record, None), False, None, keep)
        state.drop(record.id)
        handed = replace(unleased(record), attempts=record.attempts + 1, last_attempt_at=now)
        history.popped(state, now, record, handed, keep)
        taken.append(handed)
    return taken


def remove(
    state: State,
    now: datetime,
    queue: str,
    ids: Sequence[int],
    keys: Sequence[str],
    even_if_leased: bool,
    keep: Retention | None,
) -> Removal:
    """Remove messages of this queue by id, and live ones by key, unless they are leased."""
    named = {record.id: record for record in _by_id(state, ids) if record.queue == queue}
    named |= {record.id: record for key in keys if (record := state.holder(queue, key)) is not None}
    removal = Removal([], [])
    for id_, record in sorted(named.items()):
        if record.leased_by is not None and lease_runs(record, now) and not even_if_leased:
            removal.leased.append((id_, record.leased_by))
        else:
            state.drop(id_)
            if record.leased_by is not None:
                state.tell(cancellations(queue))
            history.left(state, now, record, keep)
            removal.removed.append(id_)
    return removal


def peek(state: State, now: datetime, queue: str, limit: int) -> list[Record]:
    """Read the first messages in line that could be handed out."""
    due = state.in_time(state.due(queue, now))
    return list(islice((record for record in due if state.has_turn(record)), limit))


def find(state: State, now: datetime, query: Query) -> list[Record]:
    """Return the messages that match a query, in its order."""
    records: Iterable[Record] = state.records.values() if query.ids is None else _by_id(state, query.ids)
    if query.ids is None and query.keys is None:
        records = state.in_time(records)
    found = [record for record in records if _fits(record, query)]
    found.sort(key=_in_line)
    if query.by_id:
        found.sort(key=lambda record: record.id)
    if query.order is not None:
        found = _in_order(found, query.order)
    return found[: query.limit]


def scan(state: State, now: datetime, query: Scan) -> list[Record]:
    """Return the messages that match a scan, ordered by id."""
    found = [record for record in state.records.values() if _is_scanned(record, query)]
    found.sort(key=lambda record: record.id, reverse=query.descending)
    return found[: query.limit]


def put_settings(
    state: State, now: datetime, queue: str, paused: bool | None, draining: bool | None, definition: str | None
) -> None:
    """Change the given settings of a queue; leave the others alone."""
    for flagged, flag in ((state.paused, paused), (state.draining, draining)):
        if flag is not None:
            (flagged.add if flag else flagged.discard)(queue)
    if definition is not None:
        state.definitions[queue] = definition
    state.known.add(queue)


def settings(state: State, now: datetime, queue: str | None) -> list[QueueSettings]:
    """Return the settings of one queue or of all queues."""
    names = state.known if queue is None else state.known & {queue}
    return [
        QueueSettings(name, state.definitions.get(name), name in state.paused, name in state.draining)
        for name in sorted(names)
    ]


def note_consumer(
    state: State, now: datetime, name: str, queues: Sequence[str], kinds: Sequence[str], version: str
) -> None:
    """Record that a consumer is alive, and forget those not seen for a day."""
    state.consumers[name] = Consumer(name, tuple(queues), tuple(kinds), version, now)
    state.consumers = {name: one for name, one in state.consumers.items() if now - one.seen_at <= timedelta(days=1)}


def purge(state: State, now: datetime, queue: str, limit: int, last: int) -> int:
    """Delete up to `limit` messages of a queue, in any state."""
    old = (record.id for record in state.records.values() if record.queue == queue and record.id <= last)
    ids = list(islice(old, limit))
    for id_ in ids:
        state.drop(id_)
    return len(ids)


def queue_stats(state: State, now: datetime, queue: str, cap: int | None) -> QueueStats:
    """Count the messages of a queue by state, such as ready or delayed."""
    numbers: Counter[str] = Counter()
    dues: dict[str, list[datetime]] = {"ready": [], "later": []}
    for record in state.in_time(state.records.values()):
        if record.queue != queue:
            continue
        if record.due_at is None:
            numbers["dead" if record.status == "dead" else "stopped"] += 1
        elif record.group is not None and _is_behind(state, record):
            numbers["waiting"] += 1
        else:
            ready = record.due_at <= now
            numbers["ready" if ready else "leased" if record.leased_by else "delayed"] += 1
            dues["ready" if ready else "later"].append(record.due_at)
    names = ("ready", "delayed", "leased", "waiting", "stopped", "dead")
    counted = {name: numbers[name] if cap is None else min(numbers[name], cap) for name in names}
    oldest, following = min(dues["ready"], default=None), min(dues["later"], default=None)
    return QueueStats(**counted, oldest_due_at=oldest, next_due_at=following, paused=queue in state.paused)


def inspect(state: State, now: datetime, queue: str, id: int | None, key: str | None) -> Inspection | None:
    """Return a message and what prevents its delivery."""
    record = state.holder(queue, key) if id is None else state.records.get(id)
    if record is None or record.queue != queue:
        return None
    return Inspection(now, record, state.blocker(record), queue in state.paused, consumers(state, now))


def _is_behind(state: State, record: Record) -> bool:
    return record.leased_by is None and state.blocker(record) is not None


def change(
    state: State, now: datetime, queue: str, changes: Sequence[Change], even_if_leased: bool, dry_run: bool
) -> list[Refused]:
    """Change messages in order, so that each sees the keys set before it."""
    refused: list[Refused] = []
    before = state.mark()
    for one in changes:
        record = lent_on(state, one.receipt)
        error = _refusal(state, now, queue, record, one, even_if_leased)
        if record is None or error is not None:
            refused.append(Refused(one.receipt, error or LeaseLost(one.receipt.id)))
        else:
            state.put(altered(now, record, one))
    if dry_run:
        state.undo(before)
    return refused


def _refusal(
    state: State, now: datetime, queue: str, record: Record | None, change: Change, even_if_leased: bool
) -> DuerowError | None:
    if record is None or record.queue != queue or record.status == "done":
        return LeaseLost(change.receipt.id)
    if lease_runs(record, now) and not even_if_leased:
        return MessageLeased(record.id, record.leased_by)
    if change.revives and record.key is not None and state.holder(queue, record.key) is not None:
        return DuplicateKey(queue, [record.key])
    return None


def tally(
    state: State, now: datetime, queue: str, where: Condition | None, by: Path | None, limit: int | None
) -> Tally:
    """Count the messages of a queue that match a condition by their value at a path."""
    found = (
        record
        for record in state.in_time(state.records.values())
        if record.queue == queue and (where is None or holds(where, record))
    )
    counted = found if limit is None else islice(found, limit + 1)
    return [(None if by is None else at(record, by), 1) for record in counted]


def count(state: State, now: datetime, queue: str) -> dict[str, int]:
    """Count the messages of a queue by status."""
    return dict(Counter(one.status for one in state.in_time(state.records.values()) if one.queue == queue))


def queues(state: State, now: datetime, with_empty: bool) -> list[str]:
    """List all known queues, ordered by name."""
    found = {record.queue for record in state.records.values()}
    if with_empty:
        found |= {turn.queue for turn, _ in state.past.values()} | {queue for queue, _ in state.remembered}
        found |= {queue for queue, *_ in state.counted} | set(state.lifetimes)
    return sorted(found)


def consumers(state: State, now: datetime) -> list[Consumer]:
    """List the recorded consumers."""
    return sorted(state.consumers.values(), key=lambda one: one.name)


def next_due(
    state: State, now: datetime, queues: Sequence[str], kinds: Mapping[str, Collection[str]]
) -> timedelta | None:
    """Return how long until the next due time in these queues; None if no message has one."""
    awake = [queue for queue in queues if queue not in state.paused]
    dues = [due for queue in awake if (due := state.next_due(queue, kinds.get(queue))) is not None]
    return min(dues) - now if dues else None


def lent_on(state: State, receipt: Receipt) -> Record | None:
    """Return the message if it still has the receipt's token, else None; this fences all later writes."""
    record = state.records.get(receipt.id)
    return record if record is not None and record.token == receipt.token else None


def _push(state: State, now: datetime, entry: Entry, on_duplicate: OnDuplicate, former: int | None) -> Pushed:
    held = state.holder(entry.queue, entry.key)
    if held is not None:
        return Pushed(held.id, merge_into_holder(state, now, held, entry, on_duplicate))
    if former is not None:
        return Pushed(former, "ignored")
    record = created(state.next_id(), entry, now)
    state.put(record)
    return Pushed(record.id, "created")


def _refuse_taken_keys(
    state: State, entries: Sequence[Entry], former: Container[tuple[str, str | None]], remembered: bool
) -> None:
    """Raise DuplicateKey for the first queue with taken keys, whether by its messages or by earlier entries."""
    asked: set[tuple[str, str]] = set()
    taken: dict[str, dict[str, None]] = {}
    for entry in entries:
        if entry.key is None:
            continue
        place = (entry.queue, entry.key)
        if place in asked or place in former or state.holder(entry.queue, entry.key) is not None:
            taken.setdefault(entry.queue, {})[entry.key] = None
        asked.add(place)
    for queue, keys in taken.items():
        raise DuplicateKey(queue, list(keys), remembered)


def _lend(state: State, now: datetime, record: Record, lease: timedelta, consumer: str) -> Record:
    """Lease the message, which moves its due time to the end of the lease; return it with its former due time."""
    after = lent(record, now, lease, consumer)
    state.lend(after, record.due_at)
    return replace(after, due_at=record.due_at)


def _by_id(state: State, ids: Iterable[int]) -> list[Record]:
    return [state.records[id_] for id_ in set(ids) if id_ in state.records]


def _fits(record: Record, query: Query) -> bool:
    return (
        record.queue == query.queue
        and (query.keys is None or record.key in query.keys)
        and (query.statuses is None or record.status in query.statuses)
        and (query.after_id is None or record.id > query.after_id)
        and (query.where is None or holds(query.where, record))
    )


def _is_scanned(record: Record, query: Scan) -> bool:
    return (
        record.id <= query.last
        and (query.descending or record.id > query.after[0])
        and (query.queues is None or record.queue in query.queues)
        and (query.statuses is None or record.status in query.statuses)
        and (query.where is None or holds(query.where, record))
    )


def _in_order(records: list[Record], order: Order) -> list[Record]:
    """Sort by a field, with missing values last in both directions, and start after the given place."""

    def place(record: Record) -> tuple[Any, int]:
        return getattr(record, order.field), record.id

    rest = [record for record in records if getattr(record, order.field) is None]
    some = [record for record in records if getattr(record, order.field) is not None]
    if order.after is not None:
        value, id_ = order.after

        def behind(ours: Any, theirs: Any) -> bool:
            return bool(ours < theirs) if order.descending else bool(ours > theirs)

        if value is None:
            some, rest = [], [record for record in rest if behind(record.id, id_)]
        else:
            some = [record for record in some if behind(place(record), order.after)]
    some.sort(key=place, reverse=order.descending)
    rest.sort(key=lambda record: record.id, reverse=order.descending)
    return [*some, *rest]


def _in_turn(
    state: State,
    now: datetime,
    queue: str,
    attempts: int | None,
    keep: Retention | None,
    kinds: Collection[str] | None,
) -> Iterator[Record]:
    """Yield the messages in line by priority; from a group, only the first, and only if no other is leased.

    An expired lease holds back its group only until the line with its priority is served. If a message is buried, the
    next one of its group gets its turn at once. A message of a kind that was not asked for is skipped, and still holds
    back the rest of its group.
    """
    served: set[str | None] = set()
    if queue in state.paused:
        return
    if not state.has_groups(queue):
        yield from (record for record in state.due(queue, now) if kinds is None or record.kind in kinds)
        return
    for _, line in groupby(list(state.due(queue, now)), key=attrgetter("priority")):
        ids = [record.id for record in line if kinds is None or record.kind in kinds]
        for record in _still_due(state, now, ids):
            if record.group is not None and record.leased_until is not None and not state.has_turn(record):
                error = ended_lease(record, attempts)
                history.lapsed(state, now, record, error, False, None, keep)
                state.put(replace(settled(record), last_error=error))
        while first := next(
            (one for one in _still_due(state, now, ids) if state.has_turn(one) and one.group not in served), None
        ):
            ids.remove(first.id)
            yield first
            if first.group is not None and not _was_given_up(state, first):
                served.add(first.group)


def _was_given_up(state: State, record: Record) -> bool:
    """Return whether the message was buried, in place or by moving to another queue, instead of being handed out."""
    after = state.records.get(record.id)
    return after is not None and (after.queue != record.queue or after.status not in LIVE)


def _still_due(state: State, now: datetime, ids: Iterable[int]) -> Iterator[Record]:
    for id_ in ids:
        record = state.records.get(id_)
        if record is not None and record.due_at is not None and record.due_at <= now:
            yield record


def _in_line(record: Record) -> tuple[int, bool, datetime, int]:
    """The order of delivery: by priority, due time and id, with missing due times last."""
    return record.priority, record.due_at is None, record.due_at or record.created_at, record.id
