"""The audit: who did what to which messages, when and from where, as entries of a queue with a history.

An entry is a message that is pushed and popped at once. So it needs no table of its own, is searched with conditions,
kept for as long as is said, and pruned like every other history.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from duerow.queue.history import Event

RESERVED: Final = "duerow."
"""The prefix of the names of queues that duerow keeps for itself."""

AUDIT: Final = "duerow.audit"
"""The queue in whose history the entries are."""

KEEP_AUDIT: Final = timedelta(days=90)
"""How long entries are kept unless something else is said."""

AT_ONCE: Final = 100
"""How many entries are popped at once: with them those of a process that ended before it could."""

LONGEST_TEXT: Final = 2_000
"""How many characters of a text an entry keeps."""

MOST_VALUES: Final = 1_000
"""How many values of a list an entry keeps."""

DEEPEST: Final = 8
"""How deep the details of an entry are kept."""


_LARGEST: Final = 1 << 63


class AuditEntry(msgspec.Struct, frozen=True):
    """One change that somebody made, or tried to make.

    Attributes:
        id: its id.
        at: when.
        by: the user or account; empty: nobody had to log in.
        means: how that is known: "session", "token", "proxy", "host", "local", or "cli".
        address: where the request came from, or the machine of a command.
        action: what was asked for, such as "edit".
        queue: of which queue; None: of none.
        details: the messages, the condition, what they were given, and how many there were.
    """

    id: int
    at: datetime
    by: str
    means: str
    address: str
    action: str
    queue: str | None
    details: Mapping[str, Any]


def is_reserved(queue: str) -> bool:
    """Return whether duerow keeps a queue of this name for itself."""
    return queue.startswith(RESERVED)


def written(
    by: str, means: str, address: str, action: str, queue: str | None, details: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the payload of an entry."""
    said = {"by": by, "means": means, "address": address, "action": action, "queue": queue, "details": details}
    return {name: _kept(value) for name, value in said.items()}


def audit_entry(event: Event[Any]) -> AuditEntry:
    """Return an entry from the turn as which it is kept."""
    said = event.payload if isinstance(event.payload, dict) else {}
    by, means, address, action = (str(said.get(name) or "") for name in ("by", "means", "address", "action"))
    details = said.get("details") or {}
    return AuditEntry(event.id, event.created_at, by, means, address, action, said.get("queue"), details)


def _kept(value: Any, depth: int = 0) -> Any:
    """Return a detail as a payload can have it: of long texts and lists the beginning."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if abs(value) < _LARGEST else str(value)  # nan is not smaller
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping) and depth < DEEPEST:
        return {_text(str(name)): _kept(one, depth + 1) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and depth < DEEPEST:
        return [_kept(one, depth + 1) for one in list(value)[:MOST_VALUES]]
    return _text(value if isinstance(value, str) else str(value))


def _text(text: str) -> str:
    harmless = text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    return harmless if len(harmless) <= LONGEST_TEXT else f"{harmless[:LONGEST_TEXT]}…"
