"""The audit log: who did what to which messages, when and from where, as entries of a queue with a history.

An entry is a message that is pushed and immediately popped. So the log needs no table of its own, is searched with
conditions, is kept for a chosen time, and is pruned like every other history.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from duerow.queue.history import Event
from duerow.queue.reserved import RESERVED

AUDIT: Final = f"{RESERVED}audit"
"""The queue whose history contains the entries."""

KEEP_AUDIT: Final = timedelta(days=90)
"""How long entries are kept by default."""

AT_ONCE: Final = 100
"""How many entries are popped at once, including those of a process that ended before it could pop them."""

LONGEST_TEXT: Final = 2_000
"""How many characters of a text an entry keeps."""

MOST_VALUES: Final = 1_000
"""How many values of a list an entry keeps."""

DEEPEST: Final = 8
"""How deep the details of an entry are nested; deeper parts become text."""


_LARGEST: Final = 1 << 63


class AuditEntry(msgspec.Struct, frozen=True):
    """One change that somebody made, or tried to make.

    Attributes:
        id: its id.
        at: when it was made.
        by: the user or account; empty: nobody had to log in.
        means: how the user is known: "session", "token", "proxy", "host", "local", or "cli".
        address: where the request came from, or the machine of a command.
        action: what was asked for, such as "edit".
        queue: the queue that was changed; None: no queue.
        details: the messages, the condition, the new values, and the number of messages.
    """

    id: int
    at: datetime
    by: str
    means: str
    address: str
    action: str
    queue: str | None
    details: Mapping[str, Any]


def written(
    by: str, means: str, address: str, action: str, queue: str | None, details: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the payload of an entry."""
    said = {"by": by, "means": means, "address": address, "action": action, "queue": queue, "details": details}
    return {name: _kept(value) for name, value in said.items()}


def audit_entry(event: Event[Any]) -> AuditEntry:
    """Return the entry that a turn contains."""
    said = event.payload if isinstance(event.payload, dict) else {}
    by, means, address, action = (str(said.get(name) or "") for name in ("by", "means", "address", "action"))
    details = said.get("details") or {}
    return AuditEntry(event.id, event.created_at, by, means, address, action, said.get("queue"), details)


def _kept(value: Any, depth: int = 0) -> Any:
    """Return a detail in a form that a payload can contain, with only the beginning of long texts and lists."""
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
