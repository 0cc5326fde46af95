"""How long a run is, and which faults it has."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field


def any_seed() -> int:
    """Return a random seed."""
    return secrets.randbits(32)


@dataclass(frozen=True)
class Options:
    """How long a run is, and which faults it has.

    Attributes:
        seed: the seed of all random choices in the run.
        kills: the minimum number of processes to kill.
        seconds: the longest time for which faults happen; None: until enough processes have been killed.
        processes: how many processes work at any moment, at least two: a producer and a consumer.
        stops: whether processes are suspended for longer than their leases and then continue.
        cuts: whether connections are cut, slowed down and left half-open, by a proxy in front of the server.
        exhaust: whether all of the server's free connections are taken for a moment; not in a shared database.
        clocks: whether the clocks of the processes are wrong, and are set forwards and backwards.
        full_disk: whether the disk is full for some processes; for SQLite.
        serializable: whether the transactions that the processes pass to `within=` are SERIALIZABLE.
        restart: a command line, or a function, that restarts the server; None: it is not restarted.
        restarts: the number of kills between two restarts.
        upgrade_from: the version of the tables with which a run begins; they are upgraded during the run. None: the
            current version.
        beside: another Python interpreter, with the version of duerow that half of the processes use.
        only: the operations that the processes use, by name, or whole workloads; empty: all operations.
        patience: the seconds that consumers have to finish the remaining work after the last fault; anything left after
            that counts as stuck.
        fill_disk: a command line, or a function, that fills the server's disk; None: it is not filled.
        free_disk: a command line, or a function, that gives the space back, and starts the server if it has ended
            meanwhile and nothing else would start it.
        set_clock: a command line, or a function, that sets the server's clock; it is passed the number of seconds by
            which the clock is to be wrong from then on. None: it is not set.
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
    fill_disk: str | Callable[[], None] | None = None
    free_disk: str | Callable[[], None] | None = None
    set_clock: str | Callable[[float], None] | None = None
