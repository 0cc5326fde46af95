"""The headers of dead letters, and where one belongs: its payload is encrypted for that place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from duerow.errors import CodecError
from duerow.message import Scalar
from duerow.payload.codec import decode_headers

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
    return Home(str(first[FROM]), text_of(first.get(KEY))) if FROM in first else Home(queue, key)


def text_of(value: Scalar | None) -> str | None:
    """Return a header as text; None stays None."""
    return None if value is None else str(value)
