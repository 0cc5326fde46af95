"""Statements that keep the order of groups: one message of a group is leased at a time."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from sqlalchemy import Integer, and_, case, func, null, select
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.context import StatementGroup
from duerow.stores.sql.statements.core import OverRows


class GroupStatements(StatementGroup):
    """Statements that keep the order of groups: one message of a group is leased at a time."""

    @cached_property
    def blockers(self) -> OverRows:
        """Read the ids that hold back rows of groups: a row with a lower id, and a leased row; null if there is none.

        Each id is read a second time with a lock, and is then null if that row is being settled. Settlements wait for
        this lock, so a row that others are put behind stays locked until the wait is recorded.
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
            return self.dialect.joined(select(*shown), given, self.message, and_(*self.context.same_row(given)))

        return self.over(("id",), build)

    @cached_property
    def put_behind(self) -> OverRows:
        """Take rows of groups out of line until it is their turn; this ends expired turns."""
        columns = self.message.c
        error = self.dialect.ended_lease(self.message, self.bound("attempts_in", Integer()))
        unsettled = columns.leased_until.is_not(None)

        def build(given: Any) -> Executable:
            values = {
                "due_at": null(),
                "behind_at": columns.due_at,
                "last_error": case((unsettled, error), else_=columns.last_error),
                **self.context.turned,
                # A row that only waits keeps its token, so operators who have read it can still change it.
                "token": columns.token + case((unsettled, const(1)), else_=const(0)),
            }
            return self.dialect.change(self.message, self.context.same_row(given), values, given=given)

        return self.over(("id",), build)

    @cached_property
    def take_turns(self) -> OverRows:
        """Mark rows of groups that are about to be popped as leased, so that no other row of the group is leased."""

        def build(given: Any) -> Executable:
            taken = {"leased_by": const("taken away")}
            return self.dialect.change(self.message, self.context.same_row(given), taken, given=given)

        return self.over(("id",), build)

    @cached_property
    def promote_next(self) -> OverRows:
        """Put the first unleased row of each given group in line; return the queues and due times.

        If another transaction holds the row, this waits for it; if that row then leaves the group, the next one is
        taken. The transaction that wrote a row may have begun before the previous row left, so it could not do this.
        """
        columns = self.message.c
        other = self.message.alias("other")

        def build(given: Any) -> Executable:
            group = self.context.of_group(other, given.c)
            first = select(other.c.id).where(*group, other.c.leased_by.is_(None)).limit(const(1))
            first = first.order_by(*self.dialect.group_order(other)).correlate(given).with_for_update()
            ids = select(first.scalar_subquery().label("id")).select_from(given)
            # Match the row even if it is not behind: a transaction that is just putting it there is waited for, or
            # ends this one.
            free = columns.leased_by.is_(None)
            firsts = ids.subquery("first")
            match = columns.id == firsts.c.id
            picked = self.dialect.joined(select(columns.id), firsts, self.message, match).where(free).with_for_update()
            due = func.coalesce(columns.behind_at, columns.due_at, type_=self.dialect.moment)
            values, answer = {"due_at": due, "behind_at": null()}, [columns.queue, columns.due_at]
            which = [self.dialect.one_of(columns.id, ids), free]
            return self.dialect.change_picked(self.message, picked, which, values, answer)

        return self.over(("queue", "group"), build)
