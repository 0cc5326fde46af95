"""Which queues a database knows, and who is there to consume them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from duerow.aio.pipelines import Pipelines
from duerow.message import check_queue_name
from duerow.plan import Plan
from duerow.queue.audit import is_reserved
from duerow.queue.definition import readable
from duerow.queue.schedule import queue_of
from duerow.store import Consumer, Query


class Directory(Pipelines):
    """The part of a database that knows its queues by name; see `Database`."""

    async def known_queues(self, *, reserved: bool = False) -> list[str]:
        """Return the names of all queues that the database knows anything of, in their order.

        Those that have messages, or turns, remembered keys or counts; that were declared, paused or drained; that
        a declaration sends dead letters to, a schedule its messages, or a pipeline what it works on or makes; and that
        a consumer was there for in the last day.

        Args:
            reserved: also those that duerow keeps for itself, whose names begin with `duerow.`.
        """

        def look() -> Plan[set[str]]:
            names = set((yield from self.store.operations.queues(past=True)))
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
        """Return whether the database knows anything of a queue; see `known_queues`."""
        called = check_queue_name(name)

        def look() -> Plan[bool]:
            said = yield from self.store.metadata.settings(called)
            return bool(said or (yield from self.store.messages.find(Query(called, limit=1))))

        return await self.run(look) or called in await self.known_queues(reserved=True)

    async def consumers(self) -> list[Consumer]:
        """Return the consumers that said in the last day that they are there, in the order of their names.

        Workers say so every ten seconds; one that was not heard of for longer has gone, or hangs.
        """
        return await self.run(self.store.metadata.consumers)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the one of these names that was most likely meant, if one is like it."""
    found = get_close_matches(name, list(names), 1)
    return found[0] if found else None
