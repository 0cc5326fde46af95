"""Statements that read messages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    Select,
    SmallInteger,
    Text,
    exists,
    func,
    select,
    union_all,
)

from duerow.conditions.fields import Path
from duerow.conditions.model import Condition
from duerow.store import Indexed, Order
from duerow.stores.sql.conditions import Conditions
from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.payload_indexes import index_name
from duerow.stores.sql.statements.context import StatementGroup, unserved
from duerow.stores.sql.statements.core import RECORD, Statement
from duerow.stores.sql.statements.pages import comes_after


class _Asked(NamedTuple):
    """A group, given by its queue and name."""

    queue: ColumnElement[Any]
    group: ColumnElement[Any]


class ReadStatements(StatementGroup):
    """Statements that read messages."""

    @lru_cache(maxsize=64)  # noqa: B019 - lives as long as the store
    def find(self, by: tuple[str, ...]) -> Statement:
        """Read messages of a queue by the filters in `by`: ids, keys, statuses, after_id; `by_id` sets the order.

        `live` and `resting` stand for statuses that have an index, by key and by id.
        """
        columns = self.message.c
        in_line = [columns.priority, *self.dialect.nulls_last(self._stands), columns.id]
        # With keys, plus zero: otherwise, a planner may read the whole table by its primary key.
        by_id = columns.id + const(0) if "keys" in by else columns.id
        line = [by_id] if "by_id" in by else in_line
        found = self._found(by).order_by(*line).limit(self.bound("limit_in", Integer()))
        return Statement(found, bounded=not {"ids", "keys"} & set(by))

    def search(
        self,
        by: tuple[str, ...],
        where: Condition | None,
        order: Order,
        locked: bool,
        indexed_of: tuple[str, Sequence[Indexed]] | None = None,
    ) -> Statement:
        """Like `find`, with a condition and in any order; built for one use, with the condition's values.

        `indexed_of` is the queue and its indexed payload fields.
        """
        columns = self.message.c
        found = self._found(by)
        if where is not None:
            found = self._holds(found, where, indexed_of)
        column = self.context.conditions.column(order.field)
        if order.after is not None:
            found = found.where(comes_after(self.context.conditions, column, order, *order.after))
        by_value = self.dialect.nulls_last(column, order.descending)
        ends = [*by_value, columns.id.desc() if order.descending else columns.id]
        if order.field == "id":
            ends = ends[-1:] if indexed_of is None or where is None else [self._by_id(order, where, *indexed_of)]
        found = found.order_by(*ends).limit(self.bound("limit_in", Integer()))
        bounded = where is not None or not {"ids", "keys"} & set(by)
        return Statement(found.with_for_update(of=self.message) if locked else found, kept=False, bounded=bounded)

    def _by_id(self, order: Order, where: Condition, queue: str, indexed: Sequence[Indexed]) -> ColumnElement[Any]:
        """Return the order of ids; if an index serves a range, in a form that forces the database to sort.

        Otherwise, a planner would rather read all rows of the table in the order of their ids.
        """
        id_: ColumnElement[Any] = self.message.c.id
        if self._conditions(queue, indexed).is_of_range(where):
            id_ = id_ + const(0)
        return id_.desc() if order.descending else id_.asc()

    def scan(self, by: tuple[str, ...], where: Condition | None, shown: Sequence[str] = RECORD) -> Statement:
        """Read messages of many queues by the index on ids, filtered by `queues` and `statuses`.

        With `descending`, start at the highest id.
        """
        columns = self.message.c
        by_name = dict(zip(RECORD, self.context.record, strict=True))
        found = select(*(by_name[name] for name in shown))
        for name, column in (("queues", columns.queue), ("statuses", columns.status)):
            if name in by:
                found = found.where(self.dialect.among(unserved(column), name))
        if where is not None:
            found = found.where(self.context.conditions.clause(where))
        id_ = columns.id
        found = found.where(id_ <= self.bound("last", BigInteger()))
        if "descending" not in by:
            found = found.where(id_ > self.bound("after", BigInteger()))
        found = found.order_by(id_.desc() if "descending" in by else id_)
        return Statement(found.limit(self.bound("limit_in", Integer())), kept=False)

    def tally(
        self,
        where: Condition | None,
        by: Path | None,
        limited: bool,
        resting: bool,
        indexed_of: tuple[str, Sequence[Indexed]] | None = None,
    ) -> Statement:
        """Count the first `limit_in` rows of a queue that match a condition, by a value.

        With `resting`, count only rows that are neither in line nor behind others, by their own index. `indexed_of` is
        the same as in `search`.
        """
        value = const(0) if by is None else self.context.conditions.value(by)
        found = select(value.label("value")).where(self.context.in_queue)
        if resting:
            found = found.where(*self.context.resting)
        if where is not None:
            found = self._holds(found, where, indexed_of)
        if limited:
            found = found.limit(self.bound("limit_in", Integer()))
        rows = found.subquery("found")
        return Statement(select(rows.c.value, func.count()).group_by(rows.c.value), kept=False, bounded=True)

    def is_served(self, where: Condition, queue: str, indexed: Sequence[Indexed]) -> bool:
        """Return whether an index on a queue's payload fields can find the messages that match a condition."""
        return self._conditions(queue, indexed).is_served(where)

    def _holds(
        self, found: Select[Any], where: Condition, indexed_of: tuple[str, Sequence[Indexed]] | None
    ) -> Select[Any]:
        """Restrict rows to those that match a condition, using the indexes on a queue's payload fields if it has any.

        These indexes cover only one queue, so the statement has to name the queue in the same form.
        """
        if indexed_of is None:
            return found.where(self.context.conditions.clause(where))
        queue, indexed = indexed_of
        return found.where(self.context.of_queue(queue), self._conditions(queue, indexed).clause(where))

    def _conditions(self, queue: str, indexed: Sequence[Indexed]) -> Conditions:
        named = {index_name(self.tables.prefix, queue, field): field for field in indexed}
        return Conditions(self.dialect, self.message, named)

    def _found(self, by: tuple[str, ...]) -> Select[Any]:
        columns = self.message.c
        found = select(*self.context.record).where(columns.queue == self.bound("queue_in", Text()))
        if "live" in by:
            key, live = self.dialect.live_key(self.message, self.context.live)
            found = found.where(*live)
        else:
            key = columns.key
        if "resting" in by:
            found = found.where(*self.context.resting)
        for name, column in (("ids", columns.id), ("keys", key), ("statuses", columns.status)):
            if name in by:
                found = found.where(self.dialect.among(column, name))
        if "after_id" in by:
            found = found.where(columns.id > self.bound("after_id", BigInteger()))
        return found

    @property
    def _stands(self) -> ColumnElement[Any]:
        """The due time of a row, even if the row waits behind others of its group."""
        columns = self.message.c
        return func.coalesce(columns.due_at, columns.behind_at, type_=self.dialect.moment)

    @lru_cache(maxsize=2)  # noqa: B019 - lives as long as the store
    def peek(self, grouped: bool) -> Statement:
        """Read the oldest due rows of a line; in groups, only rows that may be handed out."""
        columns = self.message.c
        free: list[ColumnElement[bool]] = []
        if grouped:
            other = self.message.alias("other")
            leased = exists().where(*self.context.lent_of_group(other, columns), other.c.id != columns.id)
            group = select(other.c.id).where(*self.context.of_group(other, columns)).correlate(self.message)
            free = [self.dialect.none_below(group, other, columns.id), ~leased]
        due = select(*self.context.record).where(*self.context.due_rows(grouped, False), *free)
        return Statement(due.order_by(columns.due_at, columns.id).limit(self.bound("limit_in", Integer())))

    @cached_property
    def count(self) -> Statement:
        """Count a queue's rows by status: rows in line, behind others and at rest, each kind by its own index."""
        columns = self.message.c
        in_line = columns.due_at.is_not(None)
        behind = (columns.due_at.is_(None), columns.behind_at.is_not(None), *self.context.in_live_group)
        kinds: list[tuple[ColumnElement[bool], ...]] = [
            (in_line, self.context.in_group(False)),
            (in_line, self.context.in_group(True)),
            behind,
            self.context.resting,
        ]
        parts = [
            select(columns.status, func.count().label("number"))
            .where(self.context.in_queue, *kind)
            .group_by(columns.status)
            for kind in kinds
        ]
        return Statement(union_all(*parts), bounded=True)

    @lru_cache(maxsize=4)  # noqa: B019 - lives as long as the store
    def in_line(self, grouped: bool, due: bool) -> Statement:
        """Count the rows of a line that are due, or those that are not, by whether they are leased, up to a limit.

        Each count comes with the first due time.
        """
        columns = self.message.c
        line = (
            self.context.in_queue,
            columns.priority == self.bound("priority_in", SmallInteger()),
            self.context.in_group(grouped),
        )
        when = columns.due_at <= self.now if due else columns.due_at > self.now
        lent = (const(1) == const(0)) if due else columns.leased_by.is_not(None)
        shown = [columns.due_at] if due else [lent.label("lent"), columns.due_at]
        some = select(*shown).where(*line, when).order_by(columns.due_at)
        first = some.limit(self.bound("limit_in", Integer())).subquery("first")
        numbers = (func.count(), func.min(first.c.due_at, type_=self.dialect.moment))
        if due:  # reads only the index, and needs no grouping
            return Statement(select(lent, *numbers).select_from(first))
        return Statement(select(first.c.lent, *numbers).group_by(first.c.lent))

    @cached_property
    def out_of_line(self) -> Statement:
        """Count the dead, stopped and waiting rows of a queue, which are in no line, each up to a limit."""
        columns = self.message.c
        limit = self.bound("limit_in", Integer())
        behind = (*self.context.in_live_group, columns.due_at.is_(None), columns.behind_at.is_not(None))
        kinds = {
            "dead": (*self.context.resting, ~self.context.live),
            "stopped": self.dialect.stopped(self.message),
            "waiting": behind,
        }
        parts = []
        for name, which in kinds.items():
            some = select(columns.id).where(self.context.in_queue, *which).limit(limit)
            some = self.dialect.by_group(some, self.message) if which is behind else some
            parts.append(select(func.count()).select_from(some.subquery(name)).scalar_subquery())
        paused = self.context.is_paused(self.bound("queue_in", Text()))
        return Statement(select(*parts, paused, self.now))

    @cached_property
    def blocker(self) -> Statement:
        """Read the message of a group that holds back the given one: the leased one, or else the first."""
        other = self.message.alias("other")
        columns, id = other.c, self.bound("id_in", BigInteger())
        asked = _Asked(self.bound("queue_in", Text()), self.bound("group_in", Text()))
        lent = select(columns.id).where(*self.context.lent_of_group(other, asked), columns.id != id).limit(const(1))
        before = select(columns.id).where(*self.context.of_group(other, asked), columns.id < id)
        before = before.order_by(*self.dialect.group_order(other)).limit(const(1))
        found = func.coalesce(lent.scalar_subquery(), before.scalar_subquery())
        return Statement(select(*self.context.record).where(self.message.c.id == found), bounded=True)

    @cached_property
    def time(self) -> Statement:
        """Read the time."""
        return Statement(select(self.now))
