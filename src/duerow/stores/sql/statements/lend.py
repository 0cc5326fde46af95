"""Statements that lend messages to engines, which read the payloads themselves."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Integer, Text, select
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.statements.core import OUTLINE, RECEIPT, RECORD, OverRows, Statement
from duerow.stores.sql.statements.due_rows import MOST_VARIANTS, DueRowStatements


class LendStatements(DueRowStatements):
    """Statements that lend messages to engines, which read the payloads themselves."""

    @lru_cache(maxsize=MOST_VARIANTS)  # noqa: B019 - lives as long as the store
    def lend_unread(self, from_floor: bool, kinds: int = 0) -> Statement:
        """Like `reserve`, but return only receipts, former due times and the floor."""
        due, floor = self._due_ids(from_floor, kinds)
        which = [self.dialect.one_of(self.message.c.id, due)]
        answer = [*self._unread, *floor]
        return Statement(self.dialect.change_picked(self.message, due, which, self._lend, answer))

    @cached_property
    def lend_picked_unread(self) -> OverRows:
        """Like `lend`, but return only receipts, former due times and groups."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            answer = [*self._unread, columns.group]
            return self.dialect.change(self.message, self.context.same_row(given), self._lend, answer, given)

        return self.over(("id",), build)

    @cached_property
    def leased_range(self) -> Statement:
        """Read the messages of a claim in a range of ids; the planner should use only the range."""
        columns = self.message.c
        ids = columns.id.between(self.bound("first_in", BigInteger()), self.bound("last_in", BigInteger()))
        its = self.dialect.same(columns.leased_by, self.bound("consumer", Text()))
        of_queue = self.dialect.same(columns.queue, self.bound("queue_in", Text()))
        found = select(*self.context.record).where(ids, its, of_queue)
        return Statement(found.order_by(columns.id).limit(self.bound("limit_in", Integer())))

    @cached_property
    def message_headers(self) -> OverRows:
        """Read the rows of a queue whose token matches, with the columns of OUTLINE."""
        shown = [self.context.record[RECORD.index(name)] for name in OUTLINE]

        def build(given: Any) -> Executable:
            found = select(*shown).join_from(given, self.message, self.context.held_by(given))
            return found.where(self.context.in_queue)

        return self.over(RECEIPT, build)

    @property
    def _unread(self) -> tuple[ColumnElement[Any], ...]:
        """The columns of UNREAD."""
        columns = self.message.c
        return (columns.id, columns.token, columns.status, columns.place_at)
