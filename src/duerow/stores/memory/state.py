"""What the in-memory store holds: every message by its id, the two orders of looking them up, and the schedules."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Final

from duerow.message import LIVE
from duerow.store import Consumer, Counted, Planned, Record, Totals

_AFTER_EVERY_ID: Final = 1 << 63
_BEFORE_ALL_TIMES: Final = datetime.min.replace(tzinfo=UTC)


class State:
    """One in-memory database; changed only by `put`, `drop`, `plan` and `count`, each of which can be undone.

    Attributes:
        records: every message by its id.
        paused: the queues that hand nothing out.
        consumers: those that said that they are there, by name.
        schedules: every schedule by its name.
        counted: what processes counted, by queue, minute and process.
        lifetimes: what was counted of each queue before that.
    """

    def __init__(self) -> None:
        self.records: dict[int, Record] = {}
        self.schedules: dict[str, Planned] = {}
        self._lines: defaultdict[str, list[tuple[int, datetime, int]]] = defaultdict(list)
        self._groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self._lent: dict[tuple[str, str], int] = {}
        self._holders: dict[tuple[str, str], int] = {}
        self._journal: list[tuple[int | None, Callable[[], None]]] = []
        self._last_id = 0
        self.paused: set[str] = set()
        self.consumers: dict[str, Consumer] = {}
        self.counted: dict[tuple[str, datetime, str], Counted] = {}
        self.lifetimes: dict[str, Totals] = {}

    def next_id(self) -> int:
        """Return an id that no message ever had; undoing does not bring it back."""
        self._last_id += 1
        return self._last_id

    def due(self, queue: str, now: datetime) -> list[Record]:
        """Return the queue's messages that are due now, in line: by priority, due time and id."""
        line = self._lines[queue]
        due: list[Record] = []
        start = 0
        while start < len(line):
            priority = line[start][0]
            end = bisect_right(line, (priority, now, _AFTER_EVERY_ID))
            due += [self.records[id_] for *_, id_ in line[start:end]]
            start = bisect_left(line, (priority + 1, _BEFORE_ALL_TIMES, 0))
        return due

    def has_turn(self, record: Record) -> bool:
        """Return whether nobody of its group keeps a message back: none goes before it, and no other is lent."""
        if record.group is None:
            return True
        group = (record.queue, record.group)
        return self._groups[group][0] == record.id and self._lent.get(group, record.id) == record.id

    def blocker(self, record: Record) -> Record | None:
        """Return who of its group has to leave before a message has its turn: who is lent, else the first."""
        if record.group is None or record.status not in LIVE or self.has_turn(record):
            return None
        group = (record.queue, record.group)
        lent = self._lent.get(group, record.id)
        return self.records[self._groups[group][0] if lent == record.id else lent]

    def next_due(self, queue: str) -> datetime | None:
        """Return when the first of the queue's messages whose turn it is is, or was, due; None if none has a time."""
        return min((due for _, due, id_ in self._lines[queue] if self.has_turn(self.records[id_])), default=None)

    def holder(self, queue: str, key: str | None) -> Record | None:
        """Return the live message that has this key in the queue, None when there is none or no key is asked for."""
        id_ = None if key is None else self._holders.get((queue, key))
        return None if id_ is None else self.records[id_]

    def put(self, record: Record) -> None:
        """Keep this message, in place of what was kept under its id."""
        self._change(record.id, record)

    def drop(self, id_: int) -> None:
        """Keep no message under this id any longer."""
        self._change(id_, None)

    def plan(self, name: str, schedule: Planned | None) -> None:
        """Keep this schedule, in place of what was kept under its name; None: keep none."""
        self._journal.append((None, partial(self._replan, name, self.schedules.get(name))))
        self._replan(name, schedule)

    def count(self, counted: dict[tuple[str, datetime, str], Counted], lifetimes: dict[str, Totals]) -> None:
        """Keep these numbers in place of all that were kept."""
        self._journal.append((None, partial(self._recount, self.counted, self.lifetimes)))
        self._recount(counted, lifetimes)

    def mark(self) -> int:
        """Return a place in the journal of changes to which `undo` can go back."""
        return len(self._journal)

    def undo(self, mark: int = 0) -> None:
        """Take back every change since the mark, or all that are not kept yet."""
        while len(self._journal) > mark:
            _, take_back = self._journal.pop()
            take_back()

    def keep(self) -> set[str]:
        """Make all changes final; return the queues in which a message that nobody holds has now a due time."""
        touched = {id_ for id_, _ in self._journal}
        self._journal.clear()
        records = [self.records[id_] for id_ in touched if id_ is not None and id_ in self.records]
        return {record.queue for record in records if record.due_at is not None and record.leased_by is None}

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
            self._groups[record.queue, record.group].remove(record.id)
            if record.leased_by is not None:
                del self._lent[record.queue, record.group]
