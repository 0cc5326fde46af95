"""The statements of the SQL stores: what is known of queues and of who is there."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Text,
    delete,
    false,
    null,
    select,
)
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.core import (
    CoreStatements,
    OverRows,
    Statement,
)


class QueueStatements(CoreStatements):
    """What is known of queues and of who is there."""

    @cached_property
    def queue_after(self) -> Statement:
        """Read the name of the first queue after a name: the smallest of each kind of rows, by its own index."""
        columns = self.message.c
        after = columns.queue > self._bound("queue_in", Text())
        kinds: list[tuple[ColumnElement[bool], ...]] = [
            (columns.due_at.is_not(None), self._in_group(False)),
            self._in_live_group,
            self._resting,
        ]
        if not self.dialect.partial_indexes:  # any index begins with the queue
            kinds = [()]
        firsts = (self.dialect.first(columns.queue, after, *kind) for kind in kinds)
        return Statement(select(*(first.scalar_subquery() for first in firsts)))

    @cached_property
    def past_queue_after(self) -> Statement:
        """Read the name of the first queue after a name of which something else than messages is kept, by indexes."""
        kept = (self.tables.history, self.tables.remembered, self.tables.counter)
        names = [table.c.queue for table in kept]
        firsts = [self.dialect.first(name, name > self._bound("queue_in", Text())) for name in names]
        return Statement(select(*(first.scalar_subquery() for first in firsts)))

    @lru_cache(maxsize=8)  # noqa: B019 - lives as long as the store
    def put_settings(self, parts: tuple[str, ...]) -> Statement:
        """Note some of what is said of a queue: whether it is `paused` or `draining`, its `definition`."""
        queue = self.tables.queue
        bound: dict[str, ColumnElement[Any]] = {
            "paused": self._bound("paused_in", Boolean()),
            "draining": self._bound("draining_in", Boolean()),
            "definition": self._json(self._bound("definition_in", Text())),
        }
        new = {name: bound[name] for name in parts}
        fresh = {"paused": false(), "draining": false(), "definition": null()} | new
        said: Any = self.dialect.insert(queue).values({"name": self._bound("queue_in", Text()), **fresh})
        return Statement(self.dialect.put(said, [queue.c.name], lambda new: {name: new[name] for name in parts}))

    @lru_cache(maxsize=2)  # noqa: B019 - lives as long as the store
    def settings(self, by: tuple[str, ...]) -> Statement:
        """Read what is said of all queues, or of one by its `name`."""
        columns = self.tables.queue.c
        definition = self.dialect.as_text(columns.definition).label("definition")
        found = select(columns.name, definition, columns.paused, columns.draining)
        if "name" in by:
            return Statement(found.where(columns.name == self._bound("queue_in", Text())))
        return Statement(found.order_by(columns.name))

    @cached_property
    def draining(self) -> OverRows:
        """Read which of the given queues take no new messages."""
        columns = self.tables.queue.c

        def build(given: Any) -> Executable:
            return select(columns.name).where(columns.name.in_(select(given.c.queue)), columns.draining)

        return self._over(("queue",), build)

    @cached_property
    def note_consumer(self) -> Statement:
        """Note that a consumer is there now."""
        consumer = self.tables.consumer
        about = self._json(self._bound("about_in", Text()))
        said: Any = self.dialect.insert(consumer).values(
            {"name": self._bound("name_in", Text()), "about": about, "seen_at": self.now}
        )
        changed = ("about", "seen_at")
        return Statement(self.dialect.put(said, [consumer.c.name], lambda new: {name: new[name] for name in changed}))

    @cached_property
    def forget_consumers(self) -> Statement:
        """Forget the consumers not heard of for a day."""
        consumer = self.tables.consumer
        return Statement(
            delete(consumer).where(
                self.dialect.later(consumer.c.seen_at, self._bound("span", self.dialect.span)) < self.now
            )
        )

    @cached_property
    def consumers(self) -> Statement:
        """Read the consumers that were there lately."""
        columns = self.tables.consumer.c
        about = self.dialect.as_text(columns.about)
        return Statement(select(columns.name, about, columns.seen_at).order_by(columns.name))

    @cached_property
    def note_waiting(self) -> OverRows:
        """Note that a consumer of the given queues sleeps; written again only when the note is half over."""
        waiting = self.tables.waiting
        until = self.dialect.later(self.now, self._bound("span", self.dialect.span))
        soon = self.dialect.later(self.now, self._bound("half", self.dialect.span))

        def build(given: Any) -> Executable:
            rows = select(given.c.queue, until).where(const(1) == const(1)).order_by(given.c.queue)
            noted: Any = self.dialect.insert(waiting).from_select(["queue", "until"], rows)
            return self.dialect.put(  # type: ignore[no-any-return]
                noted, [waiting.c.queue], lambda new: {"until": new.until}, waiting.c.until < soon
            )

        return self._over(("queue",), build)

    @cached_property
    def wake(self) -> Statement | None:
        """Wake the sleeping consumers of the given queues."""
        given = self.dialect.given("given", {"queue": Text()}, frozenset())
        found = self._woken(self.tables.waiting.c.queue.in_(select(given.c.queue)))
        return None if found is None else Statement(found)

    @cached_property
    def whereabouts(self) -> Statement:
        """Ask which database this is, told from all others on whatever servers."""
        return Statement(self.dialect.identity(self.message))

    @cached_property
    def in_first(self) -> Statement | None:
        """Ask whether the first of several databases that a connection sees has the table; None if it sees one."""
        found = self.dialect.in_first(self.message)
        return None if found is None else Statement(found)

    @cached_property
    def hold(self) -> Statement:
        """Write nothing, but as the first step of a transaction: SQLite then lets nobody else begin to write."""
        return Statement(delete(self.message).where(const(1) == const(0)))
