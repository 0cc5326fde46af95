"""Statements for counters."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

from sqlalchemy import BigInteger, Integer, Text, select, tuple_
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.context import StatementGroup
from duerow.stores.sql.statements.core import OverRows, Statement

NUMBERS: Final = ("done", "failed", "dead", "moved")
TIMES: Final = ("waiting", "handling")
COUNTED: Final = ("queue", "minute", "process", *NUMBERS, *TIMES)


class CounterStatements(StatementGroup):
    """Statements for counters."""

    @cached_property
    def note_counts(self) -> OverRows:
        """Write the counts of a process, replacing earlier ones for the same queues and minutes."""
        counter = self.tables.counter
        key = list(counter.primary_key)

        def build(given: Any) -> Executable:
            shown = [self.json(given.c[name]) if name in TIMES else given.c[name] for name in COUNTED]
            rows = select(*shown).select_from(given).where(const(1) == const(1))
            noted: Any = self.dialect.insert(counter).from_select(list(COUNTED), rows)
            return self.dialect.put(noted, key, lambda new: {name: new[name] for name in (*NUMBERS, *TIMES)})  # type: ignore[no-any-return]

        return self._over_counted(COUNTED, build)

    @cached_property
    def add_to_lifetimes(self) -> OverRows:
        """Add numbers to the lifetimes of their queues."""
        counter = self.tables.counter
        names = ("queue", "minute", "process", *NUMBERS)
        key = list(counter.primary_key)

        def build(given: Any) -> Executable:
            rows = select(*(given.c[name] for name in names)).where(const(1) == const(1)).order_by(given.c.queue)
            added: Any = self.dialect.insert(counter).from_select(list(names), rows)
            return self.dialect.put(added, key, lambda new: {name: counter.c[name] + new[name] for name in NUMBERS})  # type: ignore[no-any-return]

        return self._over_counted(names, build)

    @cached_property
    def forget_counts(self) -> Statement:
        """Delete some old rows, except lifetimes; return their queues and numbers."""
        counter = self.tables.counter
        old = counter.alias("old")
        place = [old.c.queue, old.c.minute, old.c.process]
        long_ago = old.c.minute < self.dialect.later(self.now, self.bound("ago", self.dialect.span))
        some = select(*place).where(long_ago, old.c.process != const("")).order_by(old.c.minute)
        some = some.limit(self.bound("limit_in", Integer())).with_for_update(skip_locked=True)
        these = tuple_(counter.c.queue, counter.c.minute, counter.c.process).in_(some)
        answer = [counter.c.queue, *(counter.c[name] for name in NUMBERS)]
        return Statement(self.dialect.remove_picked(counter, some, [these], answer))

    @cached_property
    def counters(self) -> Statement:
        """Read the counters of a queue, and the time."""
        columns = self.tables.counter.c
        times = [self.dialect.as_text(columns[name]).label(name) for name in TIMES]
        shown = (columns.minute, *(columns[name] for name in NUMBERS), *times, columns.process, self.now)
        return Statement(select(*shown).where(columns.queue == self.bound("queue_in", Text())))

    def _over_counted(self, names: tuple[str, ...], build: Any) -> OverRows:
        texts = {name: Text() for name in ("queue", "process", *TIMES)}
        types = {**texts, "minute": self.dialect.moment, **{name: BigInteger() for name in NUMBERS}}
        return OverRows(self.dialect, {name: self.context.kind_of(name, types[name]) for name in names}, build)
