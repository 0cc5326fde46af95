"""The path of a message through queues, the messages it was made from, and those made from it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable
from datetime import datetime
from typing import Any, Final

import msgspec

from duerow import lineage
from duerow.conditions.model import Condition, some
from duerow.errors import DuerowError
from duerow.pipeline.graph import Graph
from duerow.web.dashboard.views.message import TURNS, ids_of
from duerow.web.dashboard.visit import Shown, Visit
from duerow.where import field

PATIENCE: Final = 3.0
"""Seconds allowed for the search for messages made from this one, which no index supports."""

RELATIVES: Final = 12
"""The maximum number of messages shown that this one was made from."""

MOST: Final = 200
"""The maximum number of messages made from it that are searched for."""

DEEPEST: Final = 20
"""The most generations of these messages."""

DRAWN: Final = 60
"""The maximum number of messages drawn as a graph; more are listed."""

LIVE_STATES: Final = ("new", "error", "dead")
"""The states of messages that are still in a queue."""


class Relative(msgspec.Struct, frozen=True):
    """An ancestor or a descendant of a message."""

    id: int
    queue: str
    state: str
    parents: tuple[int, ...] = ()


class Hop(msgspec.Struct, frozen=True):
    """A queue that the message was in: when it arrived, when it left, and how."""

    queue: str
    arrived_at: datetime | None
    left_at: datetime | None
    outcome: str
    turns: int


async def journey(visit: Visit) -> Shown:
    """Show the path of a message, the messages it was made from, and those made from it."""
    name, id = visit.queue, visit.request.path_params["id"]
    graphs, queues = await _around(visit, name)
    key = ("journey", name, id, visit.rights)
    found = await visit.live.soon(key, lambda: _searched(visit, name, id, queues))
    seen = found or Searched([], [], [], True)
    graph = graphs[0] if graphs else None
    visited = {hop.queue for hop in seen.hops}
    return Shown(
        "journey.html",
        f"Path of message {id}",
        {
            "name": name,
            "id": id,
            "hops": seen.hops,
            "parents": seen.parents,
            "children": seen.children,
            "searching": found is None,
            "complete": seen.complete,
            "made": _made(id, name, seen) if 0 < len(seen.children) <= DRAWN else "",
            "waiting": sum(map(len, seen.waiting(id).values())),
            "failed": sum(map(len, seen.failed(id).values())),
            "operates": visit.operates(name),
            "graph": graph,
            "nodes": [] if graph is None else _nodes(graph, seen.hops),
            "edges": "[]" if graph is None else _edges(graph, visited),
        },
        live=False,
    )


def _nodes(graph: Graph, hops: list[Hop]) -> list[dict[str, Any]]:
    kinds = {node.name: node.kind for node in graph.stations} | dict.fromkeys(graph.outputs, "output")
    by_queue = {hop.queue: hop for hop in hops}
    return [{"name": name, "kind": kind, "hop": by_queue.get(name)} for name, kind in kinds.items()]


def _edges(graph: Graph, visited: set[str]) -> str:
    return msgspec.json.encode(
        [
            {
                "from": node.name,
                "to": to,
                "label": "" if label == to else label,
                "width": 3 if {node.name, to} <= visited else 1.25,
                "flow": "",
                "behind": False,
                "moves": {node.name, to} <= visited,
            }
            for node in graph.stations
            for label, to in node.ways.items()
        ]
    ).decode()


async def lineage_of(visit: Visit, name: str, id: int) -> Searched:
    """Return the current path of a message, and the messages made from it."""
    return await _searched(visit, name, id, (await _around(visit, name))[1])


async def _around(visit: Visit, name: str) -> tuple[list[Graph], list[str]]:
    """Return the pipelines of a queue, and the queues that its messages may have come from or may go to."""
    graphs = [graph for graph in await visit.live.pipelines() if name in (*graph.queues, *graph.outputs)]
    return graphs, [queue for queue in await _neighbours(visit, name, graphs) if visit.sees(queue)]


def _made(id: int, name: str, seen: Searched) -> str:
    """Return the edges from messages to the messages made from them, as JSON for the script that draws them."""
    return msgspec.json.encode(
        [
            {
                "from": str(parent),
                "to": str(one.id),
                "label": "",
                "width": 1.25,
                "flow": "",
                "behind": one.state == "dead",
                "moves": one.state in LIVE_STATES,
            }
            for one in seen.children
            for parent in one.parents
        ]
    ).decode()


async def _neighbours(visit: Visit, name: str, graphs: Iterable[Graph]) -> list[str]:
    """Return the queues that a message of this queue may have come from or may go to."""
    found = {name: None}
    for graph in graphs:
        found.update(dict.fromkeys((*graph.queues, *graph.outputs)))
    definitions = await visit.live.definitions()
    for queue in list(found):
        defined = definitions.get(queue)
        if defined is not None and defined.definition is not None and defined.definition.dead_letter is not None:
            found[defined.definition.dead_letter] = None
    return list(found)


class Searched(msgspec.Struct, frozen=True):
    """The result of the search for the path of a message.

    Attributes:
        hops: the queues that it was in.
        parents: the messages it was made from.
        children: its descendants.
        complete: whether the search has read everything.
    """

    hops: list[Hop]
    parents: list[Relative]
    children: list[Relative]
    complete: bool

    def waiting(self, id: int) -> dict[str, list[int]]:
        """Return the messages that are still in a queue, possibly including this one, by their queues."""
        return self._by_queue(id, LIVE_STATES)

    def failed(self, id: int) -> dict[str, list[int]]:
        """Return the messages among these that are dead, failed or stopped after a failure, by their queues."""
        return self._by_queue(id, ("dead", "error"))

    def _by_queue(self, id: int, states: Collection[str]) -> dict[str, list[int]]:
        here = [Relative(id, hop.queue, hop.outcome) for hop in self.hops if hop.left_at is None]
        found: dict[str, list[int]] = {}
        for one in (*here, *self.children):
            if one.state in states:
                found.setdefault(one.queue, []).append(one.id)
        return found


async def _searched(visit: Visit, name: str, id: int, queues: list[str]) -> Searched:
    hops: list[Hop] = []
    parents: list[int] = []
    for queue in queues:
        handle = await visit.web.queue(queue, create=True)
        here, turns = await handle.get(id), await handle.history(id=id, limit=TURNS)
        if here is None and not turns:
            continue
        first = turns[-1] if turns else None
        last = turns[0] if turns else None
        state = here.status if here is not None else last.outcome if last is not None else ""
        arrived = here.first_due_at if here is not None else first.first_due_at if first is not None else None
        hops.append(
            Hop(queue, arrived, None if here is not None or last is None else last.finished_at, state, len(turns))
        )
        parents = parents or ids_of((here or last).headers.get(lineage.PARENT))  # type: ignore[union-attr]
    hops.sort(key=lambda hop: (hop.left_at is None, hop.left_at or hop.arrived_at))
    above: list[Relative] = []
    children: list[Relative] = []
    complete = True
    try:
        async with asyncio.timeout(PATIENCE):
            for parent in parents[:RELATIVES]:
                above += await _relatives(visit, queues, parent)
            async for one in descendants(visit, queues, id):
                children.append(one)
                if len(children) >= MOST:
                    complete = False
                    break
    except (TimeoutError, DuerowError):
        complete = False
    known = {one.id for one in above}
    above += [Relative(parent, "", "unknown") for parent in parents[:RELATIVES] if parent not in known]
    return Searched(hops, above, children, complete)


async def _relatives(visit: Visit, queues: list[str], id: int) -> list[Relative]:
    for queue in queues:
        handle = await visit.web.queue(queue, create=True)
        here = await handle.get(id)
        if here is not None:
            return [Relative(id, queue, here.status)]
        turns = await handle.history(id=id, limit=1)
        if turns and turns[0].outcome != "moved":
            return [Relative(id, queue, turns[0].outcome)]
    return []


async def descendants(visit: Visit, queues: Collection[str], id: int) -> AsyncIterator[Relative]:
    """Yield the descendants of a message, generation by generation."""
    known, level = {id}, [id]
    for _ in range(DEEPEST):
        found: dict[int, Relative] = {}
        for queue in queues:
            for one in await _made_of(visit, queue, level):
                if one.id not in known and (one.id not in found or one.state in LIVE_STATES):
                    found[one.id] = one
        for one in sorted(found.values(), key=lambda one: one.id):
            yield one
        known |= found.keys()
        level = sorted(found)
        if not level:
            return


async def _made_of(visit: Visit, queue: str, ids: list[int]) -> list[Relative]:
    """Return the messages of a queue that were made from any of these; live ones come first."""
    handle = await visit.web.queue(queue, create=True)
    where, wanted = _made_where(ids), set(ids)
    found: dict[int, Relative] = {}
    seen: list[tuple[Any, str]] = [(one, one.status) for one in await handle.find(where, limit=MOST)]
    seen += [(turn, turn.outcome) for turn in await handle.history(where, limit=MOST) if turn.outcome != "moved"]
    for one, state in seen:
        parents = tuple(parent for parent in ids_of(one.headers.get(lineage.PARENT)) if parent in wanted)
        found.setdefault(one.id, Relative(one.id, queue, state, parents))
    return list(found.values())


def _made_where(ids: list[int]) -> Condition:
    """Return the condition for messages made from any of these; messages of a join name the ids of their parts."""
    parent = field(f"headers.{lineage.PARENT}")
    texts = [str(id) for id in ids[:RELATIVES]]
    joined = [parent.like(form.format(text)) for text in texts for form in ("{},%", "%,{}", "%,{},%")]
    return some(parent.in_(ids), parent.in_(texts), *joined)
