"""What the in-memory store holds: every message by its id, the two orders of looking them up, and the schedules."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from duerow.message import LIVE
from duerow.store import Planned, Record

_AFTER_EVERY_ID: Final = 1 << 63


class State:
    """One in-memory database; changed only by `put`, `drop` and `plan`, each of which can be undone.

    Attributes:
        records: every message by its id.
        schedules: every schedule by its name.
    """

    def __init__(self) -> None:
        self.records: dict[int, Record] = {}
        self.schedules: dict[str, Planned] = {}
        self._lines: defaultdict[str, list[tuple[datetime, int]]] = defaultdict(list)
        self._holders: dict[tuple[str, str], int] = {}
        self._journal: list[tuple[int, Record | None] | tuple[str, Planned | None]] = []
        self._last_id = 0

    def next_id(self) -> int:
        """Return an id that no message ever had; undoing does not bring it back."""
        self._last_id += 1
        return self._last_id

    def due(self, queue: str, now: datetime) -> Iterator[Record]:
        """Yield the queue's messages that are due now, in line: oldest due time first, then by id."""
        line = self._lines[queue]
        for _, id_ in line[: bisect_right(line, (now, _AFTER_EVERY_ID))]:
            yield self.records[id_]

    def next_due(self, queue: str) -> datetime | None:
        """Return when the first of the queue's messages is, or was, due; None when none has a due time."""
        line = self._lines[queue]
        return line[0][0] if line else None

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
        self._journal.append((name, self.schedules.get(name)))
        self._replan(name, schedule)

    def mark(self) -> int:
        """Return a place in the journal of changes to which `undo` can go back."""
        return len(self._journal)

    def undo(self, mark: int = 0) -> None:
        """Take back every change since the mark, or all that are not kept yet."""
        while len(self._journal) > mark:
            undone = self._journal.pop()
            if isinstance(undone[0], str):
                self._replan(*undone)
            else:
                self._replace(*undone)

    def keep(self) -> set[str]:
        """Make all changes final; return the queues in which a message that nobody holds has now a due time."""
        touched = {id_ for id_, _ in self._journal if isinstance(id_, int)}
        self._journal.clear()
        records = [self.records[id_] for id_ in touched if id_ in self.records]
        return {record.queue for record in records if record.due_at is not None and record.leased_by is None}

    def _change(self, id_: int, after: Record | None) -> None:
        self._journal.append((id_, self.records.get(id_)))
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

    def _enter(self, record: Record) -> None:
        if record.due_at is not None:
            insort(self._lines[record.queue], (record.due_at, record.id))
        if record.key is not None and record.status in LIVE:
            self._holders[record.queue, record.key] = record.id

    def _leave(self, record: Record) -> None:
        if record.due_at is not None:
            line = self._lines[record.queue]
            del line[bisect_left(line, (record.due_at, record.id))]
        if record.key is not None and record.status in LIVE:
            del self._holders[record.queue, record.key]
