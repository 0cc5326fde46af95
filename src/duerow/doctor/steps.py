"""What a check can yield in addition to plans: steps that listen for pushes."""

from __future__ import annotations

from typing import NamedTuple


class Hear(NamedTuple):
    """Start listening for pushes to a queue."""

    queue: str


class Wait(NamedTuple):
    """Wait for a push; the answer is whether a notification arrived."""

    seconds: float


class Hush(NamedTuple):
    """Stop listening, if it was started."""
