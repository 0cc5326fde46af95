"""How long stores keep rows that are neither messages nor turns, and what history says of some turns."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from duerow.message import Failure
from duerow.payload import codec

STAGED_FOR: Final = timedelta(days=1)
"""How long a batch's staged entries wait to be published."""

NOTED_FOR: Final = timedelta(days=30)
"""How long the names of things that happen only once are remembered."""


def stood_for(queue: str, key: str) -> str:
    """Return what history says about a message that ended because another one held its key in the target queue."""
    return codec.encode_failure(
        Failure("DuplicateKey", f"a live message of queue {queue!r} already has the key {key!r}")
    )
