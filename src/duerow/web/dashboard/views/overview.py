"""The overview: all queues, what needs attention first, and what was done in the last hour."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from duerow.web.dashboard import charts
from duerow.web.dashboard.attention import Concern, Surroundings, findings, score
from duerow.web.dashboard.live import Card
from duerow.web.dashboard.visit import PAGE, Shown, Visit

_NEVER: Final = datetime(9999, 1, 1, tzinfo=UTC)


class QueueRow(msgspec.Struct):
    """A queue in the list; without a card if it has not been read yet."""

    name: str
    card: Card | None
    consumers: int
    draining: bool
    found: list[Concern]
    score: int = 0
    done: charts.Spark | None = None
    slow: charts.Spark | None = None


SORTS: Final[dict[str, tuple[str, Callable[[QueueRow], Any]]]] = {
    "attention": ("what needs attention", lambda row: (-row.score, -_activity(row), row.name)),
    "name": ("name", lambda row: row.name),
    "ready": ("ready", lambda row: (-_of(row, "ready"), row.name)),
    "dead": ("dead", lambda row: (-_of(row, "dead"), row.name)),
    "rate": ("rate", lambda row: (-_activity(row), row.name)),
    "oldest": ("oldest due", lambda row: (_oldest(row), row.name)),
}


async def overview(visit: Visit) -> Shown:
    """Show all queues that the viewer may see."""
    live, now = visit.live, visit.web.database.host_time()
    names = [name for name in await live.names() if visit.sees(name)]
    wanted, sort = visit.get("q").lower(), visit.get("sort", "attention")
    sort = sort if sort in SORTS else "attention"
    cards = await live.board()
    rows = await rows_of(visit, names, cards, now)
    hour = [charts.last_hour(row.card.minutes, now) for row in rows if row.card and row.card.minutes]
    totals = charts.added(hour)
    known = [row.card.stats for row in rows if row.card is not None]
    listed = [row for row in rows if wanted in row.name.lower()] if wanted else rows
    if visit.get("busy"):
        listed = [row for row in listed if row.card is None or _holds(row) or _activity(row)]
    listed.sort(key=SORTS[sort][1])
    urgent = [row for row in rows if row.score >= 10]
    page = max(1, visit.number("page", 1) or 1)
    shown = listed[(page - 1) * PAGE : page * PAGE]
    live.on_screen([row.name for row in shown])
    for row in shown:
        _draw(row, now)
    return Shown(
        "overview.html",
        "Overview",
        {
            "rows": shown,
            "urgent": sorted(urgent, key=SORTS["attention"][1])[:6],
            "urgent_count": len(urgent),
            "sums": {
                name: sum(getattr(stats, name) for stats in known)
                for name in ("ready", "delayed", "leased", "waiting", "dead", "stopped")
            },
            "capped": {name for stats in known for name in stats.capped},
            "rate": sum(stats.rates[1].done + stats.rates[1].moved for stats in known),
            "failing": sum(stats.rates[5].failed + stats.rates[5].dead for stats in known),
            "plot": charts.throughput(totals, now),
            "read": len(known),
            "count": len(rows),
            "found_count": len(listed),
            "sort": sort,
            "may_add": visit.may_add,
            "sorts": {name: title for name, (title, _) in SORTS.items()},
            "number_of_page": page,
            "pages": max(1, -(-len(listed) // PAGE)),
        },
    )


async def rows_of(visit: Visit, names: list[str], cards: dict[str, Card], now: datetime) -> list[QueueRow]:
    """Return the rows of queues, each with its concerns."""
    definitions, consumed = await visit.live.definitions(), await visit.live.consumed()
    graphs = await visit.live.pipelines()
    outputs = {name for graph in graphs for name in graph.outputs}
    letters = {one.definition.dead_letter for one in definitions.values() if one.definition is not None}
    rows = []
    for name in names:
        card, defined = cards.get(name), definitions.get(name)
        around = Surroundings(defined, consumed.get(name, 0), name in letters, name in outputs, now)
        found = [] if card is None else findings(card.stats, around)
        draining = defined is not None and defined.draining
        rows.append(QueueRow(name, card, around.consumers, draining, found, score(found)))
    return rows


def _draw(row: QueueRow, now: datetime) -> None:
    if row.card is None or not row.card.minutes:
        return
    hour = charts.last_hour(row.card.minutes, now)
    row.done = charts.spark([charts.ended(one) for one in hour])
    row.slow = charts.spark(
        [0.0 if one is None or one.waiting_time is None else one.waiting_time.p95.total_seconds() for one in hour]
    )


def _activity(row: QueueRow) -> float:
    if row.card is None:
        return 0.0
    rates = row.card.stats.rates[5]
    return rates.done + rates.moved + rates.failed + rates.dead


def _of(row: QueueRow, name: str) -> int:
    return -1 if row.card is None else getattr(row.card.stats, name)


def _holds(row: QueueRow) -> bool:
    return any(_of(row, name) > 0 for name in ("ready", "delayed", "leased", "waiting", "stopped", "dead"))


def _oldest(row: QueueRow) -> datetime:
    at = None if row.card is None else row.card.stats.oldest_due_at
    return _NEVER if at is None else at
