"""Statements for queues and consumers."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Text, delete, false, null, select
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.context import StatementGroup
from duerow.stores.sql.statements.core import OverRows, Statement


class QueueStatements(StatementGroup):
    """Statements for queues and consumers."""

    @cached_property
    def queue_after(self) -> Statement:
        """Read the name of the first queue after a name: the smallest of each kind of rows, by its own index."""
        columns = self.message.c
        after = columns.queue > self.bound("queue_in", Text())
        kinds: list[tuple[ColumnElement[bool], ...]] = [
            (columns.due_at.is_not(None), self.context.in_group(False)),
            self.context.in_live_group,
            self.context.resting,
        ]
        if not self.dialect.partial_indexes:  # any index begins with the queue
            kinds = [()]
        firsts = (self.dialect.first(columns.queue, after, *kind) for kind in kinds)
        return Statement(select(*(first.scalar_subquery() for first in firsts)))

    @cached_property
    def past_queue_after(self) -> Statement:
        """Read the name of the first queue after a name that has anything besides messages, by indexes."""
        kept = (self.tables.history, self.tables.remembered, self.tables.counter)
        names = [table.c.queue for table in kept]
        firsts = [self.dialect.first(name, name > self.bound("queue_in", Text())) for name in names]
        return Statement(select(*(first.scalar_subquery() for first in firsts)))

    @lru_cache(maxsize=8)  # noqa: B019 - lives as long as the store
    def put_settings(self, parts: tuple[str, ...]) -> Statement:
        """Change settings of a queue: whether it is `paused` or `draining`, its `definition`."""
        queue = self.tables.queue
        bound: dict[str, ColumnElement[Any]] = {
            "paused": self.bound("paused_in", Boolean()),
            "draining": self.bound("draining_in", Boolean()),
            "definition": self.json(self.bound("definition_in", Text())),
        }
        new = {name: bound[name] for name in parts}
        fresh = {"paused": false(), "draining": false(), "definition": null()} | new
        said: Any = self.dialect.insert(queue).values({"name": self.bound("queue_in", Text()), **fresh})
        return Statement(self.dialect.put(said, [queue.c.name], lambda new: {name: new[name] for name in parts}))

    @lru_cache(maxsize=2)  # noqa: B019 - lives as long as the store
    def settings(self, by: tuple[str, ...]) -> Statement:
        """Read the settings of all queues, or of one by `name`."""
        columns = self.tables.queue.c
        definition = self.dialect.as_text(columns.definition).label("definition")
        found = select(columns.name, definition, columns.paused, columns.draining)
        if "name" in by:
            return Statement(found.where(columns.name == self.bound("queue_in", Text())))
        return Statement(found.order_by(columns.name))

    @cached_property
    def draining(self) -> OverRows:
        """Read which of the given queues are draining."""
        columns = self.tables.queue.c

        def build(given: Any) -> Executable:
            return select(columns.name).where(columns.name.in_(select(given.c.queue)), columns.draining)

        return self.over(("queue",), build)

    @cached_property
    def note_consumer(self) -> Statement:
        """Record that a consumer is alive now."""
        consumer = self.tables.consumer
        about = self.json(self.bound("about_in", Text()))
        said: Any = self.dialect.insert(consumer).values(
            {"name": self.bound("name_in", Text()), "about": about, "seen_at": self.now}
        )
        changed = ("about", "seen_at")
        return Statement(self.dialect.put(said, [consumer.c.name], lambda new: {name: new[name] for name in changed}))

    @cached_property
    def forget_consumers(self) -> Statement:
        """Delete the consumers not seen for a day."""
        consumer = self.tables.consumer
        return Statement(
            delete(consumer).where(
                self.dialect.later(consumer.c.seen_at, self.bound("span", self.dialect.span)) < self.now
            )
        )

    @cached_property
    def consumers(self) -> Statement:
        """Read the consumers that were seen recently."""
        columns = self.tables.consumer.c
        about = self.dialect.as_text(columns.about)
        return Statement(select(columns.name, about, columns.seen_at).order_by(columns.name))

    @cached_property
    def note_waiting(self) -> OverRows:
        """Record that a consumer of the given queues sleeps; renewed only when half of the time is over."""
        waiting = self.tables.waiting
        until = self.dialect.later(self.now, self.bound("span", self.dialect.span))
        soon = self.dialect.later(self.now, self.bound("half", self.dialect.span))

        def build(given: Any) -> Executable:
            rows = select(given.c.queue, until).where(const(1) == const(1)).order_by(given.c.queue)
            noted: Any = self.dialect.insert(waiting).from_select(["queue", "until"], rows)
            return self.dialect.put(  # type: ignore[no-any-return]
                noted, [waiting.c.queue], lambda new: {"until": new.until}, waiting.c.until < soon
            )

        return self.over(("queue",), build)

    @cached_property
    def wake(self) -> Statement | None:
        """Wake the sleeping consumers of the given queues."""
        given = self.dialect.given("given", {"queue": Text()}, frozenset())
        found = self.context.woken(self.tables.waiting.c.queue.in_(select(given.c.queue)))
        return None if found is None else Statement(found)

    @cached_property
    def announce(self) -> Statement | None:
        """Tell all who listen for a name."""
        found = self.dialect.announce(self.context.channel, self.bound("told_in", Text()))
        return None if found is None else Statement(found)

    @cached_property
    def whereabouts(self) -> Statement:
        """Read the identity of this database."""
        return Statement(self.dialect.identity(self.message))

    @cached_property
    def in_first(self) -> Statement | None:
        """Ask whether the first of several databases that a connection sees has the table; None if it sees one."""
        found = self.dialect.in_first(self.message)
        return None if found is None else Statement(found)

    @cached_property
    def hold(self) -> Statement:
        """Write nothing, as the first step of a transaction, so that SQLite lets nobody else start writing."""
        return Statement(delete(self.message).where(const(1) == const(0)))
