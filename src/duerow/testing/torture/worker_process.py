"""A process of a run: started, stopped, continued and killed."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from duerow.errors import SchemaNewer, SchemaOutdated, StoreRefused
from duerow.testing.torture import other_version
from duerow.testing.torture.access import APPLICATION
from duerow.testing.torture.clocks import be_wrong
from duerow.testing.torture.disks import be_full
from duerow.testing.torture.environment import OUT_OF_LUCK, Setting
from duerow.testing.torture.upgrade import know

MOST_WORK: Final = 0.35
"""The most processor seconds that a ready process uses before it is killed, even on a busy machine."""

LONGEST: Final = 3.0
"""The maximum number of seconds that it lives if it has nothing to compute."""

AFTER_A_STOP: Final = 0.1
"""The least processor seconds that it uses after a stop: what it does then is the purpose of the stop."""

PAUSE: Final = 0.05

_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass
class WorkerProcess:
    """A process, and when to kill it.

    Attributes:
        process: the process.
        role: its role: `producer`, `consumer` or `operator`.
        kind: its kind of consumer.
        ready: reports when it has begun to work.
        full: whether its disk is full.
        work: how many processor seconds it may use from then on.
        begun: the processor seconds that it had used when it was ready, and when that was; None: it is not ready.
        stopped: until when it is stopped; None: it is not stopped.
        side: the side on which it works, if a run has more than one interpreter.
    """

    process: Any
    role: str
    kind: str
    ready: Any
    work: float
    full: bool = False
    begun: tuple[float, float] | None = None
    stopped: float | None = None
    side: Any = None

    @property
    def name(self) -> str:
        """Its name in reports: a consumer's includes its kind."""
        return self.kind if self.role == "consumer" else self.role

    @property
    def has_ended(self) -> bool:
        """Whether it has ended unexpectedly."""
        return self.process.exitcode is not None

    @property
    def is_over(self) -> bool:
        """Whether its time is up."""
        now = time.monotonic()
        if self.stopped is not None:
            if now < self.stopped:
                return False
            self.go_on()
        try:
            computed = _computed(self.process.pid)
        except OSError:
            return True  # it ended unexpectedly, which is reported when it would be killed
        if self.begun is None and self.ready.poll():
            self.begun = (computed, now)
        return self.begun is not None and (computed - self.begun[0] >= self.work or now - self.begun[1] >= LONGEST)

    def stop(self, seconds: float) -> None:
        """Suspend it for some time, as on a machine that swaps or is suspended."""
        os.kill(self.process.pid, signal.SIGSTOP)
        self.stopped = time.monotonic() + seconds

    def go_on(self) -> None:
        """Let it continue, at least for a moment."""
        os.kill(self.process.pid, signal.SIGCONT)
        self.stopped = None
        self.work += AFTER_A_STOP
        if self.begun is not None:
            self.begun = (self.begun[0], time.monotonic())

    def kill(self) -> bool:
        """Kill it; return whether it was still alive."""
        self.process.kill()
        self.process.join()
        self.ready.close()
        return bool(self.process.exitcode == -signal.SIGKILL)


def _computed(pid: int) -> float:
    """Return how many processor seconds a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def be(log: Path, ready: Any, target: Callable[..., None], setting: Setting, *arguments: Any) -> None:
    """Work until killed; start again when the database cannot be reached, as under a supervisor."""
    _begin(log)
    luck: tuple[type[Exception], ...] = OUT_OF_LUCK
    if setting.outdated:
        luck += (SchemaOutdated,)
    if setting.known is not None:
        know(setting.url, setting.known)
        luck += (SchemaNewer, StoreRefused)  # it uses tables that its version does not know, which SQLite just refuses
    if setting.full:
        be_full()
    if setting.clocks:
        be_wrong(random.Random(f"{setting.seed} {setting.number} clock"))
    while True:
        try:
            target(setting, *arguments, lambda: ready.send(None))
        except luck as error:
            if isinstance(error, SchemaNewer):
                know(setting.url, None)  # it was started too late; continue with this version
            if isinstance(error, SchemaOutdated):
                ready.send(None)  # its work is to wait for the tables
            time.sleep(PAUSE)


def be_migrator(log: Path, setting: Setting, dies_before: int | None, pause: float, told: Path) -> None:
    """Migrate the tables; see `other_version.migrate`."""
    _begin(log)
    other_version.migrate(setting.url, setting.all_settings, dies_before, pause, told)


def _begin(log: Path) -> None:
    with log.open("ab") as file:
        os.dup2(file.fileno(), sys.stderr.fileno())
    os.environ["PGAPPNAME"] = APPLICATION
    threading.Thread(target=_end_with_the_run, daemon=True).start()


def _end_with_the_run() -> None:
    """End this process when the run that started it has ended, in whatever way."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)
