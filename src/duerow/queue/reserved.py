"""The names of the queues that duerow keeps for itself, which are not listed among those of an application."""

from __future__ import annotations

from typing import Final, Literal, get_args

RESERVED: Final = "duerow."
"""The prefix of the names of duerow's own queues."""

PermitKind = Literal["singleton", "concurrency", "rate"]


def permits_prefix(kind: PermitKind) -> str:
    """Return the prefix of the names of the queues that hold permits of this kind."""
    return f"duerow/{kind}/"


_PREFIXES: Final = (RESERVED, *(permits_prefix(kind) for kind in get_args(PermitKind)))


def is_reserved(queue: str) -> bool:
    """Return whether a queue with this name is duerow's own."""
    return queue.startswith(_PREFIXES)
