"""How a message that failed for good moves to its dead-letter queue, with headers that say what happened."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from duerow.errors import CodecError
from duerow.message import Scalar
from duerow.payload.codec import decode_headers, encode_headers
from duerow.payload.dead_letter_headers import AT, ATTEMPTS, BEFORE, ERROR, FROM, HEADERS, HOME, KEY, REASON, home
from duerow.store.writes import Moved


def dead_letter(
    to: str,
    queue: str,
    key: str | None,
    headers: Mapping[str, Scalar] | str | None,
    attempts: int,
    reason: str,
    at: datetime,
    group: str | None,
    priority: int,
    error: str | None = None,
    hidden: str | None = None,
) -> Moved:
    """Return the move of a message that failed for good to its dead-letter queue.

    Args:
        to: the dead-letter queue.
        queue: the queue in which the message is.
        key: its key in that queue.
        headers: its headers, decoded or as stored; unreadable headers are left out, because this function must not
            fail.
        attempts: how often it was handed out.
        reason: why it failed for good.
        at: when it failed for good.
        group: its group, which it keeps.
        priority: its priority, which it keeps.
        error: the full reason, for the history of the queue that it leaves.
        hidden: the reason, encrypted; None: `reason` contains it.
    """
    kept: Mapping[str, Scalar]
    try:
        kept = decode_headers(headers) if isinstance(headers, str) else headers or {}
    except CodecError:
        kept = {}
    said: dict[str, Scalar] = {FROM: queue, AT: at.isoformat(), ATTEMPTS: attempts, REASON: reason}
    if key is not None:
        said[KEY] = key
    if hidden is not None:
        said[ERROR] = hidden
    was = home(queue, key, kept)
    before = {name: kept[name] for name in HEADERS if name in kept}
    kept = {name: value for name, value in kept.items() if name not in (*HEADERS, BEFORE)}
    if before.get(FROM, queue) != queue:
        said[BEFORE] = encode_headers(before, limited=False) or ""
    if was != (queue, key):
        said[HOME] = encode_headers({FROM: was.queue} if was.key is None else {FROM: was.queue, KEY: was.key}) or ""
    return Moved(
        to=to,
        payload=None,
        kind=None,
        key=None,
        headers=encode_headers({**kept, **said}, limited=False),
        due=None,
        delay=None,
        on_duplicate="ignore",
        group=group,
        priority=priority,
        dead=True,
        error=error,
    )
