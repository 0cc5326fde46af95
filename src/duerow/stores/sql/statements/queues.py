"""Statements for queues and consumers."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Select, Text, delete, exists, false, null, select, union_all
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.context import StatementGroup
from duerow.stores.sql.statements.core import OverRows, Statement


class QueueStatements(StatementGroup):
    """Statements for queues and consumers."""

    @cached_property
    def queues_after(self) -> Statement:
        """Read the names of the first queues after a name, with their places; each kind of row has its own index.

        The names are looked up one by one, so the time depends on the number of queues, not on their rows.
        """
        kinds: list[tuple[ColumnElement[bool], ...]] = [
            (self.message.c.due_at.is_not(None), self.context.in_group(False)),
            self.context.in_live_group,
            self.context.resting,
        ]
        if not self.dialect.partial_indexes:  # every index begins with the queue
            kinds = [()]
        return Statement(union_all(*(self._names_after(self.message.c.queue, *kind) for kind in kinds)))

    @cached_property
    def past_queues_after(self) -> Statement:
        """Like `queues_after`, for queues that have history, remembered keys or counters."""
        kept = (self.tables.history, self.tables.remembered, self.tables.counter)
        return Statement(union_all(*(self._names_after(table.c.queue) for table in kept)))

    def _names_after(self, name: ColumnElement[Any], *kind: ColumnElement[bool]) -> Select[Any]:
        """Return the names that follow a name in an index, beginning with place 1; a null name marks the end."""
        first = self.dialect.first(name, name > self.bound("queue_in", Text()), *kind)
        begin = select(first.scalar_subquery().label("name"), const(1).label("place"))
        if self.dialect.names_at_once == 1:
            return begin
        names = begin.cte(recursive=True)
        following = self.dialect.first(name, name > names.c.name, *kind).correlate(names)
        more = (names.c.name.is_not(None), names.c.place < const(self.dialect.names_at_once))
        names = names.union_all(select(following.scalar_subquery(), names.c.place + const(1)).where(*more))
        return select(names.c.name, names.c.place)

    @lru_cache(maxsize=8)  # noqa: B019 - lives as long as the store
    def put_settings(self, parts: tuple[str, ...]) -> Statement:
        """Change settings of a queue: whether it is `paused` or `draining`, and its `definition`."""
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
        """Delete the consumers that were last seen longer ago than the bound `span`."""
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
        """Record that a consumer of the given queues sleeps; renew an existing record only when it would end soon.

        A record that need not be renewed is not touched: to lock it would make the commit wait for the disk.
        """
        waiting = self.tables.waiting
        until = self.dialect.later(self.now, self.bound("span", self.dialect.span))
        soon = self.dialect.later(self.now, self.bound("half", self.dialect.span))

        def build(given: Any) -> Executable:
            fresh = select(const(1)).where(waiting.c.queue == given.c.queue, waiting.c.until >= soon)
            rows = select(given.c.queue, until).where(~exists(fresh)).order_by(given.c.queue)
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
        """Notify all listeners of a name."""
        found = self.dialect.announce(self.context.channel, self.bound("told_in", Text()))
        return None if found is None else Statement(found)

    @cached_property
    def whereabouts(self) -> Statement:
        """Read the identity of this database."""
        return Statement(self.dialect.identity(self.message))

    @cached_property
    def in_first(self) -> Statement | None:
        """Read whether the first of a connection's several databases has the table; None if it has only one."""
        found = self.dialect.in_first(self.message)
        return None if found is None else Statement(found)

    @cached_property
    def hold(self) -> Statement:
        """Write nothing, as the first step of a transaction, so that SQLite lets no other connection start writing."""
        return Statement(delete(self.message).where(const(1) == const(0)))
