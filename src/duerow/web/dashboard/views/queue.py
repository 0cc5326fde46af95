"""A queue: its state, its messages, and the forms to change them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, cast

from duerow.errors import InvalidCondition, QueryTimeout
from duerow.message import Message
from duerow.phrases import PYTHON
from duerow.web.dashboard import breakdown, charts
from duerow.web.dashboard.live import SLOW_AGE
from duerow.web.dashboard.selection import ORDERS, Selection, after, condition, place_of, selection
from duerow.web.dashboard.suggestions import suggestions
from duerow.web.dashboard.tabs import TABS
from duerow.web.dashboard.views.overview import rows_of
from duerow.web.dashboard.views.own_tables import own
from duerow.web.dashboard.visit import PAGE, Shown, Visit

SUGGESTED: Final = (
    "attempts > 3",
    "status = 'error' and attempts > 1",
    "key like 'order-%'",
    "group = ''",
    "priority < 0",
    "created_at < '2026-01-01T00:00:00Z'",
    "headers.source = ''",
)
"""Conditions that the search field suggests, in addition to those on declared payload fields."""


async def queue(visit: Visit) -> Shown:
    """Show a queue and a page of its messages."""
    name, now = visit.queue, visit.web.database.host_time()
    handle = await visit.web.queue(name)
    if name in visit.web.options.queues:
        return await own(visit, name, cast(Any, handle))
    chosen = selection(visit, handle.declared.indexed)
    of_queue = asyncio.gather(
        visit.live.card(name),
        _listed(visit, name, chosen),
        visit.live.shared(("limits", name), handle.limits, SLOW_AGE),
        suggestions(visit, name),
    )
    of_all = asyncio.gather(
        visit.live.shared("under way", visit.jobs.under_way), visit.live.definitions(), visit.live.pipelines()
    )
    (card, messages, limits, fields), (jobs, defined, graphs) = await asyncio.gather(of_queue, of_all)
    row = (await rows_of(visit, [name], {name: card}, now))[0]
    scale, columns = visit.scale, await visit.columns(name, card.minutes)
    stats, stored = card.stats, defined.get(name)
    return Shown(
        "queue.html",
        name,
        {
            "name": name,
            "stats": stats,
            "row": row,
            "tabs": {
                tab: (title, None if tab in ("all", "error") else (stats.shown(tab), getattr(stats, tab)))
                for tab, title in TABS.items()
            },
            "chosen": chosen,
            "orders": ORDERS,
            "searching": messages is None,
            "messages": [visit.web.shown(one) for one in (messages or ())[:PAGE]],
            "suggested": [*(_example(field, kind) for field, kind in handle.declared.indexed.items()), *SUGGESTED],
            "fields": fields,
            "columns": sorted(handle.declared.indexed),
            "next": place_of(messages[PAGE - 1], chosen.order) if messages and len(messages) > PAGE else None,
            "scale": scale,
            "by_process": breakdown.by_process(columns, now, scale),
            "ready": breakdown.ready(columns, now, scale),
            "plot": charts.throughput(charts.added([columns], scale), now, scale),
            "waiting": charts.latency(columns, "waiting_time", now, scale),
            "handling": charts.latency(columns, "handling_time", now, scale),
            "definition": handle.declared,
            "limits": limits,
            "stored": stored is not None and stored.definition is not None,
            "graphs": [graph for graph in graphs if name in (*graph.queues, *graph.outputs)],
            "jobs": [one for one in jobs if one.queue == name],
            "others": await visit.others(name),
            "keeps": handle.keeping is not None and handle.keeping.history is not None,
        },
    )


async def _listed(visit: Visit, name: str, chosen: Selection) -> Sequence[Message[Any]] | None:
    """Return a page of messages; None: it is still being read. Errors of the search are recorded in `chosen`."""
    if chosen.refused is None:
        try:
            return await visit.live.soon(
                ("messages", name, chosen.tab, chosen.where, chosen.order, chosen.after),
                lambda: messages_of(visit, name, chosen),
            )
        except InvalidCondition as error:
            chosen.refused = error
        except QueryTimeout as error:
            chosen.stopped = error.told(PYTHON)
    return ()


def _example(field: str, kind: str) -> str:
    """Return a condition on a declared field, for the user to complete."""
    value = {"text": "''", "boolean": "true"}.get(kind, "0")
    return f"payload.{field} = {value}"


async def messages_of(visit: Visit, name: str, chosen: Selection) -> list[Message[Any]]:
    """Return a page of messages, and one more if there are more."""
    handle = await visit.web.queue(name)
    found: list[Message[Any]] = await handle.find(
        condition(visit.web, name, chosen, visit.web.database.host_time()),
        order=chosen.order,
        limit=PAGE + 1,
        after=after(chosen),
    )
    return found
