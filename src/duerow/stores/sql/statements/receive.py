"""Statements for imports from another database."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.context import StatementContext, StatementGroup
from duerow.stores.sql.statements.core import OverRows
from duerow.stores.sql.statements.history import PAST
from duerow.stores.sql.statements.push import PushStatements

ARRIVED: Final = (
    "id",
    "queue",
    "key",
    "kind",
    "payload",
    "headers",
    "group",
    "priority",
    "status",
    "due_at",
    "first_due_at",
    "attempts",
    "token",
    "created_at",
    "last_attempt_at",
    "last_error",
)
"""The columns of an imported message; all other columns have the values of a new message."""

TOLD: Final = (*PAST, "until")
"""The columns of an imported turn."""


class ReceiveStatements(StatementGroup):
    """Statements for imports from another database.

    Args:
        context: shared by all statements.
        push: adds messages whose key is free.
    """

    def __init__(self, context: StatementContext, push: PushStatements) -> None:
        super().__init__(context)
        self._push = push

    @cached_property
    def noted_of(self) -> OverRows:
        """Read which of the given names are noted."""
        name = self.tables.noted.c.name
        return self.over(("name",), lambda given: self.dialect.look_up([name], given, (), {"name": name}, locked=False))

    @cached_property
    def insert_arrived(self) -> OverRows:
        """Add messages in their former state, with given ids; return the ids of messages whose key was free."""

        def build(given: Any) -> Executable:
            values: dict[str, Any] = {name: given.c[name] for name in ARRIVED}
            values |= {name: self.json(values[name]) for name in ("payload", "headers", "last_error")}
            rows = select(*values.values()).select_from(given).where(const(1) == const(1))
            rows = rows.order_by(given.c.queue, given.c.key, given.c.id)
            added = self.dialect.insert(self.message).from_select(list(values), rows)
            return self._push.if_free(added, [self.message.c.id], told_ids=True)

        return self.over(ARRIVED, build)

    @cached_property
    def insert_turns(self) -> OverRows:
        """Add finished turns unchanged."""

        def build(given: Any) -> Executable:
            values: dict[str, Any] = {name: given.c[name] for name in TOLD}
            values |= {name: self.json(values[name]) for name in ("payload", "headers", "error")}
            rows = select(*values.values()).select_from(given)
            return self.dialect.insert(self.tables.history).from_select(list(values), rows)

        return self.over(TOLD, build)
