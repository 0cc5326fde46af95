"""Statements that hand messages out: reserve, pop, and the order of groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Integer, Select, Text, and_, case, func, null, select
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.context import StatementGroup
from duerow.stores.sql.statements.core import OUTLINE, RECEIPT, RECORD, OverRows, Statement
from duerow.stores.sql.statements.in_parts import ForEach

MOST_VARIANTS: Final = 16
"""The statements kept for each kind of claim: from a floor or not, for 1, 2, 4, … kinds or all."""


class ReserveStatements(StatementGroup):
    """Statements that hand messages out: reserve, pop, and the order of groups."""

    @lru_cache(maxsize=MOST_VARIANTS)  # noqa: B019 - lives as long as the store
    def reserve(self, from_floor: bool, kinds: int = 0) -> Statement:
        """Lend the oldest due rows of a line without groups: leased until now + lease, or dead if used up.

        With `from_floor`, rows due before the bound value `floor` are skipped. Each row comes with the due time of the
        oldest row that was due when the statement began, leased or not: the floor for the next claim. With `kinds`,
        only rows of that many kinds are read.
        """
        due = self._due_ids(from_floor, kinds)
        which = self.context.is_among(due)
        answer = [*self.context.lent, *self._oldest(False, from_floor, kinds)]
        return Statement(self.dialect.change_picked(self.message, due, which, self._lend, answer))

    @lru_cache(maxsize=MOST_VARIANTS)  # noqa: B019 - lives as long as the store
    def lend_unread(self, from_floor: bool, kinds: int = 0) -> Statement:
        """Like `reserve`, but return only receipts, former due times and the floor."""
        due = self._due_ids(from_floor, kinds)
        which = [self.dialect.one_of(self.message.c.id, due)]
        answer = [*self._unread, *self._oldest(False, from_floor, kinds)]
        return Statement(self.dialect.change_picked(self.message, due, which, self._lend, answer))

    @cached_property
    def lend_picked_unread(self) -> OverRows:
        """Like `lend`, but return only receipts, former due times and groups."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            answer = [*self._unread, columns.group]
            return self.dialect.change(self.message, [columns.id == given.c.id], self._lend, answer, given)

        return self.over(("id",), build)

    @cached_property
    def leased_range(self) -> Statement:
        """Read the messages of a claim in a range of ids; the planner should use nothing but the range."""
        columns = self.message.c
        ids = columns.id.between(self.bound("first_in", BigInteger()), self.bound("last_in", BigInteger()))
        its = self.dialect.same(columns.leased_by, self.bound("consumer", Text()))
        of_queue = self.dialect.same(columns.queue, self.bound("queue_in", Text()))
        found = select(*self.context.record).where(ids, its, of_queue)
        return Statement(found.order_by(columns.id).limit(self.bound("limit_in", Integer())))

    @cached_property
    def message_headers(self) -> OverRows:
        """Read the rows of a queue whose token matches, as OUTLINE."""
        columns = self.message.c
        shown = [self.context.record[RECORD.index(name)] for name in OUTLINE]

        def build(given: Any) -> Executable:
            ours = and_(columns.id == given.c.id, self.dialect.same(columns.token, given.c.token))
            return select(*shown).join_from(given, self.message, ours).where(self.context.in_queue)

        return self.over(RECEIPT, build)

    @lru_cache(maxsize=MOST_VARIANTS)  # noqa: B019 - lives as long as the store
    def pop(self, from_floor: bool, kinds: int = 0) -> Statement:
        """Delete the oldest due rows of a line without groups; each with the time, and the floor as in `reserve`."""
        due = self._due_ids(from_floor, kinds)
        which = [self.dialect.one_of(self.message.c.id, due)]
        answer = [*self.context.record, self.now, *self._oldest(False, from_floor, kinds)]
        return Statement(self.dialect.remove_picked(self.message, due, which, answer))

    @lru_cache(maxsize=2 * MOST_VARIANTS)  # noqa: B019 - lives as long as the store
    def pick(self, grouped: bool, from_floor: bool, kinds: int = 0) -> Statement:
        """Lock the oldest due rows of a line and read their id, due time and group, and the floor as in `reserve`."""
        columns = self.message.c
        shown = (columns.id, columns.due_at, columns.group, *self._oldest(grouped, from_floor, kinds))
        return Statement(self._first_due(shown, grouped, from_floor, kinds))

    @cached_property
    def lend(self) -> OverRows:
        """Lend picked rows, as `reserve` does; if two rows of a group are lent at once, the second one fails."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            answer = [*self.context.lent, columns.priority, columns.group]
            return self.dialect.change(self.message, [columns.id == given.c.id], self._lend, answer, given)

        return self.over(("id",), build)

    @cached_property
    def take(self) -> OverRows:
        """Delete picked rows, as `pop` does."""

        def build(given: Any) -> Executable:
            return self.dialect.remove(self.message, given, ("id",), returning=[*self.context.record, self.now])

        return self.over(("id",), build)

    @cached_property
    def blockers(self) -> OverRows:
        """Read the ids that keep rows of groups back: one with a lower id, and one that is leased; null: none.

        Each is read a second time with a lock that its settlement waits for, null if it is being settled: a row that is
        put behind another one keeps that one locked until the wait is recorded.
        """
        columns = self.message.c
        other = self.message.alias("other")
        id = other.c.id
        group = select(id).where(*self.context.of_group(other, columns)).correlate(self.message)
        before = [self.dialect.below(group, other, columns.id, held) for held in (False, True)]
        leased = select(id).where(*self.context.lent_of_group(other, columns), id != columns.id).limit(const(1))
        leased = leased.correlate(self.message)
        lent = [one.scalar_subquery() for one in (leased, leased.with_for_update(read=True, skip_locked=True))]

        def build(given: Any) -> Executable:
            shown = [columns.id, columns.leased_by.is_not(None), before[0], lent[0], before[1], lent[1]]
            return self.dialect.joined(select(*shown), given, self.message, columns.id == given.c.id)

        return self.over(("id",), build)

    @cached_property
    def put_behind(self) -> OverRows:
        """Take rows of groups out of line until it is their turn; expired turns are over."""
        columns = self.message.c
        error = self.dialect.ended_lease(self.message, self.bound("attempts_in", Integer()))
        unsettled = columns.leased_until.is_not(None)

        def build(given: Any) -> Executable:
            values = {
                "due_at": null(),
                "behind_at": columns.due_at,
                "last_error": case((unsettled, error), else_=columns.last_error),
                **self.context.turned,
                # One that only waits keeps its token: whoever read it may still change it.
                "token": columns.token + case((unsettled, const(1)), else_=const(0)),
            }
            return self.dialect.change(self.message, [columns.id == given.c.id], values, given=given)

        return self.over(("id",), build)

    @cached_property
    def take_turns(self) -> OverRows:
        """Mark rows of groups that are about to be popped as leased, so that no other row of the group is leased."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            return self.dialect.change(
                self.message, [columns.id == given.c.id], {"leased_by": const("taken away")}, given=given
            )

        return self.over(("id",), build)

    @cached_property
    def promote_next(self) -> OverRows:
        """Put the first row of each given group that is not lent in line; return the queues and due times.

        Rows that other transactions hold are waited for one by one: if one leaves the group meanwhile, the next one is
        taken. Its own transaction could not put it in line if it began while the row before it had not left yet.
        """
        columns = self.message.c
        other = self.message.alias("other")

        def build(given: Any) -> Executable:
            group = self.context.of_group(other, given.c)
            first = select(other.c.id).where(*group, other.c.leased_by.is_(None)).limit(const(1))
            first = first.order_by(*self.dialect.group_order(other)).correlate(given).with_for_update()
            ids = select(first.scalar_subquery().label("id")).select_from(given)
            # Not only where it is behind: who puts it there at this moment is waited for, or ends this transaction.
            free = columns.leased_by.is_(None)
            firsts = ids.subquery("first")
            match = columns.id == firsts.c.id
            picked = self.dialect.joined(select(columns.id), firsts, self.message, match).where(free).with_for_update()
            due = func.coalesce(columns.behind_at, columns.due_at, type_=self.dialect.moment)
            values, answer = {"due_at": due, "behind_at": null()}, [columns.queue, columns.due_at]
            which = [self.dialect.one_of(columns.id, ids), free]
            return self.dialect.change_picked(self.message, picked, which, values, answer)

        return self.over(("queue", "group"), build)

    @cached_property
    def further_lines(self) -> OverRows:
        """Read the lowest priority in use between the given ones, in groups or not, and whether the queue is paused."""
        columns, names = self.message.c, ("grouped", "low", "high")

        def asked(given: Any) -> Select[Any]:
            def lowest(grouped: bool) -> Any:
                between = (columns.priority > given.low, columns.priority < given.high)
                in_line = (columns.due_at.is_not(None), self.context.in_group(grouped))
                found = self.dialect.first(columns.priority, self.context.in_queue, *between, *in_line)
                return found.correlate_except(self.message).scalar_subquery()

            return select(given.grouped, case((given.grouped, lowest(True)), else_=lowest(False)), self.context.paused)

        if self.dialect.ranges_by_rows:
            return self.over(names, lambda given: asked(given.c).select_from(given))
        return ForEach(self.dialect, names, asked)

    @lru_cache(maxsize=MOST_VARIANTS)  # noqa: B019 - lives as long as the store
    def next_due(self, kinds: int = 0) -> OverRows:
        """Read the next due time of each given line from the bound `floor` on, and the time.

        With `kinds`, only rows of that many kinds are read.
        """
        columns = self.message.c

        def build(given: Any) -> Executable:
            def first(grouped: bool) -> Any:
                in_line = (columns.due_at >= self.bound("floor", self.dialect.moment), self.context.in_group(grouped))
                line = (self.context.in_queue, columns.priority == given.c.priority, *self._of_kinds(kinds))
                return self.dialect.first(columns.due_at, *line, *in_line).correlate(given).scalar_subquery()

            found = case((given.c.grouped, first(True)), else_=first(False))
            return select(found, self.now).select_from(given)

        return self.over(("grouped", "priority"), build)

    @property
    def _unread(self) -> tuple[ColumnElement[Any], ...]:
        """The columns of UNREAD."""
        columns = self.message.c
        return (columns.id, columns.token, columns.status, columns.place_at)

    @cached_property
    def _lend(self) -> dict[str, Any]:
        """What every row is given that is lent, or buried since its attempts are used up."""
        columns = self.message.c
        attempts = self.bound("attempts_in", Integer())
        unsettled = self.context.unsettled
        used_up = and_(unsettled, columns.attempts >= attempts)
        until = self.context.lease_end
        error = self.dialect.ended_lease(self.message, attempts)
        return {
            "status": case((used_up, const("dead")), else_=self.context.lent_status),
            "due_at": case((used_up, null()), else_=until),
            "place_at": columns.due_at,
            "attempts": columns.attempts + case((used_up, const(0)), else_=const(1)),
            "token": columns.token + const(1),
            "leased_by": case((used_up, null()), else_=self.bound("consumer", Text())),
            "leased_until": case((used_up, null()), else_=until),
            "last_attempt_at": case((used_up, columns.last_attempt_at), else_=self.now),
            "last_error": case((unsettled, error), else_=columns.last_error),
            **self.context.finished(case((used_up, self.now), else_=null())),
        }

    def _due_ids(self, from_floor: bool, kinds: int) -> Select[Any]:
        return self._first_due(self.context.ids, False, from_floor, kinds)

    def _first_due(
        self, shown: Sequence[ColumnElement[Any]], grouped: bool, from_floor: bool, kinds: int
    ) -> Select[Any]:
        columns = self.message.c
        which = (*self.context.due_rows(grouped, from_floor), *self._of_kinds(kinds))
        due = select(*shown).where(*which).order_by(columns.due_at, *self.context.ids)
        due = self.dialect.by_line(due, self.message, grouped)
        due = due.limit(self.bound("limit_in", Integer()))
        return due.with_for_update(skip_locked=True, key_share=self.context.key_share)

    def _oldest(self, grouped: bool, from_floor: bool, kinds: int) -> list[Any]:
        if not self.dialect.keeps_dead_entries:
            return []
        rows = self.message.alias("oldest")
        due = (*self.context.due_rows(grouped, from_floor, rows), *self._of_kinds(kinds, rows))
        return [self.dialect.microseconds(select(func.min(rows.c.due_at)).where(*due).scalar_subquery())]

    def _of_kinds(self, kinds: int, rows: Any = None) -> list[ColumnElement[bool]]:
        """Rows of one of so many bound kinds; 0: of any."""
        if not kinds:
            return []
        column = (self.message if rows is None else rows).c.kind
        return [column.in_([self.bound(name, Text()) for name in kinds_in(kinds)])]


def kinds_in(kinds: int) -> list[str]:
    """Return the names of the bound values for this many kinds."""
    return [f"kind_{place}_in" for place in range(kinds)]
