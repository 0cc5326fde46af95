"""How long stores keep what is neither a message nor a turn, and what they write of turns that others ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from duerow.message import Failure
from duerow.payload import codec

STAGED_FOR: Final = timedelta(days=1)
"""How long what a batch staged waits to be published."""

NOTED_FOR: Final = timedelta(days=30)
"""How long it is known of what happens once that it happened."""


def stood_for(queue: str, key: str) -> str:
    """Return what history says of a message that ended since another one had its key where it was to go."""
    return codec.encode_failure(
        Failure("DuplicateKey", f"a live message of queue {queue!r} has the key {key!r} already")
    )
