"""Statements for the sets of joins and their parts."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from sqlalchemy import Integer, and_, select, true, tuple_
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.context import StatementGroup
from duerow.stores.sql.statements.core import OverRows, Statement


class JoinStatements(StatementGroup):
    """Statements for the sets of joins and their parts."""

    @cached_property
    def lock_sets(self) -> OverRows:
        """Lock the rows of sets, and add missing ones; return the rows, and whether each set was complete before.

        Each row is written, so at any isolation level a second transaction sees the changes of the first.
        """
        sets = self.tables.set
        columns = sets.c

        def build(given: Any) -> Executable:
            fresh = {"queue": given.c.queue, "correlation": given.c.correlation, "parts": const(0)}
            rows = select(*fresh.values()).select_from(given).where(const(1) == const(1))
            rows = rows.order_by(given.c.queue, given.c.correlation)
            added: Any = self.dialect.insert(sets).from_select(list(fresh), rows)
            locked = self.dialect.put(added, list(sets.primary_key), lambda _: {"parts": columns.parts})
            closed = columns.closed_until > self.now
            shown = (columns.queue, columns.correlation, columns.set_id, columns.parts, closed)
            return self.dialect.answer_put(locked, shown, true())

        return self.over(("queue", "correlation"), build)

    @cached_property
    def standing_sets(self) -> OverRows:
        """Read the ids and tokens of sets' messages that still exist, and lock them if the database can."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            match = and_(*self.context.same_row(given), columns.queue == given.c.queue)
            found = self.dialect.joined(select(columns.id, columns.token), given, self.message, match)
            return found.with_for_update(of=self.message)

        return self.over(("id", "queue"), build)

    @cached_property
    def parts(self) -> OverRows:
        """Read the parts of sets, unordered, because sorting can make a database read the parts of all sets."""
        columns = self.tables.part.c
        content = self.dialect.as_text(columns.content)

        def build(given: Any) -> Executable:
            found = select(columns.set_id, columns.part_id, content)
            return self.dialect.joined(found, given, self.tables.part, self.dialect.keyed(columns.set_id, given.c.id))

        return self.over(("id",), build)

    @cached_property
    def insert_parts(self) -> OverRows:
        """Add parts to sets."""
        names = ("set_id", "part_id", "content")

        def build(given: Any) -> Executable:
            values = (given.c.set_id, given.c.part_id, self.json(given.c.content))
            rows = select(*values).select_from(given)
            return self.dialect.insert(self.tables.part).from_select(list(names), rows)

        return self.over(names, build)

    @cached_property
    def delete_parts(self) -> OverRows:
        """Delete the parts of sets."""

        def build(given: Any) -> Executable:
            return self.dialect.remove(self.tables.part, given, ("set_id",))

        return self.over(("set_id",), build)

    @cached_property
    def note_sets(self) -> OverRows:
        """Write the messages of sets, their numbers of parts, and how long their completion is remembered.

        The rows are locked, so they exist; on every database, an upsert finds each row by its key.
        """
        sets = self.tables.set

        def build(given: Any) -> Executable:
            values = {
                "queue": given.c.queue,
                "correlation": given.c.correlation,
                "set_id": given.c.set_id,
                "parts": given.c.parts,
                "closed_until": self.dialect.later(self.now, given.c.remember),
            }
            rows = select(*values.values()).select_from(given).where(const(1) == const(1))
            noted: Any = self.dialect.insert(sets).from_select(list(values), rows)
            changed = ("set_id", "parts", "closed_until")
            return self.dialect.put(  # type: ignore[no-any-return]
                noted, list(sets.primary_key), lambda new: {name: new[name] for name in changed}
            )

        return self.over(("queue", "correlation", "set_id", "parts", "remember"), build)

    @cached_property
    def forget_sets(self) -> OverRows:
        """Delete the rows of sets."""
        sets = self.tables.set

        def build(given: Any) -> Executable:
            return self.dialect.remove(sets, given, ("queue", "correlation"))

        return self.over(("queue", "correlation"), build)

    @cached_property
    def prune_sets(self) -> Statement:
        """Delete the rows of sets whose completion is no longer remembered."""
        sets = self.tables.set
        past = sets.c.closed_until <= self.now
        oldest = select(sets.c.queue, sets.c.correlation).where(past).order_by(sets.c.closed_until)
        oldest = oldest.limit(self.bound("limit_in", Integer())).with_for_update(skip_locked=True)
        these = tuple_(sets.c.queue, sets.c.correlation).in_(oldest)
        return Statement(self.dialect.remove_picked(sets, oldest, [these, past]))
