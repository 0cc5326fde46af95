"""Statements for entries that are staged, and become messages when they are published."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any, Final

from sqlalchemy import BigInteger, Boolean, Integer, Text, and_, case, func, null, select
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.context import StatementContext, StatementGroup
from duerow.stores.sql.statements.core import ENTRY, OverRows, Statement
from duerow.stores.sql.statements.history import HistoryStatements
from duerow.stores.sql.statements.push import PushStatements

STAGED: Final = ("staging_id", "place", *ENTRY[1:])
"""The columns of a staged entry."""


class StageStatements(StatementGroup):
    """Statements that stage and publish entries.

    Args:
        context: shared by all statements.
        push: adds messages.
        history: finds expired rows.
    """

    def __init__(self, context: StatementContext, push: PushStatements, history: HistoryStatements) -> None:
        super().__init__(context)
        self._push, self._history = push, history

    @cached_property
    def note_staging(self) -> Statement:
        """Note that a part of a batch stages entries; return the number of the staging."""
        staging = self.tables.staging
        values = {
            "batch": self.bound("batch_in", Text()),
            "part": self.bound("part_in", Text()),
            "entries": self.bound("entries_in", Integer()),
            "keyed": self.bound("keyed_in", Boolean()),
            "grouped": self.bound("grouped_in", Boolean()),
            "lines": self.json(self.bound("lines_in", Text())),
            "due": self.bound("due_in", self.dialect.moment),
            "staged_at": self.now,
        }
        return Statement(self.dialect.insert(staging).values(values).returning(staging.c.id))

    @cached_property
    def stage(self) -> OverRows:
        """Keep entries until they are published."""

        def build(given: Any) -> Executable:
            values = {name: given.c[name] for name in STAGED}
            values |= {name: self.json(values[name]) for name in ("payload", "headers")}
            rows = select(*values.values()).select_from(given)
            return self.dialect.insert(self.tables.staged).from_select(list(values), rows)

        return self.over(STAGED, build)

    @cached_property
    def stagings(self) -> Statement:
        """Read the stagings of a batch in order, and lock them against a concurrent publish or discard."""
        columns = self.tables.staging.c
        lines = self.dialect.as_text(columns.lines).label("lines")
        shown = (columns.id, columns.part, columns.entries, columns.keyed, columns.grouped, lines, columns.due)
        found = select(*shown).where(columns.batch == self.bound("batch_in", Text()))
        return Statement(found.order_by(columns.id).with_for_update())

    @lru_cache(maxsize=4)  # noqa: B019 - lives as long as the store
    def publish(self, keyed: bool, grouped: bool) -> Statement:
        """Push the entries of a staging, in their order; with `keyed`, skip entries whose key is held.

        With `grouped`, all entries of a group except the first are put behind the first.
        """
        staged = self.tables.staged.c
        fresh = self._push.fresh({name: staged[name] for name in ENTRY[1:]})
        if grouped:
            number = func.row_number().over(partition_by=(staged.queue, staged.group), order_by=staged.place)
            behind, due = and_(staged.group.is_not(None), number > const(1)), fresh["due_at"]
            fresh["due_at"] = case((behind, null()), else_=due)
            fresh["behind_at"] = case((behind, due), else_=null())
        rows = select(*fresh.values()).where(staged.staging_id == self.bound("staging_in", BigInteger()))
        added = self.dialect.insert(self.message).from_select(list(fresh), rows.order_by(staged.place))
        return Statement(self._push.if_free(added, ()) if keyed else added)

    @cached_property
    def staged(self) -> Statement:
        """Read the entries of a staging in their order, starting at a place."""
        columns = self.tables.staged.c
        shown = [
            self.dialect.as_text(columns[name]).label(name)
            if columns[name].type is self.dialect.json
            else columns[name]
            for name in ENTRY[1:]
        ]
        these = (
            columns.staging_id == self.bound("staging_in", BigInteger()),
            columns.place >= self.bound("place_in", Integer()),
        )
        return Statement(select(*shown).where(*these).order_by(columns.place).limit(self.bound("limit_in", Integer())))

    @cached_property
    def forget_staged(self) -> OverRows:
        """Delete the entries of the given stagings."""
        staged = self.tables.staged
        return self.over(("staging_id",), lambda given: self.dialect.remove(staged, given, ("staging_id",)))

    @cached_property
    def forget_stagings(self) -> OverRows:
        """Delete the given stagings."""
        staging = self.tables.staging
        return self.over(("id",), lambda given: self.dialect.remove(staging, given, ("id",)))

    @cached_property
    def old_stagings(self) -> Statement:
        """Lock the oldest expired stagings, and read their numbers and how many entries they have."""
        columns = self.tables.staging.c
        return Statement(self._history.expired(select(columns.id, columns.entries), columns.staged_at, self._long_ago))

    # Names of operations that happen once.

    @cached_property
    def note(self) -> Statement:
        """Note a name, and return it; return nothing if it is already noted, even by a concurrent commit."""
        noted = self.tables.noted
        values = {"name": self.bound("name_in", Text()), "noted_at": self.now}
        return Statement(self.dialect.add_new(noted, values, noted.c.name))

    @cached_property
    def old_notes(self) -> Statement:
        """Lock and read the oldest names that were noted long ago."""
        columns = self.tables.noted.c
        return Statement(self._history.expired(select(columns.name), columns.noted_at, self._long_ago))

    @cached_property
    def forget_notes(self) -> OverRows:
        """Delete names; return them."""
        noted = self.tables.noted

        def build(given: Any) -> Executable:
            return self.dialect.remove(noted, given, ("name",), returning=[noted.c.name])

        return self.over(("name",), build)

    @property
    def _long_ago(self) -> Any:
        """A time in the past: the bound `span` is negative."""
        return self.dialect.later(self.now, self.bound("span", self.dialect.span))
