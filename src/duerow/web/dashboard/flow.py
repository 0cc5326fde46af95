"""The flow through a pipeline: how many messages are at each station and on each way, and where they back up."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Literal

import msgspec

from duerow.pipeline.graph import Graph, Node
from duerow.queue.stats import Stats, Times
from duerow.web.dashboard.filters import number

LAG: Final = timedelta(seconds=30)
"""How far behind a station may be before it counts as backed up."""

Condition = Literal["idle", "busy", "behind", "paused", "output", "unread"]

WORDS: Final[Mapping[Condition, str]] = {
    "idle": "idle",
    "busy": "working",
    "behind": "backed up",
    "paused": "paused",
    "output": "output",
    "unread": "not read yet",
}


class DrawnStation(msgspec.Struct, frozen=True):
    """A station, or an output, as it is drawn.

    Attributes:
        name: the name of the station and its queue.
        kind: relay, switch, fork, split, join, frame, sink, crossing or output.
        function: the name of its function.
        note: more details.
        condition: its state.
        depth: how many messages are in its queue; None: unknown.
        capped: whether there may be more.
        dead: how many of them are dead.
        rate: how many messages left it in the last minute.
        handling: how long its function takes.
        waiting: how long messages wait for it.
        behind: how long the oldest one has been due.
    """

    name: str
    kind: str
    function: str
    note: str
    condition: Condition
    depth: int | None = None
    capped: bool = False
    ready: int = 0
    leased: int = 0
    dead: int = 0
    rate: float = 0.0
    handling: Times | None = None
    waiting: Times | None = None
    behind: timedelta | None = None

    @property
    def word(self) -> str:
        """Its state, in a word."""
        return WORDS[self.condition]


class PipelineWay(msgspec.Struct, frozen=True):
    """A way from one station to another, with the estimated number of messages per minute."""

    start: str
    end: str
    label: str
    flow: float
    behind: bool


def stations(graph: Graph, states: Mapping[str, Stats], now: datetime) -> list[DrawnStation]:
    """Return all stations and outputs of a pipeline."""
    found = [_station(node, states.get(node.name), states, now) for node in graph.stations]
    found += [_output(name, states.get(name), now) for name in graph.outputs]
    return found


def _station(node: Node, stats: Stats | None, states: Mapping[str, Stats], now: datetime) -> DrawnStation:
    if stats is None:
        return DrawnStation(node.name, node.kind, node.function, node.note, "unread")
    behind = None if stats.oldest_due_at is None else max(timedelta(0), now - stats.oldest_due_at)
    rates = stats.rates[1]
    rate = rates.done + rates.moved
    condition: Condition = "busy" if rate or stats.leased or stats.ready else "idle"
    if stats.paused:
        condition = "paused"
    elif behind is not None and behind > LAG:
        condition = "behind"
    rest = [states[queue] for queue in node.queues[1:] if queue in states]
    names = ("ready", "delayed", "leased", "waiting", "stopped")
    return DrawnStation(
        node.name,
        node.kind,
        node.function,
        node.note,
        condition,
        sum(getattr(one, name) for one in (stats, *rest) for name in names),
        bool(stats.capped),
        stats.ready,
        stats.leased,
        stats.dead,
        rate,
        stats.handling_time,
        stats.waiting_time,
        behind,
    )


def _output(name: str, stats: Stats | None, now: datetime) -> DrawnStation:
    if stats is None:
        return DrawnStation(name, "output", "", "", "output")
    rates = stats.rates[1]
    depth = stats.ready + stats.delayed + stats.leased + stats.waiting + stats.stopped
    return DrawnStation(
        name,
        "output",
        "",
        "",
        "paused" if stats.paused else "output",
        depth,
        bool(stats.capped),
        stats.ready,
        stats.leased,
        stats.dead,
        rates.done + rates.moved,
        stats.handling_time,
        stats.waiting_time,
    )


def ways(graph: Graph, found: list[DrawnStation]) -> list[PipelineWay]:
    """Return the ways between stations, with estimated numbers of messages.

    Queues count how many messages leave, but not where they go. If a station has one way, all messages take it; a fork
    counts every message on every way; other stations divide them in proportion to what leaves the next stations.
    """
    by_name = {one.name: one for one in found}
    result = []
    for node in graph.stations:
        leaving = by_name[node.name].rate
        weights = {label: by_name[to].rate if to in by_name else 0.0 for label, to in node.ways.items()}
        total = sum(weights.values())
        for label, to in node.ways.items():
            flow = leaving
            if len(node.ways) > 1 and not node.sends_to_all:
                flow = leaving * weights[label] / total if total else leaving / len(node.ways)
            target = by_name.get(to)
            behind = target is not None and target.condition == "behind"
            result.append(PipelineWay(node.name, to, "" if label == to else label, flow, behind))
    return result


def edges(found: list[PipelineWay]) -> str:
    """Return the ways as JSON for the script that draws them."""
    most = max((way.flow for way in found), default=0.0)
    return msgspec.json.encode(
        [
            {
                "from": way.start,
                "to": way.end,
                "label": way.label,
                "width": round(1.25 + 6.75 * (way.flow / most) ** 0.5, 1) if most and way.flow else 1.25,
                "flow": f"about {number(way.flow)}/min" if way.flow else "",
                "behind": way.behind,
                "moves": way.flow > 0,
            }
            for way in found
        ]
    ).decode()
