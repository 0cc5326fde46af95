"""How long a run is, and which faults it meets."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field


def any_seed() -> int:
    """Return a seed that nobody chose."""
    return secrets.randbits(32)


@dataclass(frozen=True)
class Options:
    """How long a run is, and which faults it meets.

    Attributes:
        seed: of all that is random in the run.
        kills: how many processes are killed at least.
        seconds: how long the faults go on at most; None: until enough processes were killed.
        processes: how many work at any moment, at least four: a producer, two consumers and an operator.
        stops: whether processes are stopped for longer than their leases, and go on then.
        cuts: whether connections are cut, slowed down and left half-open, by a proxy in front of the server.
        serializable: whether SERIALIZABLE is the level of the transactions that the processes pass to `within=`.
        restart: a command line, or a function, that restarts the server; None: it is not restarted.
        restarts: how many kills there are between two restarts.
    """

    seed: int = field(default_factory=any_seed)
    kills: int = 100
    seconds: float | None = None
    processes: int = 8
    stops: bool = True
    cuts: bool = True
    serializable: bool = False
    restart: str | Callable[[], None] | None = None
    restarts: int = 50
