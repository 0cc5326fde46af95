"""The headers of dead letters, and the home of a message, which its encrypted payload is bound to."""

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
"""The header of a dead letter from an encrypted queue that holds the full reason, encrypted."""

BEFORE: Final = "dead-letter-before"

HOME: Final = "dead-letter-home"

HEADERS: Final = (FROM, AT, ATTEMPTS, REASON, KEY, ERROR)
"""The headers of a dead letter: the queue that it comes from, when it failed for good, after how many attempts, why,
and its key there. The dead letter itself has no key, so that the move never meets a duplicate.

A dead letter that fails for good again keeps its previous dead-letter headers in BEFORE, as JSON, but only the latest
ones, so that they never grow. HOME holds the queue and the key that it had when it first failed for good."""

_MARK: Final = "dead-letter-"


class Home(NamedTuple):
    """The home of a message: its queue and key, or for a dead letter those that it had before it failed for good."""

    queue: str
    key: str | None


def home(queue: str, key: str | None, headers: Mapping[str, Scalar] | str | None) -> Home:
    """Return the home of a message, to which an encrypted payload is bound.

    The database moves dead letters, and processes without keys bring them back, so a move must not change the home.

    Args:
        queue: the queue that the message is in.
        key: its key there.
        headers: its headers, as a mapping or as stored text; unreadable ones are ignored.
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
    """Return a header as text; None for None."""
    return None if value is None else str(value)
