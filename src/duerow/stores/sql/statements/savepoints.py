"""Statements to try work inside a transaction, and to undo it if the database refuses it."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

from sqlalchemy import ColumnElement, case, text
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.context import StatementGroup
from duerow.stores.sql.statements.core import OverRows, Statement

LARGEST_TOKEN: Final = 2**63 - 1


class SavepointStatements(StatementGroup):
    """Statements that set and undo savepoints, and set a refused row aside."""

    @cached_property
    def savepoint(self) -> Statement:
        """Set the savepoint to which `to_savepoint` goes back."""
        return Statement(text(self.dialect.savepoints[0]))

    @cached_property
    def to_savepoint(self) -> Statement:
        """Undo everything since `savepoint`."""
        return Statement(text(self.dialect.savepoints[1]))

    @cached_property
    def check_constraints(self) -> Statement | None:
        """Check deferred constraints now, if the database has any."""
        check = self.dialect.savepoints[2]
        return None if check is None else Statement(text(check))

    @cached_property
    def set_aside(self) -> OverRows:
        """Bury rows, leased or not, and write nothing else; return their ids, keys, attempts and groups."""

        def build(given: Any) -> Executable:
            values = {
                **self.context.left_line,
                "status": const("dead"),
                "last_error": self.json(given.c.error),
                **self.context.turned,
                "token": self._next_token,
                **self.context.finished(self.now),
            }
            return self.dialect.change(
                self.message,
                self.context.same_row(given),
                values,
                [*self.context.ids, self.context.key, self.message.c.attempts, self.context.group],
                given,
            )

        return self.over(("id", "error"), build)

    @property
    def _next_token(self) -> ColumnElement[int]:
        """A token that differs from the row's, even if that is the largest: this may be why the row was refused."""
        token = self.message.c.token
        return case((token < const(LARGEST_TOKEN), token + const(1)), else_=const(0))
