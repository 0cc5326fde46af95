"""How long a run is, and which faults it meets."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field


def any_seed() -> int:
    """Return a random seed."""
    return secrets.randbits(32)


@dataclass(frozen=True)
class Options:
    """How long a run is, and which faults it meets.

    Attributes:
        seed: the seed of all random choices in the run.
        kills: the least number of processes to kill.
        seconds: the longest time for which faults happen; None: until enough processes were killed.
        processes: how many processes work at any moment, at least two: a producer and a consumer.
        stops: whether processes are suspended for longer than their leases, and then continue.
        cuts: whether connections are cut, slowed down and left half-open, by a proxy in front of the server.
        exhaust: whether all connections that the server has left are taken for a moment; not in a shared database.
        clocks: whether the clocks of the processes are wrong, and are set forwards and backwards.
        full_disk: whether the disk is full for some processes; for SQLite.
        serializable: whether the transactions that the processes pass to `within=` are SERIALIZABLE.
        restart: a command line, or a function, that restarts the server; None: it is not restarted.
        restarts: the number of kills between two restarts.
        upgrade_from: the version whose tables a run begins with; they are upgraded while it goes on. None: today's.
        beside: another Python interpreter, with a version of duerow that half of the processes work with.
        only: the names of the operations that the processes use, and of whole workloads; empty: all of them.
        patience: seconds in which the consumers must finish what is left when all faults are over; then it is stuck.
    """

    seed: int = field(default_factory=any_seed)
    kills: int = 100
    seconds: float | None = None
    processes: int = 8
    stops: bool = True
    cuts: bool = True
    exhaust: bool = True
    clocks: bool = False
    full_disk: bool = False
    serializable: bool = False
    restart: str | Callable[[], None] | None = None
    restarts: int = 50
    upgrade_from: int | None = None
    beside: str | None = None
    only: tuple[str, ...] = ()
    patience: float = 240.0
