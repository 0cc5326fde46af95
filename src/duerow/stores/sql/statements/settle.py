"""Statements that end or extend leases."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, func, null, select
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.context import StatementGroup
from duerow.stores.sql.statements.core import ENTRY, RECEIPT, OverRows


class SettleStatements(StatementGroup):
    """Statements that end or extend leases."""

    @cached_property
    def extend(self) -> OverRows:
        """Extend leases to now + lease; return id, token and new end of those whose token matches."""
        until = self.context.lease_end
        columns = self.message.c

        def build(given: Any) -> Executable:
            values = {"due_at": until, "leased_until": until}
            answer = [*self.context.ids, columns.token, columns.leased_until]
            return self.change_owned(given, values, answer)

        return self.over(RECEIPT, build)

    @cached_property
    def commit(self) -> OverRows:
        """Delete the rows whose token matches; return their receipts."""

        def build(given: Any) -> Executable:
            answer = [self.message.c.id, self.message.c.token]
            return self.dialect.remove(self.message, given, RECEIPT, returning=answer)

        return self.over(RECEIPT, build)

    @cached_property
    def roll_back(self) -> OverRows:
        """Give rows whose token matches a new due time and an error; return their receipts."""

        def build(given: Any) -> Executable:
            due = self.dialect.later(self.now, given.c.delay)
            return self._turn(given, status=const("error"), due_at=due, last_error=self._kept_error(given))

        return self.over((*RECEIPT, "delay", "error"), build)

    @cached_property
    def bury(self) -> OverRows:
        """Bury rows whose token matches, with an error; return their receipts."""

        def build(given: Any) -> Executable:
            error = self._kept_error(given)
            return self._turn(
                given, status=const("dead"), due_at=null(), last_error=error, **self.context.finished(self.now)
            )

        return self.over((*RECEIPT, "error"), build)

    @cached_property
    def release(self) -> OverRows:
        """Restore the place in line and the number of attempts of rows whose token matches; return their receipts."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            due = func.coalesce(given.c.due, columns.place_at, columns.first_due_at, type_=self.dialect.moment)
            return self._turn(given, due_at=due, attempts=columns.attempts - const(1))

        return self.over((*RECEIPT, "due"), build)

    @cached_property
    def move(self) -> OverRows:
        """Send rows whose token matches to another queue; return their receipts."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            due = self.context.due(given.c.due, given.c.delay)
            return self._turn(
                given,
                queue=given.c.queue,
                key=given.c.key,
                kind=func.coalesce(given.c.kind, columns.kind),
                payload=func.coalesce(self.json(given.c.payload), columns.payload),
                headers=self.json(given.c.headers),
                group=given.c.group,
                priority=given.c.priority,
                status=const("new"),
                due_at=due,
                first_due_at=due,
                attempts=const(0),
                last_attempt_at=null(),
                last_error=null(),
            )

        return self.over((*RECEIPT, *ENTRY[1:]), build)

    @cached_property
    def owned(self) -> OverRows:
        """Read the rows whose token matches, and lock them if the database can."""

        def build(given: Any) -> Executable:
            found = self.dialect.joined(select(*self.context.record), given, self.message, self.context.held_by(given))
            return found.with_for_update(of=self.message)

        return self.over(RECEIPT, build)

    def _turn(self, given: Any, **values: Any) -> Executable:
        """End turns: set these values, end the lease, and increment the token; return the receipts that matched."""
        columns = self.message.c
        return self.change_owned(
            given, {**values, **self.context.turned}, [*self.context.ids, columns.token - const(1)]
        )

    def _kept_error(self, given: Any) -> ColumnElement[Any]:
        return func.coalesce(self.json(given.c.error), self.message.c.last_error)

    def change_owned(
        self,
        given: Any,
        values: dict[str, Any],
        answer: Sequence[ColumnElement[Any]],
        which: Sequence[ColumnElement[bool]] = (),
    ) -> Executable:
        """Change the rows whose token matches, and return the columns in `answer`."""
        return self.dialect.change(self.message, [self.context.held_by(given), *which], values, answer, given)
