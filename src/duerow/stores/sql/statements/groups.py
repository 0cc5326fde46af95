"""Statements that keep the order of groups: one message of a group is leased at a time."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from sqlalchemy import Integer, case, func, null, select
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.context import StatementGroup
from duerow.stores.sql.statements.core import OverRows


class GroupStatements(StatementGroup):
    """Statements that keep the order of groups: one message of a group is leased at a time."""

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
