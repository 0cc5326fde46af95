"""The queues that duerow keeps for its own messages, next to those of an application.

Their names end with a suffix: results of the tasks in `mail` are in `mail/results`. Each message there is due when it
may be deleted, and has a mark, which is its kind. The name alone proves nothing, since an application may have a queue
with that name: a message without a mark belongs to the application.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from duerow.payload import codec
from duerow.payload.codec import OWN, SEALED, Encoded

PROGRESS: Final = "/progress"
"""The suffix of the queue that holds what handlers report about the messages of another queue."""

RESULTS: Final = "/results"
"""The suffix of the queue that holds the results of another queue's tasks."""

STACK: Final = "/stack"
"""The suffix of the queue that holds the questions about another queue's messages, and the answers."""

WINDOWS: Final = "/windows"
"""The suffix of the queue that records which keys were recently pushed to another queue."""

KINDS: Final[Mapping[str, str]] = {suffix: OWN + suffix[1:] for suffix in (PROGRESS, RESULTS, STACK, WINDOWS)}
"""The kinds of the messages in these queues, by the suffix."""


def own_key(id: int) -> str:
    """Return the key of duerow's own message about another message.

    It does not clash with the keys of an application that numbers its messages in a queue of this name.
    """
    return f"{OWN}{id}"


def kind_beside(queue: str) -> str | None:
    """Return the kind of duerow's own messages in a queue; None: its name has none of the suffixes."""
    return next((kind for suffix, kind in KINDS.items() if queue.endswith(suffix)), None)


def marks(queue: str) -> tuple[str, ...]:
    """Return the kinds that mark duerow's own messages in a queue, in clear text and encrypted."""
    kind = kind_beside(queue)
    return () if kind is None else (kind, kind + SEALED)


def marked(queue: str, payload: Any) -> Encoded:
    """Return the payload of one of duerow's own messages, marked if its queue is next to another one.

    Raises:
        CodecError: JSON cannot carry it.
    """
    encoded = codec.encode(payload)
    kind = kind_beside(queue)
    return encoded if kind is None else Encoded(kind, encoded.text)


def is_own(kind: object) -> bool:
    """Return whether a kind marks one of duerow's own messages; the kind in a damaged row may be anything."""
    return str(kind).startswith(OWN)
