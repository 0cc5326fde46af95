"""A claim of due rows: its parameters and its progress."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from duerow.plan import Plan
from duerow.store import GivenUp
from duerow.stores.sql.plans.kinds import padded, source_of
from duerow.stores.sql.priorities import PriorityLine
from duerow.stores.sql.statements import LENT, OverRows, Statement

STATUS: Final = LENT.index("status")

_USED: Final = tuple(map(LENT.index, ("id", "token", "key", "headers", "attempts", "last_error")))

Rows = Sequence[Sequence[Any]]


class Used(NamedTuple):
    """A message that was buried because its attempts were used up."""

    id: int
    token: int
    key: str | None
    headers: str | None
    attempts: int
    error: str | None
    priority: int
    group: str | None


class Claim:
    """A call that takes due rows, and its progress.

    Args:
        queue: the queue.
        limit: the maximum number of rows.
        at_once: a function of (from a floor, number of kinds) that returns the statement that picks and takes rows.
        picked: the statement that takes picked rows.
        read: turns the rows of either statement into records, given their line.
        gone: returns the groups of the rows that have left the queue.
        values: the bound values of both statements.
        kinds: the kinds of messages to take; None: all.

    Attributes:
        source: the key of the floors: the queue, or the queue and these kinds.
        history: how long to keep turns of expired leases; None: not at all.
        over: writes the expired turns of picked rows, given their ids, before the rows are taken; None: writes nothing.
        ends: whether rows are popped instead of leased.
        apart: whether the database refused a row, so that rows are tried one by one.
        exact: whether rows below the floor are looked for before the queue counts as empty, however long that takes.
        leave: handles the messages whose attempts were used up.
        passed: rows that were refused or skipped.
        given: the reports of the buried messages.
    """

    def __init__(
        self,
        queue: str,
        limit: int,
        at_once: Callable[[bool, int], Statement],
        picked: OverRows,
        read: Callable[[Rows, PriorityLine], list[Any]],
        gone: Callable[[Rows], Iterable[str]],
        values: Mapping[str, Any],
        kinds: Collection[str] | None = None,
    ) -> None:
        self.queue, self.limit = queue, limit
        self.at_once, self.picked, self.read, self.gone, self.values = at_once, picked, read, gone, values
        self.kinds = () if kinds is None else padded(kinds)
        self.source = source_of(queue, self.kinds)
        self.history: timedelta | None = None
        self.over: Callable[[Sequence[int]], Plan[None]] | None = None
        self.ends = False
        self.records: list[Any] = []
        self.rows = 0
        self.buried: list[Any] = []
        self.floored: set[PriorityLine] = set()
        self.served: set[str | None] = set()
        self.apart, self.exact = False, True
        self.leave: Callable[[Sequence[Any]], Plan[None]] | None = None
        self.passed: set[Any] = set()
        self.given: list[GivenUp] = []

    @property
    def in_steps(self) -> bool:
        """Whether rows are picked first and then taken, even if they are not in groups."""
        return self.over is not None or self.apart

    def mark(self) -> tuple[int, int, int, set[str | None]]:
        """Return a mark for `back`."""
        return len(self.records), self.rows, len(self.buried), set(self.served)

    def back(self, mark: tuple[int, int, int, set[str | None]]) -> None:
        """Forget the rows taken since a mark, because they were rolled back."""
        records, self.rows, buried, self.served = mark
        del self.records[records:], self.buried[buried:]

    def after_bury(self) -> Plan[None]:
        """Handle the messages whose attempts were used up so far."""
        used, self.buried = self.buried, []
        if used and self.leave is not None:
            yield from self.leave(used)

    @property
    def left(self) -> int:
        """How many more rows may be taken."""
        return self.limit - len(self.records)

    def add(self, records: Sequence[Any], rows: Rows, line: PriorityLine) -> None:
        """Add the rows that a statement took; rows without a record were buried."""
        self.take(records, rows)
        self.rows += len(rows)
        if len(records) < len(rows):
            self.buried += [self.used(row, line) for row in rows if row[STATUS] == "dead"]

    def take(self, records: Sequence[Any], rows: Rows) -> None:
        """Add records; a row that this claim had already taken is kept once, in its latest state.

        If a row's lease expires before the claim is finished, the claim stops taking rows; otherwise it might never
        end.
        """
        before, over = self.records, False
        if before and not self.ends:
            again = {row[0] for row in rows}
            self.records = [one for one in before if one.id not in again]
            over = len(self.records) < len(before)
        self.records += records
        if over:
            self.limit = len(self.records)

    def used(self, row: Sequence[Any], line: PriorityLine) -> Used:
        """Return a buried row of LENT as Used."""
        group = row[len(LENT) + 1] if line.grouped else None
        id, token, key, headers, attempts, error = (row[place] for place in _USED)
        key, group = (value if isinstance(value, str) else None for value in (key, group))
        return Used(id, token, key, headers, attempts, error, line.priority, group)
