"""The queues of a database, and their consumers."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from duerow.aio.pipelines import Pipelines
from duerow.message import check_queue_name
from duerow.plan import Plan
from duerow.queue.definition import readable
from duerow.queue.reserved import is_reserved
from duerow.queue.schedule import queue_of
from duerow.store import Consumer, Order, Query


class Directory(Pipelines):
    """The part of a database that lists its queues and consumers; see `Database`."""

    async def known_queues(self, *, reserved: bool = False) -> list[str]:
        """Return the names of all queues that the database has any record of, in alphabetical order.

        A queue is listed if it has messages, finished turns, remembered keys or counts; if it was declared, paused or
        drained; if dead letters, a schedule or a pipeline lead to it; or if it had a consumer in the last day.

        Args:
            reserved: include the queues that duerow itself uses. Their names begin with `duerow.`, or, if they hold
                permits of workers, with `duerow/singleton/`, `duerow/concurrency/` or `duerow/rate/`.
        """

        def look() -> Plan[set[str]]:
            names = set((yield from self.store.operations.queues(with_empty=True)))
            for said in (yield from self.store.metadata.settings()):
                definition = readable(said.definition)
                names |= {said.queue} | ({definition.dead_letter} if definition and definition.dead_letter else set())
            for consumer in (yield from self.store.metadata.consumers()):
                names.update(consumer.queues)
            for planned in (yield from self.store.metadata.schedules()).rows:
                names.update(filter(None, [queue_of(planned)]))
            return names

        names, graphs = await self.run(look), await self.pipelines()
        names = names.union(*((*graph.queues, *graph.outputs) for graph in graphs))
        return sorted(name for name in names if reserved or not is_reserved(name))

    async def knows_queue(self, name: str) -> bool:
        """Return whether the database has any record of a queue; see `known_queues`."""
        called = check_queue_name(name)
        any_message = Query(called, order=Order("due_at"), limit=1)  # an index covers this order

        def look() -> Plan[bool]:
            said = yield from self.store.metadata.settings(called)
            return bool(said or (yield from self.store.messages.find(any_message)))

        return await self.run(look) or called in await self.known_queues(reserved=True)

    async def consumers(self) -> list[Consumer]:
        """Return the consumers that reported in the last day, ordered by name.

        Workers report every ten seconds. A worker that has not reported for longer has stopped or hangs.
        """
        return await self.run(self.store.metadata.consumers)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that is most similar to this one; None if none is similar."""
    found = get_close_matches(name, list(names), 1)
    return found[0] if found else None
