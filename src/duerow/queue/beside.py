"""The queues that duerow keeps beside those of an application, for messages of its own.

Their names end with a suffix: results of the tasks in `mail` are in `mail/results`. Each message there is due when it
may be deleted, and bears a mark, which is its kind. The name alone says nothing, since an application may have a queue
that is called so: what bears no mark is the application's.
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
"""The suffix of the queue that notes which keys were pushed lately to another queue."""

KINDS: Final[Mapping[str, str]] = {suffix: OWN + suffix[1:] for suffix in (PROGRESS, RESULTS, STACK, WINDOWS)}
"""The kinds of the messages in these queues, by the suffix."""


def own_key(id: int) -> str:
    """Return the key of a message of duerow's own that is about another message.

    An application that numbers its own messages in a queue of this name does not have it.
    """
    return f"{OWN}{id}"


def kind_beside(queue: str) -> str | None:
    """Return the kind of duerow's own messages in a queue; None: its name has none of the suffixes."""
    return next((kind for suffix, kind in KINDS.items() if queue.endswith(suffix)), None)


def marks(queue: str) -> tuple[str, ...]:
    """Return the kinds by which duerow's own messages in a queue are known, in clear text and encrypted."""
    kind = kind_beside(queue)
    return () if kind is None else (kind, kind + SEALED)


def marked(queue: str, payload: Any) -> Encoded:
    """Return the payload of a message of duerow's own in a queue, marked if the queue is beside another.

    Raises:
        CodecError: JSON cannot carry it.
    """
    encoded = codec.encode(payload)
    kind = kind_beside(queue)
    return encoded if kind is None else Encoded(kind, encoded.text)


def is_own(kind: object) -> bool:
    """Return whether a kind is that of a message of duerow's own; that of a damaged row may be anything."""
    return str(kind).startswith(OWN)
