"""The statements of the SQL stores: what is known of queues and of who is there."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Text,
    delete,
    func,
    select,
)
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.core import (
    Core,
    OverRows,
    Statement,
)


class Queues(Core):
    """What is known of queues and of who is there."""

    @cached_property
    def queue_after(self) -> Statement:
        """Read the name of the first queue after a name: the smallest of each kind of rows, by its own index."""
        columns = self.message.c
        after = columns.queue > self._bound("queue_in", Text())
        kinds: list[tuple[ColumnElement[bool], ...]] = [
            (columns.due_at.is_not(None), self._in_group(False)),
            (columns.group.is_not(None), self._live),
            self._resting,
        ]
        return Statement(
            select(*(select(func.min(columns.queue)).where(after, *kind).scalar_subquery() for kind in kinds))
        )

    @cached_property
    def set_paused(self) -> Statement:
        """Note that a queue is paused, or not."""
        queue = self.tables.queue
        values = {"name": self._bound("queue_in", Text()), "paused": self._bound("paused_in", Boolean())}
        said: Any = self.dialect.insert(queue).values(values)
        return Statement(
            said.on_conflict_do_update(index_elements=[queue.c.name], set_={"paused": said.excluded.paused})
        )

    @cached_property
    def note_consumer(self) -> Statement:
        """Note that a consumer is there now."""
        consumer = self.tables.consumer
        about = self._json(self._bound("about_in", Text()))
        said: Any = self.dialect.insert(consumer).values(
            {"name": self._bound("name_in", Text()), "about": about, "seen_at": self.now}
        )
        new = {"about": said.excluded.about, "seen_at": said.excluded.seen_at}
        return Statement(said.on_conflict_do_update(index_elements=[consumer.c.name], set_=new))

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
            return noted.on_conflict_do_update(  # type: ignore[no-any-return]
                index_elements=[waiting.c.queue], set_={"until": noted.excluded.until}, where=waiting.c.until < soon
            )

        return self._over(("queue",), build)

    @cached_property
    def wake(self) -> Statement | None:
        """Wake the sleeping consumers of the given queues."""
        given = self.dialect.given("given", {"queue": Text()}, frozenset())
        found = self._woken(self.tables.waiting.c.queue.in_(select(given.c.queue)))
        return None if found is None else Statement(found)

    @cached_property
    def hold(self) -> Statement:
        """Write nothing, but as the first step of a transaction: SQLite then lets nobody else begin to write."""
        return Statement(delete(self.message).where(const(1) == const(0)))
