"""A message: everything that is known about it, its turns, why it waits, and its path."""

from __future__ import annotations

import asyncio
import shlex
from contextlib import suppress
from typing import Any, Final

import msgspec

from duerow import lineage
from duerow.errors import InvalidMessage, KeyMissing
from duerow.message import Message
from duerow.payload import dead_letter_headers
from duerow.payload.codec import SEALED
from duerow.queue.history import REPLAY_OF, Event
from duerow.web.dashboard.filters import pretty
from duerow.web.dashboard.visit import NotFound, Shown, Visit
from duerow.web.web import legible

TURNS: Final = 100
"""How many turns of a message are shown."""


async def message(visit: Visit) -> Shown:
    """Show a message, or its turns in the history."""
    name, id = visit.queue, visit.request.path_params["id"]
    handle = await visit.web.queue(name)
    found, turns = await asyncio.gather(
        visit.live.shared(("message", name, id), lambda: handle.get(id)),
        visit.live.shared(("turns", name, id), lambda: handle.history(id=id, limit=TURNS)),
    )
    if found is None and not turns:
        raise NotFound(
            f"queue {name} has no message {id}, and neither does its history; it may be done, moved or removed"
        )
    reasons, progress, stack, locked = [], None, None, []
    if found is not None:
        try:
            progress = await visit.live.shared(("progress", name, id), lambda: handle.progress(id))
        except KeyMissing:
            locked.append("Progress")
        try:
            stack = await visit.live.shared(("stack", name, id), lambda: handle.last_stack(id))
        except KeyMissing:
            locked.append("Stack")
        with suppress(InvalidMessage):  # it has left in the meantime
            reasons = await visit.live.shared(("why", name, id), lambda: handle.why(id))
    one: Message[Any] | Event[Any] = found if found is not None else turns[0]
    seen: Message[Any] | Event[Any] = visit.web.shown(found) if found is not None else visit.web.shown(turns[0])
    hidden = seen.payload != (legible(found) if found is not None else legible(turns[0])).payload
    return Shown(
        "message.html",
        f"Message {id}",
        {
            "name": name,
            "id": id,
            "found": None if found is None else seen,
            "one": seen,
            "is_bytes": isinstance(seen.payload, bytes),
            "sealed": str(one.kind).endswith(SEALED),
            "hidden": hidden,
            "turns": [visit.web.shown(turn) for turn in reversed(turns)],
            "reasons": visit.web.shown_reasons(reasons),
            "progress": progress,
            "locked": locked,
            "stack": stack if found is not None and stack is not None and stack.attempt == found.attempts else None,
            "limit": handle.declared.limit,
            "keeps": handle.keeping is not None and handle.keeping.history is not None,
            "json": pretty(msgspec.to_builtins(seen)),
            "command": f"duerow show {shlex.quote(name)} {id}",
            "origin": _origin(seen),
            "others": await visit.others(name),
        },
    )


def _origin(seen: Message[Any] | Event[Any]) -> dict[str, Any]:
    """Return where a message came from, according to its headers."""
    headers = seen.headers
    return {
        "parents": ids_of(headers.get(lineage.PARENT)),
        "count": headers.get(lineage.PARENTS),
        "replay": ids_of(headers.get(REPLAY_OF)),
        "dead_from": headers.get(dead_letter_headers.FROM),
        "dead_reason": headers.get(dead_letter_headers.REASON),
        "schedule": headers.get("schedule"),
    }


def ids_of(text: object) -> list[int]:
    """Return the ids that a header names."""
    return [int(part) for part in str(text or "").split(",") if part.strip().lstrip("-").isdecimal()]
