"""Statements that read a page of all messages of a queue, in any order.

No index contains all messages of a queue: each contains one kind, such as the messages in line. So a page is read from
each index, and the first of all these rows make up the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    Select,
    SmallInteger,
    and_,
    case,
    func,
    literal,
    not_,
    or_,
    select,
    union_all,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.elements import Grouping
from sqlalchemy.sql.visitors import InternalTraversal

from duerow.clock import FIRST, LAST
from duerow.conditions.model import Condition
from duerow.store import Order
from duerow.stores.sql.conditions import Conditions
from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.priorities import PriorityLine
from duerow.stores.sql.statements.context import StatementGroup
from duerow.stores.sql.statements.core import Statement

MOST_LINES: Final = 8
"""The maximum number of lines that are read one by one; more lines are read as two, and sorted."""

MOST_COMPARISONS: Final = 40
"""The maximum number of comparisons in a condition of a statement in parts, since each part repeats them."""

FEW: Final = 10_000
"""A queue with at most this many messages in each part is small: all its messages are read."""

NEAR: Final = 5_000
"""The number of ids within which a page in the order of ids is searched first."""

LARGEST: Final = (1 << 63) - 1
"""The largest number that fits in a column of ids."""


class _Part(NamedTuple):
    """The rows of a queue that one index contains.

    Attributes:
        which: the condition for these rows.
        conditions: writes conditions on them.
        due: their due time; None: they have none.
        is_line: whether the index is ordered by due time; otherwise, it is ordered by id.
        by_index: makes a query for them use the index, if the database needs a hint.
    """

    which: Sequence[ColumnElement[bool]]
    conditions: Conditions
    due: ColumnElement[Any] | None
    is_line: bool
    by_index: Callable[[Select[Any]], Select[Any]]


class Repeated(ColumnElement[bool]):
    """A condition that occurs in several parts of a statement; it is compiled once, because that takes milliseconds."""

    inherit_cache = True
    _traverse_internals = [("clause", InternalTraversal.dp_clauseelement)]  # noqa: RUF012 - as in SQLAlchemy

    def __init__(self, clause: ColumnElement[bool]) -> None:
        self.clause, self.type = clause, clause.type

    def self_group(self, against: Any = None) -> Any:
        """Return this condition, in parentheses where it is an operand."""
        return self if against is None else Grouping(self)


@compiles(Repeated)
def _repeated(element: Repeated, compiler: Any, **settings: Any) -> str:
    written: dict[Repeated, str] = compiler.__dict__.setdefault("repeated", {})
    if element not in written:
        written[element] = compiler.process(element.clause, **settings)
    return written[element]


class PageStatements(StatementGroup):
    """Statements that read a page of all messages of a queue."""

    def near(self, where: Condition | None, order: Order) -> Statement:
        """Read as much of a page in the order of ids as lies within the table's next few ids; more rows may follow.

        The latest messages are usually within these ids, and the primary key finds them at once.
        """
        ids, every = self.message.c.id, self.message.alias("every")
        found = select(*self.context.record).where(self.context.in_queue)
        if order.after is None:
            first = select((func.max if order.descending else func.min)(every.c.id)).scalar_subquery()
            bound: ColumnElement[Any] = first - const(NEAR) if order.descending else first + const(NEAR)
        else:
            after = order.after[1]
            last = max(after - NEAR, -LARGEST) if order.descending else min(after + NEAR, LARGEST)
            bound = literal(last, BigInteger())
            found = found.where(comes_after(self.context.conditions, ids, order, *order.after))
        found = found.where(ids >= bound if order.descending else ids <= bound)
        found = found.order_by(ids.desc() if order.descending else ids)
        if where is not None:
            found = found.where(self.context.conditions.clause(where))
        return Statement(found.limit(self.bound("limit_in", Integer())), kept=False, bounded=True)

    @cached_property
    def is_large(self) -> Statement:
        """Return whether any part of a queue has many messages."""
        beyond = [self._is_long(part) for part in self._parts((), live=False)]
        return Statement(select(case((or_(*beyond), const(1)), else_=const(0))), bounded=True)

    def _is_long(self, part: _Part) -> ColumnElement[bool]:
        some = self._ids_of(part).limit(FEW + 1)
        return select(func.count()).select_from(some.subquery()).scalar_subquery() > const(FEW)

    def small(self, where: Condition, order: Order) -> Statement:
        """Read a page of a small queue: the indexes of its parts find all messages, and each one is checked.

        The statement contains the condition once instead of once per part, which saves most of the compile time.
        """
        found = self._every.where(self.context.conditions.clause(where))
        column = self.context.conditions.column(order.field)
        if order.after is not None:
            found = found.where(comes_after(self.context.conditions, column, order, *order.after))
        found = found.order_by(*self._ends(column, order)).limit(self.bound("limit_in", Integer()))
        return Statement(found, kept=False, bounded=True)

    @cached_property
    def _every(self) -> Select[Any]:
        every = union_all(*map(self._ids_of, self._parts((), live=False))).subquery("parts")
        return select(*self.context.record).where(self.dialect.one_of(self.message.c.id, select(every.c.id)))

    def page(
        self, where: Condition | None, order: Order | None, lines: Sequence[PriorityLine], live: bool
    ) -> Statement:
        """Read a page in any order: the first rows of each part of the queue by its own index, then the first of all.

        Args:
            where: the condition.
            order: the order, and the place after which the page begins; None: the order of delivery.
            lines: the lines of the queue.
            live: whether the condition holds for live messages only.
        """
        if where is None and (order is None or order.after is None):
            return self._first_page(order, tuple(lines))
        return Statement(self._page(where, order, lines, live), kept=False, bounded=True)

    @lru_cache(maxsize=64)  # noqa: B019 - lives as long as the store
    def _first_page(self, order: Order | None, lines: tuple[PriorityLine, ...]) -> Statement:
        return Statement(self._page(None, order, lines, live=False), bounded=True)

    def _page(
        self, where: Condition | None, order: Order | None, lines: Sequence[PriorityLine], live: bool
    ) -> Select[Any]:
        parts = [part for part in self._parts(lines, live) if _has_rows(part, order)]
        asked: dict[Conditions, ColumnElement[bool]] = {}
        if where is not None:
            asked = {one: Repeated(one.clause(where)) for one in {part.conditions for part in parts}}
        firsts = [self._first_of(part, asked.get(part.conditions), order) for part in parts]
        ids = union_all(*(select(first.c.id) for first in firsts)).subquery("parts")
        found = select(*self.context.record).where(self.dialect.one_of(self.message.c.id, select(ids.c.id)))
        column = self.context.conditions.column("due_at" if order is None else order.field)
        return found.order_by(*self._ends(column, order)).limit(self.bound("limit_in", Integer()))

    def _parts(self, lines: Sequence[PriorityLine], live: bool) -> list[_Part]:
        context = self.context
        few, in_line = len(lines) <= MOST_LINES, Conditions(self.dialect, self.message, in_line=True)
        parts = [
            part
            for grouped in (False, True)
            for part in self._in_line(
                grouped, sorted(one.priority for one in lines if few and one.grouped == grouped), in_line
            )
        ]
        behind = (*context.in_live_group, self.message.c.due_at.is_(None), self.message.c.behind_at.is_not(None))
        parts.append(_Part(behind, context.conditions, self.message.c.behind_at, False, self._by_group))
        resting = self.dialect.stopped(self.message) if live else context.resting
        return [*parts, _Part(resting, context.conditions, None, False, lambda found: found)]

    def _in_line(self, grouped: bool, priorities: Sequence[int], in_line: Conditions) -> Iterator[_Part]:
        """Yield the rows in line for each of these priorities, and the rows with any other priority.

        The latter are very few: their priority is new, or was not written by duerow.
        """
        columns = self.message.c
        which = (columns.due_at.is_not(None), self.context.in_group(grouped))
        bounds = [literal(priority, SmallInteger()) for priority in priorities]
        for bound in bounds:
            line = (*which, columns.priority == bound)
            yield _Part(line, in_line, columns.due_at, True, self._by_line(grouped))
        for low, high in pairwise((None, *bounds, None)):
            between = [] if low is None else [columns.priority > low]
            between += [] if high is None else [columns.priority < high]
            yield _Part((*which, *between), in_line, columns.due_at, False, self._by_line(grouped))

    def _by_line(self, grouped: bool) -> Callable[[Select[Any]], Select[Any]]:
        return lambda found: self.dialect.by_line(found, self.message, grouped)

    def _by_group(self, found: Select[Any]) -> Select[Any]:
        return self.dialect.by_group(found, self.message)

    def _first_of(self, part: _Part, asked: ColumnElement[bool] | None, order: Order | None) -> Any:
        """Return the first rows of a part, as a table of their ids."""
        which = [] if asked is None else [asked]
        if order is not None and order.after is not None:
            which += self._after(part, order, *order.after)
        found = self._ids_of(part, *which).order_by(*self._ends_of(part, order, asked is None))
        return found.limit(self.bound("limit_in", Integer())).subquery()

    def _ids_of(self, part: _Part, *which: ColumnElement[bool]) -> Select[Any]:
        """Return a query for the ids of a part's rows, by its index."""
        return part.by_index(select(self.message.c.id).where(self.context.in_queue, *part.which, *which))

    def _after(self, part: _Part, order: Order, value: Any, id: int) -> list[ColumnElement[bool]]:
        """Return the condition that rows of a part come after a place; for due times, also in a form for the index."""
        if order.field != "due_at":
            return [comes_after(part.conditions, part.conditions.column(order.field), order, value, id)]
        if part.due is None:
            ids, mark = self.message.c.id, literal(id, BigInteger())
            return [] if value is not None else [ids < mark if order.descending else ids > mark]
        after = [comes_after(part.conditions, part.due, order, value, id)]
        if value not in (FIRST, LAST):
            bound = part.conditions.bound("due_at", value)
            after.append(part.due <= bound if order.descending else part.due >= bound)
        return after

    def _ends_of(self, part: _Part, order: Order | None, every: bool) -> list[ColumnElement[Any]]:
        """Return the order of the rows of a part, in the form that its index can serve if possible."""
        ids = self.message.c.id
        descending = order is not None and order.descending
        by_due = order is None or order.field == "due_at"
        if by_due and part.is_line and part.due is not None:
            return [part.due.desc(), ids.desc()] if descending else [part.due, ids]
        if order is not None and (order.field == "id" or (by_due and part.due is None)):
            # Plus zero: otherwise, a planner that expects few rows may read the whole table by its primary key.
            by_id = ids if part.due is None and every else ids + const(0)
            return [by_id.desc() if descending else by_id.asc()]
        column = part.conditions.column("due_at" if order is None else order.field)
        return self._ends(column if part.due is None or not by_due else part.due, order)

    def _ends(self, column: ColumnElement[Any], order: Order | None) -> list[ColumnElement[Any]]:
        ids = self.message.c.id
        if order is None:
            return [self.message.c.priority, *self.dialect.nulls_last(column), ids]
        by_id = ids.desc() if order.descending else ids
        return [by_id] if order.field == "id" else [*self.dialect.nulls_last(column, order.descending), by_id]


def comes_after(
    conditions: Conditions, column: ColumnElement[Any], order: Order, value: Any, id: int
) -> ColumnElement[bool]:
    """Return the condition that a row comes after a place in an order with nulls last."""
    ids = conditions.table.c.id
    mark = literal(id, BigInteger())
    later_id = ids < mark if order.descending else ids > mark
    if order.field == "id":
        return later_id
    if value is None:
        return and_(column.is_(None), later_id)
    bound = conditions.bound(order.field, value)
    later, tied = column < bound if order.descending else column > bound, column == bound
    if value in (FIRST, LAST):  # also represents all times beyond it
        tied = column <= bound if value == FIRST else column >= bound
        later = and_(later, not_(tied))
    # A mended value differs from the stored one; make sure that no page begins with the row that it follows.
    return or_(and_(later, ids != mark), and_(tied, later_id), column.is_(None))


def _has_rows(part: _Part, order: Order | None) -> bool:
    """Return whether a page may have rows of a part: rows with a due time never come after rows without one."""
    if part.due is None or order is None or order.field != "due_at":
        return True
    return order.after is None or order.after[0] is not None
