"""The data of the in-memory store: messages, their lines, groups and keys, schedules, history and the rest."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from math import inf
from time import monotonic
from typing import Any, Final, NamedTuple, TypeVar

from duerow.errors import QueryTimeout
from duerow.message import LIVE
from duerow.store import Consumer, Counted, Entry, HistoryRow, Planned, Record, StoredPipeline, Totals

T = TypeVar("T")

_BEFORE_ALL_TIMES: Final = datetime.min.replace(tzinfo=UTC)


class Staged(NamedTuple):
    """Entries that a part of a batch staged in one call."""

    part: str
    entries: tuple[Entry, ...]
    at: datetime


class State:
    """One in-memory database; only its methods change it, and every change can be undone.

    Attributes:
        records: every message by its id.
        paused: the queues that hand out no messages.
        draining: the queues that accept no new messages.
        definitions: the declared definitions of queues, by queue.
        known: the queues for which settings were stored.
        consumers: the recorded consumers, by name.
        schedules: all schedules, by name.
        past: all finished turns that are kept, by id and token, each with its expiry.
        remembered: the id of the former holder of each remembered key, by queue and key, with its expiry.
        sets: the sets of joins, by queue and correlation: the id of the set's message, or None if the set is complete,
            and the time until which a complete set is remembered.
        parts: the parts of each incomplete set, by the id of the set's message, then by the id of the part.
        pipelines: all pipelines, by name.
        staged: the staged entries of each batch, in order.
        noted: the recorded names, with their times.
        counted: the counters, by queue, minute and process.
        lifetimes: the older counts of each queue, added up.
        read_timeout: the time limit for reads for people in the current session; None: no limit.
    """

    def __init__(self) -> None:
        self.records: dict[int, Record] = {}
        self.schedules: dict[str, Planned] = {}
        self._lines: defaultdict[str, list[tuple[int, datetime, int]]] = defaultdict(list)
        self._groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self._lent: dict[tuple[str, str], int] = {}
        self._holders: dict[tuple[str, str], int] = {}
        self._journal: list[tuple[int | None, Callable[[], None]]] = []
        self._told: set[str] = set()
        self._last_id = 0
        self._places: dict[int, datetime] = {}
        self.past: dict[tuple[int, int], tuple[HistoryRow, datetime]] = {}
        self.remembered: dict[tuple[str, str], tuple[int, datetime]] = {}
        self.paused: set[str] = set()
        self.draining: set[str] = set()
        self.definitions: dict[str, str] = {}
        self.known: set[str] = set()
        self.consumers: dict[str, Consumer] = {}
        self.sets: dict[tuple[str, str], tuple[int | None, datetime | None]] = {}
        self.parts: dict[int, dict[int, str]] = {}
        self.pipelines: dict[str, StoredPipeline] = {}
        self.staged: dict[str, tuple[Staged, ...]] = {}
        self.noted: dict[str, datetime] = {}
        self.counted: dict[tuple[str, datetime, str], Counted] = {}
        self.lifetimes: dict[str, Totals] = {}
        self.read_timeout: timedelta | None = None

    def in_time(self, rows: Iterable[T]) -> Iterator[T]:
        """Yield the rows of a read for people; raise QueryTimeout after the read timeout."""
        limit = self.read_timeout
        end = inf if limit is None else monotonic() + limit.total_seconds()
        for row in rows:
            if limit is not None and monotonic() > end:
                raise QueryTimeout(limit)
            yield row

    def next_id(self) -> int:
        """Return an id that no message has ever had; a rollback does not make it available again."""
        self._last_id += 1
        return self._last_id

    def due(self, queue: str, now: datetime) -> Iterator[Record]:
        """Yield the due messages of a queue in the order of the line: by priority, due time and id.

        Each message is looked up only when it is needed, because the caller may have changed the earlier ones.
        """
        line = self._lines[queue]
        start = 0
        while start < len(line):
            place = line[start]
            if place[1] <= now:
                yield self.records[place[2]]
                start = bisect_right(line, place)
            else:
                start = bisect_left(line, (place[0] + 1, _BEFORE_ALL_TIMES, 0))

    def has_groups(self, queue: str) -> bool:
        """Return whether a message of the queue is in a group."""
        return any(of == queue for of, _ in self._groups)

    def has_turn(self, record: Record) -> bool:
        """Return whether the message is first in its group and no other message of the group is leased."""
        if record.group is None:
            return True
        group = (record.queue, record.group)
        return self._groups[group][0] == record.id and self._lent.get(group, record.id) == record.id

    def blocker(self, record: Record) -> Record | None:
        """Return the message for which this one waits: its group's leased message, or else its first."""
        if record.group is None or record.status not in LIVE or self.has_turn(record):
            return None
        group = (record.queue, record.group)
        lent = self._lent.get(group, record.id)
        return self.records[self._groups[group][0] if lent == record.id else lent]

    def next_due(self, queue: str, kinds: Collection[str] | None) -> datetime | None:
        """Return the earliest due time of the queue's messages whose turn it is; None if there are none.

        Only messages of the given kinds count; None: all kinds.
        """
        line = [(due, self.records[id_]) for _, due, id_ in self._lines[queue]]
        chosen = [(due, one) for due, one in line if kinds is None or one.kind in kinds]
        return min((due for due, record in chosen if self.has_turn(record)), default=None)

    def holder(self, queue: str, key: str | None) -> Record | None:
        """Return the queue's live message with this key; None if there is none, or if the key is None."""
        id_ = None if key is None else self._holders.get((queue, key))
        return None if id_ is None else self.records[id_]

    def put(self, record: Record) -> None:
        """Store a message under its id."""
        self._change(record.id, record)

    def drop(self, id_: int) -> None:
        """Delete the message with this id."""
        self._change(id_, None)
        self.assign(self._places, id_, None)

    def lend(self, record: Record, place: datetime | None) -> None:
        """Store a leased message, and the due time that determined its place in line."""
        self.put(record)
        self.assign(self._places, record.id, place)

    def place(self, record: Record) -> datetime | None:
        """Return the due time that determined a message's place in line when it was last leased."""
        return self._places.get(record.id)

    def plan(self, name: str, schedule: Planned | None) -> None:
        """Store a schedule under its name; None deletes it."""
        self._journal.append((None, partial(self._replan, name, self.schedules.get(name))))
        self._replan(name, schedule)

    def assign(self, kept: dict[Any, Any], name: Any, value: Any) -> None:
        """Store a value under its name; None deletes it."""
        self._journal.append((None, partial(_replace_in, kept, name, kept.get(name))))
        _replace_in(kept, name, value)

    def note(self, past: HistoryRow, until: datetime) -> None:
        """Store a finished turn until it expires; a receipt has only one turn."""
        assert (past.id, past.token) not in self.past, f"the turn of {past} was over before"  # noqa: S101
        self.assign(self.past, (past.id, past.token), (past, until))

    def remember(self, queue: str, key: str, id_: int, until: datetime) -> None:
        """Remember the former holder of a key until it expires."""
        self.assign(self.remembered, (queue, key), (id_, until))

    def forget_key(self, queue: str, key: str) -> None:
        """Forget the former holder of a key."""
        self.assign(self.remembered, (queue, key), None)

    def forget(self, now: datetime, limit: int) -> int:
        """Delete expired turns and keys, at most this many of each; return how many."""
        gone = 0
        for kept in (self.past, self.remembered):
            over = [known for known, (_, until) in kept.items() if until <= now][:limit]
            for known in over:
                self.assign(kept, known, None)
            gone += len(over)
        return gone

    def count(self, counted: dict[tuple[str, datetime, str], Counted], lifetimes: dict[str, Totals]) -> None:
        """Replace all counters."""
        self._journal.append((None, partial(self._recount, self.counted, self.lifetimes)))
        self._recount(counted, lifetimes)

    def mark(self) -> int:
        """Return a place in the journal of changes to which `undo` can go back."""
        return len(self._journal)

    def undo(self, mark: int = 0) -> None:
        """Undo all changes since the mark; by default, all changes that are not final."""
        while len(self._journal) > mark:
            _, take_back = self._journal.pop()
            take_back()

    def keep(self) -> set[str]:
        """Make all changes final; return the names whose listeners to notify.

        These are the queues in which an unleased message got a due time, and the names given to `tell`.
        """
        touched = {id_ for id_, _ in self._journal}
        told, self._told = self._told, set()
        self._journal.clear()
        records = [self.records[id_] for id_ in touched if id_ is not None and id_ in self.records]
        return told | {record.queue for record in records if record.due_at is not None and record.leased_by is None}

    def tell(self, name: str) -> None:
        """Notify all listeners for this name once the changes are final."""
        if name not in self._told:
            self._journal.append((None, partial(self._told.discard, name)))
            self._told.add(name)

    def _change(self, id_: int, after: Record | None) -> None:
        self._journal.append((id_, partial(self._replace, id_, self.records.get(id_))))
        self._replace(id_, after)

    def _replace(self, id_: int, after: Record | None) -> None:
        before = self.records.pop(id_, None)
        if before is not None:
            self._leave(before)
        if after is not None:
            self.records[id_] = after
            self._enter(after)

    def _replan(self, name: str, schedule: Planned | None) -> None:
        if schedule is None:
            self.schedules.pop(name, None)
        else:
            self.schedules[name] = schedule

    def _recount(self, counted: dict[tuple[str, datetime, str], Counted], lifetimes: dict[str, Totals]) -> None:
        self.counted, self.lifetimes = counted, lifetimes

    def _enter(self, record: Record) -> None:
        if record.due_at is not None:
            insort(self._lines[record.queue], (record.priority, record.due_at, record.id))
        if record.key is not None and record.status in LIVE:
            self._holders[record.queue, record.key] = record.id
        if record.group is not None and record.status in LIVE:
            insort(self._groups[record.queue, record.group], record.id)
            if record.leased_by is not None:
                self._lent[record.queue, record.group] = record.id

    def _leave(self, record: Record) -> None:
        if record.due_at is not None:
            line = self._lines[record.queue]
            del line[bisect_left(line, (record.priority, record.due_at, record.id))]
        if record.key is not None and record.status in LIVE:
            del self._holders[record.queue, record.key]
        if record.group is not None and record.status in LIVE:
            of_group = self._groups[record.queue, record.group]
            of_group.remove(record.id)
            if not of_group:
                del self._groups[record.queue, record.group]
            if record.leased_by is not None:
                del self._lent[record.queue, record.group]


def _replace_in(kept: dict[Any, Any], name: Any, value: Any) -> None:
    if value is None:
        kept.pop(name, None)
    else:
        kept[name] = value
