"""Statements for operators' changes."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any, Final

from sqlalchemy import BigInteger, Boolean, ColumnElement, Integer, Text, case, null, or_, select, union_all
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.context import StatementContext, StatementGroup
from duerow.stores.sql.statements.core import RECEIPT, OverRows, Statement
from duerow.stores.sql.statements.settle import SettleStatements

CHANGED: Final[dict[str, tuple[str, ...]]] = {
    "payload": ("kind", "payload"),
    "headers": ("headers",),
    "priority": ("priority",),
    "due": ("due", "delay"),
    "stopped": (),
    "anew": (),
}
"""The parts of a message that an operator may change, and the value columns of each."""


class ChangeStatements(StatementGroup):
    """Statements for operators' changes.

    Args:
        context: shared by all statements.
        settle: changes rows whose token matches.
    """

    def __init__(self, context: StatementContext, settle: SettleStatements) -> None:
        super().__init__(context)
        self._settle = settle

    @cached_property
    def remove(self) -> OverRows:
        """Delete the given rows, leased ones only with `even_if_leased`; return their ids."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            ours = columns.queue == self.bound("queue_in", Text())
            return self.dialect.remove(self.message, given, ("id",), [ours, self._free], [columns.id])

        return self.over(("id",), build)

    @lru_cache(maxsize=64)  # noqa: B019 - lives as long as the store
    def change(self, parts: frozenset[str]) -> OverRows:
        """Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.

        `parts` names the changes: `payload`, `headers`, `priority`, `due`, `stopped`, `anew`. Without `due` and
        `stopped`, a row keeps its place in line, except that a leased row becomes due now.
        """
        columns = self.message.c
        running = columns.leased_until > self.now
        rows = (self.context.in_queue, columns.status != const("done"), self._free)

        def build(given: Any) -> Executable:
            values: dict[str, Any] = {"due_at": case((running, self.now), else_=columns.due_at)}
            if "payload" in parts:
                values |= {"kind": given.c.kind, "payload": self.json(given.c.payload)}
            if "headers" in parts:
                values["headers"] = self.json(given.c.headers)
            if "priority" in parts:
                values["priority"] = given.c.priority
            if "stopped" in parts:
                values |= {"due_at": null(), "behind_at": null()}
            if "due" in parts:
                alive = case((columns.status == const("dead"), const("error")), else_=columns.status)
                values |= {"due_at": self.context.due(given.c.due, given.c.delay), "behind_at": null(), "status": alive}
            if "anew" in parts:
                values |= {
                    "status": const("new"),
                    "attempts": const(0),
                    "last_attempt_at": null(),
                    "last_error": null(),
                }
            return self._settle.change_owned(given, {**values, **self.context.turned}, [columns.id], rows)

        return self.over((*RECEIPT, *(name for part in CHANGED if part in parts for name in CHANGED[part])), build)

    @cached_property
    def changeable(self) -> OverRows:
        """Read the ids of the rows that `change` would change."""
        columns = self.message.c
        rows = (self.context.in_queue, columns.status != const("done"), self._free)

        def build(given: Any) -> Executable:
            found = self.dialect.joined(select(columns.id), given, self.message, self.context.held_by(given))
            return found.where(*rows)

        return self.over(RECEIPT, build)

    @property
    def _free(self) -> ColumnElement[bool]:
        """Whether a row is not leased, or the bound `even_if_leased` allows changing it anyway."""
        until = self.message.c.leased_until
        return or_(self.bound("even_if_leased", Boolean()), until.is_(None), until <= self.now)

    @cached_property
    def purge(self) -> Statement:
        """Delete some messages of a queue in any state, finding each kind by its own index; return their ids."""
        columns = self.message.c
        kinds = ((columns.due_at.is_not(None), self.context.in_group(False)), *self.context.kinds)
        limit, old = (self.bound("limit_in", Integer()), columns.id <= self.bound("last_in", BigInteger()))
        some = [select(columns.id).where(self.context.in_queue, *kind, old).limit(limit).subquery() for kind in kinds]
        ids = union_all(*(select(part.c.id) for part in some)).subquery("some")
        picked = select(ids.c.id).limit(limit)
        return Statement(self.dialect.remove_picked(self.message, picked, [columns.id.in_(picked)], [columns.id]))
