"""Other queues on PostgreSQL, each driven as its own documentation advises for short messages in bulk.

Every adapter is a module with the four names of `Peer`. Messages are told apart by their number, not by the peer's
id, so that what was handled can be compared with what was sent.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast


class Peer(Protocol):
    """What the benchmark asks of another queue."""

    NAME: str
    """The distribution's name on PyPI."""

    SETTINGS: str
    """The batch settings used, for the table."""

    def set_up(self, url: str) -> None:
        """Make the peer's schema in an empty database."""

    def enqueue(self, url: str, count: int) -> None:
        """Send messages 0 to count - 1 by the peer's own way in bulk."""

    def prepare_drain(self, url: str) -> Callable[[], list[int]]:
        """Connect; return a function that handles messages until none is left and returns their numbers."""


REQUIRED = ("pgqueuer", "pgmq")
OPTIONAL = ("procrastinate",)


def peers() -> list[Peer]:
    """Return the adapters, the optional ones only where their library is installed."""
    names = [*REQUIRED, *(name for name in OPTIONAL if find_spec(name) is not None)]
    return [cast(Peer, import_module(f"bench.peers.{name}")) for name in names]
