"""The statements of the SQL stores: what is tried inside a transaction, and undone if the database refuses it."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

from sqlalchemy import ColumnElement, case, null, text
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.core import OverRows, Statement
from duerow.stores.sql.statements.settle import SettleStatements

LARGEST_TOKEN: Final = 2**63 - 1


class SavepointStatements(SettleStatements):
    """What is tried, and what becomes of a row of which it cannot be done."""

    @cached_property
    def savepoint(self) -> Statement:
        """Mark the place in a transaction to which `to_savepoint` goes back."""
        return Statement(text(self.dialect.savepoints[0]))

    @cached_property
    def to_savepoint(self) -> Statement:
        """Undo what was done since `savepoint`."""
        return Statement(text(self.dialect.savepoints[1]))

    @cached_property
    def check_constraints(self) -> Statement | None:
        """Check now what is to be checked at the end of the transaction, where that can be put off."""
        check = self.dialect.savepoints[2]
        return None if check is None else Statement(text(check))

    @cached_property
    def set_aside(self) -> OverRows:
        """Bury rows whoever has them, and write nothing else; return their ids, keys, attempts and groups."""

        def build(given: Any) -> Executable:
            values = {
                **self._out_of_line,
                "status": const("dead"),
                "last_error": self._json(given.c.error),
                **self._turned,
                "token": self._next_token,
                **self._finished(self.now),
            }
            return self.dialect.change(
                self.message,
                self._same_row(given),
                values,
                [*self._ids, self._key, self.message.c.attempts, self._group],
                given,
            )

        return self._over(("id", "error"), build)

    @property
    def _next_token(self) -> ColumnElement[int]:
        """Another token than the one that a row has, even if that is the largest: this may be what is wrong with it."""
        token = self.message.c.token
        return case((token < const(LARGEST_TOKEN), token + const(1)), else_=const(0))

    @property
    def _out_of_line(self) -> dict[str, Any]:
        """What a write sets that takes a row out of line for good."""
        return {"due_at": null(), "behind_at": null()}
