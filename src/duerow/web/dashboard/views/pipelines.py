"""Pipelines: each as a graph that shows the flow of messages and where they back up."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

from duerow.errors import shown
from duerow.queue.stats import SEEN
from duerow.web.dashboard import charts, flow
from duerow.web.dashboard.filters import spark_page
from duerow.web.dashboard.visit import NotFound, Shown, Visit, unquoted

LISTED: Final = 12
"""How many pipelines a page lists."""


async def pipelines(visit: Visit) -> Shown:
    """Show all pipelines, each with a summary of its stations."""
    now = visit.web.database.host_time()
    graphs = [graph for graph in await visit.live.pipelines() if any(map(visit.sees, graph.queues))]
    pages = max(1, -(-len(graphs) // LISTED))
    page = min(pages, max(1, visit.number("page", 1) or 1))
    graphs = graphs[(page - 1) * LISTED : page * LISTED]
    visit.live.on_screen({queue for graph in graphs for queue in (*graph.queues, *graph.outputs)})
    cards = await visit.live.board()
    states = {name: card.stats for name, card in cards.items()}
    listed = []
    for graph in graphs:
        stations = flow.stations(graph, states, now)
        hour = [charts.last_hour(cards[queue].minutes, now) for queue in graph.queues if queue in cards]
        totals = charts.added(hour)
        listed.append(
            {
                "graph": graph,
                "stations": stations,
                "behind": [one for one in stations if one.condition == "behind"],
                "depth": sum(one.depth or 0 for one in stations if one.kind != "output"),
                "dead": sum(one.dead for one in stations),
                "spark": charts.spark([one.done + one.moved for one in totals]),
            }
        )
    return Shown("pipelines.html", "Pipelines", {"listed": listed, "number_of_page": page, "pages": pages})


async def pipeline(visit: Visit) -> Shown:
    """Show a pipeline as a graph."""
    name, now = unquoted(visit.request.path_params["name"]), visit.web.database.host_time()
    graph = next((one for one in await visit.live.pipelines() if one.name == name), None)
    if graph is None or not any(map(visit.sees, graph.queues)):
        raise NotFound(f"there is no pipeline {shown(name)} that you may see")
    cards, spark_pages = await asyncio.gather(
        visit.live.cards([queue for queue in (*graph.queues, *graph.outputs) if visit.sees(queue)]),
        _spark_pages(visit, graph.queues),
    )
    stations = flow.stations(graph, {name: card.stats for name, card in cards.items()}, now)
    hour = [charts.last_hour(cards[queue].minutes, now) for queue in graph.queues if queue in cards]
    return Shown(
        "pipeline.html",
        f"Pipeline {name}",
        {
            "graph": graph,
            "stations": stations,
            "edges": flow.edges(flow.ways(graph, stations)),
            "behind": [one for one in stations if one.condition == "behind"],
            "spark_pages": spark_pages,
            "plot": charts.throughput(charts.added(hour), now),
        },
    )


async def _spark_pages(visit: Visit, queues: Collection[str]) -> list[str]:
    """Return the addresses of Spark's pages for the current runs on these queues."""
    now = visit.web.database.host_time()
    there = [one for one in await visit.live.consumers() if now - one.seen_at <= SEEN and set(one.queues) & set(queues)]
    return sorted({page for one in there if (page := spark_page(one.name)) is not None})
