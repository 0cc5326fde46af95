"""Rows of the user's own tables as messages of a queue, to look at and to hand out again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import msgspec

from duerow.errors import InvalidMessage, shown
from duerow.message import Failure
from duerow.queue.stats import Reason
from duerow.web.dashboard.live import SLOW_AGE
from duerow.web.dashboard.visit import PAGE, Shown, Visit

if TYPE_CHECKING:
    from duerow.aio.entity import EntityQueue

STATUSES: Final[dict[str, str]] = {"": "All", "new": "New", "error": "Failed", "dead": "Dead", "done": "Done"}


class OwnRow(msgspec.Struct):
    """A row: its primary key, its state, and its other columns."""

    id: str
    state: Any
    error: Failure | None
    columns: Any


async def own(visit: Visit, name: str, queue: EntityQueue[Any]) -> Shown:
    """Show a queue of rows, and a page of them."""
    card = await visit.live.card(name)
    status: Any = visit.get("status") if visit.get("status") in STATUSES else ""
    after = as_id(visit.get("after")) if visit.get("after") else None
    rows = await visit.live.shared(
        ("rows", name, status, visit.get("after")), lambda: _rows(visit, queue, status, after)
    )
    reasons: list[Reason] = []
    asked = visit.get("row")
    if asked:
        reasons = visit.web.shown_reasons(await queue.why(as_id(asked)))
    return Shown(
        "own_tables.html",
        name,
        {
            "name": name,
            "stats": card.stats,
            "rows": rows[:PAGE],
            "next": rows[PAGE - 1].id if len(rows) > PAGE else None,
            "statuses": STATUSES,
            "status": status,
            "reasons": reasons,
            "asked": asked,
            "limits": await visit.live.shared(("limits", name), queue.limits, SLOW_AGE) if queue.keeps_limits else None,
        },
    )


async def _rows(visit: Visit, queue: EntityQueue[Any], status: Any, after: Any) -> list[OwnRow]:
    found = await queue.find(status=status or None, limit=PAGE + 1, after=after)
    return [_row(visit, queue, one) for one in found]


def _row(visit: Visit, queue: EntityQueue[Any], one: Any) -> OwnRow:
    mapper = one.__mapper__
    state = getattr(one, queue.key)
    keys = mapper.primary_key_from_instance(one)
    columns = {
        name: getattr(one, name)
        for name in mapper.column_attrs.keys()  # noqa: SIM118 - no mapping
        if not name.startswith(("_", f"{queue.key}_"))
    }
    id = json.dumps(keys[0] if len(keys) == 1 else keys, default=str)
    return OwnRow(id, state, visit.web.redacted_error(state.failure), visit.web.redacted(queue.name, columns))


def as_id(text: str) -> Any:
    """Return the primary key of a row from its text; raise InvalidMessage if it is not one."""
    try:
        found = json.loads(text)
    except ValueError:
        raise InvalidMessage(f"{shown(text)} is not a primary key of a row") from None
    return tuple(found) if isinstance(found, list) else found
