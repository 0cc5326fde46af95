"""Faults, other than kills, of processes, connections and the server during a run."""

from __future__ import annotations

import random
import shlex
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from tempfile import TemporaryFile
from typing import Final

from duerow.errors import ConfigurationError
from duerow.testing.proxy import Link, Proxy
from duerow.testing.torture.access import Access
from duerow.testing.torture.environment import LEASES, Setting
from duerow.testing.torture.hoard import Hoard
from duerow.testing.torture.options import Options
from duerow.testing.torture.worker_process import WorkerProcess

STOPPED: Final = 0.1
"""How many processes are stopped for each one that is killed."""

CUT: Final = 0.15
"""How many connections are cut, slowed down or left half-open for each process that is killed."""

ENDED: Final = 0.1
"""How many connections PostgreSQL itself ends for each process that is killed."""

EXHAUSTED: Final = 0.05
"""How often all of the server's free connections are taken for each process that is killed."""

FILLED: Final = 0.15
"""How often the server's disk is filled for each process that is killed."""

SET: Final = 0.5
"""How often the server's clock is set for each process that is killed."""

WRONG: Final = 2.0
"""By how many seconds the server's clock can be wrong: longer than any lease that a claim asks for."""

MISSED: Final = 0.5
"""The share of the connections in use that is cut when all free connections are taken."""

WAYS: Final = ("cut", "slow", "half-open")

SLOWNESS: Final = 0.05
"""Seconds that each piece of data takes on a slow connection."""

TROUBLE: Final = (0.3, 2.0)
"""For how many seconds a connection is slow or half-open, at least and at most; a half-open one is then cut.

The server is out of connections for the same time.
"""

FULL: Final = (0.5, 4.0)
"""For how many seconds the server's disk is full, at least and at most."""

AWAY: Final = 120.0
"""Seconds within which the server must answer after a restart, and after it has connections or space again."""


class Faults:
    """Causes faults.

    Args:
        options: which faults to cause.
        setting: the database, reached without the proxy.
        proxy: the proxy through which the processes reach it; None if there is none.
        chance: decides when and where.

    Attributes:
        happened: how many faults of each kind there were.
    """

    def __init__(self, options: Options, setting: Setting, proxy: Proxy | None, chance: random.Random) -> None:
        self._options, self._setting, self._proxy, self._chance = options, setting, proxy, chance
        self._in_trouble: list[tuple[float, Link]] = []
        self._hoard = Hoard(setting.access)
        self._hoarding: float | None = None  # the time until which all connections are taken
        self._filling: float | None = None  # the time until which the disk is full
        self._is_clock_wrong = False
        self.happened: Counter[str] = Counter()

    def happen(self, alive: Sequence[WorkerProcess], killed: int) -> None:
        """Cause some faults, or none, after a process was killed."""
        if self._options.stops and self._chance.random() < STOPPED:
            self._stop(alive)
        if self._proxy is not None and self._chance.random() < CUT:
            self._disturb(self._proxy)
        if self._chance.random() < ENDED and not self.is_disk_full and self._setting.access.end_connection():
            self.happened["ended by the server"] += 1
        if self._options.exhaust and self._setting.access.has_limit and self._chance.random() < EXHAUSTED:
            self.exhaust()
        if self._options.fill_disk is not None and self._chance.random() < FILLED:
            self.fill_disk(self._options.fill_disk)
        if self._options.set_clock is not None and self._chance.random() < SET:
            self.set_clock(self._options.set_clock, self._chance.uniform(-WRONG, WRONG))
        if self._options.restart is not None and killed % self._options.restarts == 0:
            self.restart(self._options.restart)

    @property
    def is_disk_full(self) -> bool:
        """Whether the server's disk is full, so that the server may have ended."""
        return self._filling is not None

    def pass_over(self, all_of_them: bool = False) -> None:
        """Restore or cut disturbed connections, and give connections and space back, when their time has come."""
        now = time.monotonic()
        if self._filling is not None and (all_of_them or self._filling <= now):
            self._free_disk()
        if self._hoarding is not None:
            if all_of_them or self._hoarding <= now:
                self._give_back()
            else:
                self._hoard.take_one()  # connections of processes that have been killed since
        over = [(until, link) for until, link in self._in_trouble if all_of_them or until <= now]
        for one in over:
            self._in_trouble.remove(one)
            link = one[1]
            link.delay = 0.0
            if link.is_deaf:  # as if a keepalive had noticed
                link.cut()

    def exhaust(self) -> None:
        """Take all of the server's free connections; some in use are cut first, so that they are missed."""
        if self._hoarding is not None or self.is_disk_full:
            return
        for link in self._proxy.links if self._proxy is not None else ():
            if self._chance.random() < MISSED:
                link.cut()
        if self._hoard.take():
            self._hoarding = time.monotonic() + self._chance.uniform(*TROUBLE)
            self.happened["times out of connections"] += 1

    def fill_disk(self, how: str | Callable[[], None]) -> None:
        """Fill the server's disk.

        Raises:
            ConfigurationError: the command failed, or the server did not answer before.
        """
        if self.is_disk_full:
            return
        if self._hoarding is not None:
            self._give_back()
        self._filling = time.monotonic() + self._chance.uniform(*FULL)  # even if the command fails halfway
        _do(how)
        self.happened["times out of disk space"] += 1

    def set_clock(self, how: str | Callable[[float], None], seconds: float) -> None:
        """Set the server's clock.

        Raises:
            ConfigurationError: the command failed.
        """
        self._is_clock_wrong = True  # even if the command fails halfway
        _set(how, seconds)
        self.happened["times the server's clock was set"] += 1

    def end(self) -> None:
        """Give back the connections that are held and the space, and correct the server's clock.

        Raises:
            ConfigurationError: a command failed, or the server does not answer.
        """
        self._hoard.give_back()
        self._hoarding = None
        try:
            if self.is_disk_full:
                self._free_disk()
        finally:
            if self._is_clock_wrong and self._options.set_clock is not None:
                _set(self._options.set_clock, 0.0)
                self._is_clock_wrong = False

    def restart(self, how: str | Callable[[], None]) -> None:
        """Restart the server, and wait until it answers.

        Raises:
            ConfigurationError: the command failed, or the server did not come back.
        """
        if self._hoarding is not None:
            self._give_back()
        if self.is_disk_full:
            self._free_disk()
        _do(how)
        self._wait_for_an_answer("after it was restarted")
        self.happened["restarts"] += 1

    def _give_back(self) -> None:
        self._hoard.give_back()
        self._hoarding = None
        self._wait_for_an_answer("after all connections were given back")

    def _free_disk(self) -> None:
        assert self._options.free_disk is not None
        _do(self._options.free_disk)
        self._filling = None  # not before: if the command fails, the run tries again when it ends
        self._wait_for_an_answer("after its disk had space again")

    def _wait_for_an_answer(self, since: str) -> None:
        until = time.monotonic() + AWAY
        while not self._setting.access.answers():
            if time.monotonic() > until:
                raise ConfigurationError(f"the server did not answer within {AWAY:.0f} s {since}")
            time.sleep(0.1)

    def _stop(self, alive: Sequence[WorkerProcess]) -> None:
        running = [one for one in alive if one.begun is not None and one.stopped is None and not one.has_ended]
        if running:
            longest = max(LEASES) / 1_000
            self._chance.choice(running).stop(self._chance.uniform(0.5 * longest, 2 * longest))
            self.happened["stopped"] += 1

    def _disturb(self, proxy: Proxy) -> None:
        links = [link for link in proxy.links if not link.is_deaf and not link.delay]
        if not links:
            return
        link, way = self._chance.choice(links), self._chance.choice(WAYS)
        if way == "cut":
            link.cut()
        else:
            link.delay, link.is_deaf = (SLOWNESS, False) if way == "slow" else (0.0, True)
            self._in_trouble.append((time.monotonic() + self._chance.uniform(*TROUBLE), link))
        self.happened[way] += 1


def _do(how: str | Callable[[], None]) -> None:
    if callable(how):
        how()
    else:
        _execute(how)


def _set(how: str | Callable[[float], None], seconds: float) -> None:
    if callable(how):
        how(seconds)
    else:
        _execute(f"{how} {seconds:.3f}")


def _execute(command: str) -> None:
    with TemporaryFile() as errors:  # not a pipe, which a server that the command starts would keep open
        done = subprocess.run(shlex.split(command), stdout=subprocess.DEVNULL, stderr=errors)  # noqa: S603 - the user's
        errors.seek(0)
        said = errors.read().decode(errors="replace")[-500:]
    if done.returncode:
        raise ConfigurationError(f"`{command}` failed with {done.returncode}: {said}")


def proxy_for(reached: Access) -> Proxy | None:
    """Return a proxy to the server of a run; None if it has no address or several."""
    address = reached.address()
    return None if address is None else Proxy(*address)
