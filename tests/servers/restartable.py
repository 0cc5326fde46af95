"""A server that can be restarted, whose disk can be filled, and whose clock can be set."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Final

from tests.servers import debian
from tests.servers.disk import SmallDisk, small_disk
from tests.servers.process import PATIENCE, stop

OUT_OF_SPACE: Final = ("No space left on device", "error 28")
"""How the log of a server says so; MariaDB names the number of the system's error."""

FAKETIME: Final = ["FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"]
"""Look at the file whenever the time is asked for, and let only clocks be wrong that can be set."""

SHARED: Final = Path("/dev/shm")


@dataclass(frozen=True)
class Wanted:
    """Which faults a server must allow, besides restarts.

    Attributes:
        full_disk: whether its data lies on a small disk that can be filled.
        clock: whether its clock can be set.
    """

    full_disk: bool = False
    clock: bool = False


ONLY_RESTARTS: Final = Wanted()


@dataclass(frozen=True)
class Around:
    """What is around a server so that faults can be caused.

    Attributes:
        folder: where its data belongs.
        through: the command through which its programs are started.
        prefix: what the command of the server itself begins with.
        disk: its small disk; None: it lies on this machine's.
        clock: the file that says by how much its clock is wrong; None: it goes by this machine's.
    """

    folder: Path
    through: Sequence[str] = ()
    prefix: Sequence[str] = ()
    disk: SmallDisk | None = None
    clock: Path | None = None


@contextmanager
def around(home: Path, owner: str | None, wanted: Wanted, megabytes: int) -> Iterator[Around]:
    """Prepare what the wanted faults need.

    Args:
        home: the folder of the server.
        owner: the user who runs it.
        wanted: the faults.
        megabytes: the size of a small disk.
    """
    with ExitStack() as prepared:
        folder, disk, clock, prefix = home, None, None, list[str]()
        if wanted.full_disk:
            folder = home / "disk"
            disk = prepared.enter_context(small_disk(folder, megabytes, owner))
        if wanted.clock:
            clock = home / "clock"
            set_clock(clock, 0.0)
            prefix = wrong_clock(clock)
        yield Around(folder, disk.through if disk else (), prefix, disk, clock)


def prepare() -> str:
    """Fetch the library through which a clock is wrong, and return its path; ServerUnavailable when that fails."""
    root = debian.unpacked("faketime", ["libfaketime"])
    return str(next(root.glob("usr/lib/*/faketime/libfaketimeMT.so.1")))


def wrong_clock(file: Path) -> list[str]:
    """Return what the command of a program begins with whose clock is wrong by what the file says."""
    return ["env", f"LD_PRELOAD={prepare()}", f"FAKETIME_TIMESTAMP_FILE={file}", *FAKETIME]


def set_clock(file: Path, seconds: float) -> None:
    """Have a clock be wrong by some seconds from now on."""
    new = file.with_suffix(".new")
    new.write_text(f"{seconds:+.3f}\n")
    new.chmod(0o644)
    new.replace(file)  # never half-written, because it is read all the time


@dataclass(frozen=True)
class Restartable:
    """A server of one's own.

    Attributes:
        url: an empty database on it.
        restart: restarts it, in one way after another.
        fill, free: fill its disk, and give the space back; None: its disk is this machine's.
        set_clock: sets its clock to be wrong by some seconds; None: it goes by this machine's.
        complaints: how often it said that there was no space, and how often it ended because of that.
    """

    url: str
    restart: Callable[[], None]
    fill: Callable[[], None] | None
    free: Callable[[], None] | None
    set_clock: Callable[[float], None] | None
    complaints: Callable[[], tuple[int, int]]


def restartable(
    url: str, supervised: Supervised, prepared: Around, log: Path, end: str, filled: Callable[[], object] = lambda: None
) -> Restartable:
    """Return a running server.

    Args:
        url: an empty database on it.
        supervised: what runs it.
        prepared: what is around it.
        log: its log.
        end: the word in a line of the log by which it says that it ends for lack of space.
        filled: is called when the disk has been filled.
    """
    disk, clock = prepared.disk, prepared.clock

    def fill() -> None:
        assert disk is not None
        disk.fill()
        filled()

    def free() -> None:
        assert disk is not None
        disk.free()
        supervised.revive()

    def complaints() -> tuple[int, int]:
        lines = [
            line
            for line in log.read_text(errors="replace").splitlines()
            if any(words in line for words in OUT_OF_SPACE)
        ]
        return len(lines), sum(end in line for line in lines)

    return Restartable(
        url,
        supervised.restart,
        fill if disk else None,
        free if disk else None,
        (lambda seconds: set_clock(clock, seconds)) if clock else None,
        complaints,
    )


class Supervised:
    """A server that runs until the block ends, and can be restarted.

    Args:
        begin: Starts it, with a function that is called until it answers; see `serving`.
        first: That function for the first start.
        answers: That function for all others.
        ways: The signals by which it is ended, in turn.
    """

    def __init__(
        self,
        begin: Callable[[Callable[[], object]], AbstractContextManager[subprocess.Popen[bytes]]],
        first: Callable[[], object],
        answers: Callable[[], object],
        ways: Sequence[signal.Signals],
    ) -> None:
        self._begin, self._first, self._answers = begin, first, answers
        self._ways = cycle(ways)
        self._running = ExitStack()
        self._process: subprocess.Popen[bytes]

    def __enter__(self) -> Supervised:
        self._process = self._running.enter_context(self._begin(self._first))
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def restart(self) -> None:
        """End it in the next way, unless it has ended, and start it again."""
        stop(self._process, next(self._ways))
        self._end()
        self._process = self._running.enter_context(self._begin(self._answers))

    def revive(self) -> None:
        """Start it again if it has ended by itself, and wait until it answers."""
        until = time.monotonic() + PATIENCE
        while self._process.poll() is None:
            try:
                self._answers()
            except Exception:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
            else:
                return
        self.restart()

    def _end(self) -> None:
        self._running.close()
        for left in SHARED.glob(f"*faketime_s*m_{self._process.pid}"):  # by one that was killed
            left.unlink()
