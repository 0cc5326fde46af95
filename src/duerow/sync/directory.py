# Generated from ../aio/directory.py by tools/generate_sync.py; edit that file instead.
"""Which queues a database knows, and who is there to consume them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from duerow.errors import UnknownName
from duerow.message import check_queue_name
from duerow.pipeline.graph import Graph
from duerow.plan import Plan
from duerow.queue.definition import decoded, indexed_again, policy_of, readable
from duerow.queue.schedule import queue_of
from duerow.store import Consumer, Query, Store

if TYPE_CHECKING:
    from duerow.sync.queue import Queue


class Directory:
    """The part of a database that knows its queues by name; see `Database`."""

    store: Store
    run: Callable[..., Any]
    queue: Callable[..., Queue[Any]]
    pipelines: Callable[..., Any]

    def known_queues(self) -> list[str]:
        """Return the names of all queues that the database knows anything of, in their order.

        Those that have messages, or turns, remembered keys or counts; that were declared, paused or drained; that
        a declaration sends dead letters to, a schedule its messages, or a pipeline what it works on or makes; and that
        a consumer was there for in the last day.
        """

        def look() -> Plan[set[str]]:
            names = set((yield from self.store.queues(past=True)))
            for said in (yield from self.store.settings()):
                definition = readable(said.definition)
                names |= {said.queue} | ({definition.dead_letter} if definition and definition.dead_letter else set())
            for consumer in (yield from self.store.consumers()):
                names.update(consumer.queues)
            for planned in (yield from self.store.schedules()).rows:
                names.update(filter(None, [queue_of(planned)]))
            return names

        names: set[str] = self.run(look)
        graphs: list[Graph] = self.pipelines()
        return sorted(names.union(*((*graph.queues, *graph.outputs) for graph in graphs)))

    def knows_queue(self, name: str) -> bool:
        """Return whether the database knows anything of a queue; see `known_queues`."""
        called = check_queue_name(name)

        def look() -> Plan[bool]:
            said = yield from self.store.settings(called)
            return bool(said or (yield from self.store.find(Query(called, limit=1))))

        return bool(self.run(look)) or called in self.known_queues()

    def consumers(self) -> list[Consumer]:
        """Return the consumers that said in the last day that they are there, in the order of their names.

        Workers say so every ten seconds; one that was not heard of for longer has gone, or hangs.
        """
        found: list[Consumer] = self.run(self.store.consumers)
        return found

    def as_defined(self, name: str, *, payload: type[Any] | None = None, known: bool = False) -> Queue[Any]:
        """Return the queue of this name on the terms that its database says; the default ones where it says nothing.

        For programs that do not declare it themselves.

        Args:
            name: its name.
            payload: the type of its payloads, which a database cannot say.
            known: refuse a name that the database knows nothing of, which is most likely mistyped.

        Raises:
            ConfigurationError: it was declared by a version that this one does not understand.
            UnknownName: the database knows nothing of such a queue, and `known` was said.
        """
        called = check_queue_name(name)
        said = self.run(lambda: self.store.settings(called))
        if known and not said and not self.knows_queue(called):
            raise UnknownName("queue", called, nearest(called, self.known_queues()))
        definition = decoded(called, said[0].definition) if said else None
        if definition is None:
            return self.queue(called, payload=payload)
        return self.queue(
            called,
            payload=payload,
            lease=definition.lease,
            retry=policy_of(called, definition),
            max_payload_bytes=definition.max_payload_bytes,
            dead_letter=definition.dead_letter,
            history=definition.history,
            remember_keys=definition.remember_keys,
            indexed=indexed_again(definition.indexed),
        )


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the one of these names that was most likely meant, if one is like it."""
    found = get_close_matches(name, list(names), 1)
    return found[0] if found else None
