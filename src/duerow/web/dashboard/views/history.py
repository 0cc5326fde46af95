"""The past: the history of queues, and the audit of what people have done."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from duerow.errors import InvalidCondition
from duerow.queue.audit import audit_entry as entry
from duerow.queue.history import Event
from duerow.web.api.common import check_searchable
from duerow.web.dashboard import breakdown, charts
from duerow.web.dashboard.selection import Selection
from duerow.web.dashboard.visit import PAGE, Forbidden, Shown, Visit
from duerow.where import as_condition


async def history(visit: Visit) -> Shown:
    """Show a queue's work in the last hour, and its finished turns if it keeps them."""
    now = visit.web.database.host_time()
    names = [name for name in await visit.live.names(own=False) if visit.sees(name)]
    cards = await visit.live.board()
    name = visit.get("queue")
    if not name or not visit.sees(name) or name in visit.web.options.queues:
        busy = sorted(
            (one for one in names if one in cards), key=lambda one: (-sum(map(charts.ended, cards[one].minutes)), one)
        )
        name = next(iter(busy), names[0] if names else "")
    if not name:
        return Shown("history.html", "History", {"name": "", "names": []}, live=False)
    card, handle = await visit.live.card(name), await visit.web.queue(name)
    scale, columns = visit.scale, await visit.columns(name, card.minutes)
    chosen = Selection("all", visit.get("where"), None, "", visit.get("after"))
    turns: list[Event[Any]] = []
    keeps = handle.keeping is not None and handle.keeping.history is not None
    try:
        if chosen.where:
            check_searchable(visit.web, name, as_condition(chosen.where, "turn"))
        turns = await visit.live.searched(
            ("past", name, chosen.where, chosen.after),
            lambda: handle.history(chosen.where or None, limit=PAGE + 1, after=_after(chosen.after)),
        )
    except InvalidCondition as error:
        chosen.refused = error
    return Shown(
        "history.html",
        "History",
        {
            "name": name,
            "names": names if name in names else [*names, name],
            "keeps": keeps or bool(turns),
            "handle": handle,
            "stats": card.stats,
            "scale": scale,
            "by_process": breakdown.by_process(columns, now, scale),
            "ready": breakdown.ready(columns, now, scale),
            "plot": charts.throughput(charts.added([columns], scale), now, scale),
            "waiting": charts.latency(columns, "waiting_time", now, scale),
            "handling": charts.latency(columns, "handling_time", now, scale),
            "waiting_map": charts.heat_map(columns, "waiting", now, scale),
            "handling_map": charts.heat_map(columns, "handling", now, scale),
            "chosen": chosen,
            "turns": [visit.web.shown(turn) for turn in turns[:PAGE]],
            "next": _place(turns[PAGE - 1]) if len(turns) > PAGE else None,
        },
    )


def _place(turn: Event[Any]) -> str:
    return f"{turn.id}:{turn.token}:{turn.finished_at.astimezone(UTC).isoformat()}"


def _after(text: str) -> Any:
    """Return the turn after which a page begins; only its position matters."""
    parts = text.split(":", 2)
    if len(parts) < 3 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return None
    fields: dict[str, Any] = dict.fromkeys(Event.__struct_fields__)
    fields |= {"id": int(parts[0]), "token": int(parts[1]), "finished_at": datetime.fromisoformat(parts[2])}
    return Event(**fields)


async def audit(visit: Visit) -> Shown:
    """Show who did what to which messages, when and from where."""
    if not visit.viewer.may("view", "duerow.audit"):
        raise Forbidden("only operators of all queues may see the audit")
    chosen = Selection("all", visit.get("where"), None, "", visit.get("after"))
    events: list[Event[Any]] = []
    try:
        if chosen.where:
            as_condition(chosen.where, "turn")
        events = await visit.live.searched(
            ("audit", chosen.where, chosen.after),
            lambda: visit.web.audit.events(chosen.where or None, limit=PAGE + 1, after=_after(chosen.after)),
        )
    except InvalidCondition as error:
        chosen.refused = error
    return Shown(
        "audit.html",
        "Audit",
        {
            "entries": [entry(one) for one in events[:PAGE]],
            "chosen": chosen,
            "next": _place(events[PAGE - 1]) if len(events) > PAGE else None,
            "example": SimpleNamespace(where="payload.by = 'ana' and payload.action = 'remove'"),
        },
    )
