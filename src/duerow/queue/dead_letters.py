"""Dead letters: a message that is given up on moves to a queue for people, with headers that say what happened."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from duerow.errors import CodecError, ConfigurationError
from duerow.message import Scalar
from duerow.payload.codec import decode_headers, encode_headers
from duerow.store import Moved

FROM: Final = "dead-letter-from"
AT: Final = "dead-letter-at"
ATTEMPTS: Final = "dead-letter-attempts"
REASON: Final = "dead-letter-reason"
KEY: Final = "dead-letter-key"

ERROR: Final = "dead-letter-error"
"""The header of a dead letter from a queue with encryption that says why in full, encrypted."""

BEFORE: Final = "dead-letter-before"
HOME: Final = "dead-letter-home"

HEADERS: Final = (FROM, AT, ATTEMPTS, REASON, KEY, ERROR)
"""The headers of a dead letter: the queue that it comes from, when it was given up, after how many attempts, why, and
its key there. It has no key of its own, so that the move never meets another one.

One that is given up as a dead letter has in BEFORE the headers that it had as such, as JSON; those of the last time,
not of all, so that they never grow. In HOME it has the queue and the key that it had when it was first given up."""


_MARK: Final = "dead-letter-"


class Home(NamedTuple):
    """Where a message belongs: its queue and key, or those that a dead letter had before it was given up."""

    queue: str
    key: str | None


def home(queue: str, key: str | None, headers: Mapping[str, Scalar] | str | None) -> Home:
    """Return where a message belongs: an encrypted payload is bound to it.

    Dead letters are moved by the database, and brought back by those who have no keys; so it must stay what it is.

    Args:
        queue: where the message is.
        key: its key there.
        headers: its headers, or as they are stored; what cannot be read says nothing.
    """
    if not isinstance(headers, str | Mapping) or (isinstance(headers, str) and _MARK not in headers):
        return Home(queue, key)
    try:
        said = decode_headers(headers) if isinstance(headers, str) else headers
        first = decode_headers(str(said[HOME])) if HOME in said else said
    except CodecError:
        return Home(queue, key)
    return Home(str(first[FROM]), _text(first.get(KEY))) if FROM in first else Home(queue, key)


def _text(value: Scalar | None) -> str | None:
    return None if value is None else str(value)


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
    """Return how a message that is given up goes to its dead-letter queue.

    Args:
        to: the dead-letter queue.
        queue: where the message is.
        key: its key there.
        headers: its headers, or as they are stored; what cannot be read is left out, since this must not fail.
        attempts: how often it was handed out.
        reason: why it is given up.
        at: when.
        group: its group, which it keeps.
        priority: its priority, which it keeps.
        error: why, with all that is known, for the history of the queue that it leaves.
        hidden: why, encrypted; None: the reason says it.
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


def restored(headers: Mapping[str, Scalar]) -> dict[str, Scalar | None]:
    """Return the changes that take the headers of a dead letter away again; those that it had before come back."""
    changes: dict[str, Scalar | None] = {name: None for name in (*HEADERS, BEFORE) if name in headers}
    try:
        before = decode_headers(str(headers.get(BEFORE, "{}")))
    except CodecError:  # not of our making
        return changes
    changes |= {name: before[name] for name in HEADERS if name in before}
    if HOME in headers and FROM in headers:
        without = {name: value for name, value in before.items() if name in HEADERS}
        if home(str(headers[FROM]), _text(headers.get(KEY)), without) == home("", None, headers):
            changes[HOME] = None
    return changes


def check_targets(targets: Mapping[str, str]) -> None:
    """Raise ConfigurationError if dead letters would go in a circle; the targets by the queue that they come from."""
    for queue in targets:
        way = [queue]
        while (after := targets.get(way[-1])) is not None:
            way.append(after)
            if after in way[:-1]:
                circle = " -> ".join(map(repr, way))
                raise ConfigurationError(f"dead letters would go in a circle: {circle}; name another dead_letter queue")
