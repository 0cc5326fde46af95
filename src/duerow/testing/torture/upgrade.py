"""The upgrade of the tables in the middle of a run: several processes migrate at once, and some are killed.

Before the upgrade, the tables are those of an earlier version. Some processes work with them: processes of that version
in another interpreter, or processes here that know only the migrations of that version. All others get the error that
the tables are outdated, and try again until they are not.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from duerow.errors import ConfigurationError
from duerow.testing.torture import other_version

LOG: Final = "processes.log"
"""The file to which all processes of a run write their errors."""

AT_ONCE: Final = 3
"""How many processes migrate at the same time."""

MORTAL: Final = 4
"""How many of the first migrators are killed at some statement, if they get that far."""

BEFORE: Final = 4
"""A migrator's statements before its first migration: they read what was applied, and lock."""

EACH: Final = 5
"""The least statements of a migration, so that a doomed migrator dies before its commit."""

SLOWEST: Final = 0.05
"""The longest wait of a migrator before a statement, in seconds, so that others work in the middle of a migration."""


class Upgrade:
    """Migrates the tables after `begin` is called.

    Args:
        first: the number of migrations with which the tables begin.
        names: the names of all migrations.
        start: starts a migrator, which dies before the statement with a given number, waits for given seconds before
            each statement, and writes the names of the migrations that it applied to a file.
        folder: the folder with these files and the log of all processes.
        chance: decides when migrators die.

    Attributes:
        is_over: whether the tables have the new version and no migrator is left.
        happened: how many migrators there were, and how many were killed.
    """

    def __init__(
        self,
        first: int,
        names: Sequence[str],
        start: Callable[[int | None, float, Path], Any],
        folder: Path,
        chance: random.Random,
    ) -> None:
        self.first, self.names = first, names
        self._start_one, self._folder, self._chance = start, folder, chance
        self._alive: list[Any] = []
        self._files: list[Path] = []
        self._has_begun = self._is_made = False
        self.failed = 0
        self.happened: Counter[str] = Counter()

    def __str__(self) -> str:
        return (
            f"upgraded from version {self.first} to {len(self.names)} by {self.happened['migrators']} migrators, of "
            f"which {self.happened['migrators killed']} were killed"
        )

    @property
    def is_over(self) -> bool:
        """See the class."""
        return self._is_made and not self._alive

    def begin(self) -> None:
        """Start the first migrators, unless that has been done."""
        if not self._has_begun:
            self._has_begun = True
            self._fill_up()

    def pass_over(self) -> bool:
        """Replace migrators that have ended until the tables are upgraded; return whether the upgrade is over."""
        for one in [one for one in self._alive if one.exitcode is not None]:
            self._alive.remove(one)
            if one.exitcode == 0:
                self._is_made = True
            elif one.exitcode == -signal.SIGKILL:
                self.happened["migrators killed"] += 1
            else:
                self.failed += 1
                self._is_made = True  # no further migrators are started
        if self._has_begun and not self._is_made:
            self._fill_up()
        return self.is_over

    def finish(self, patience: float) -> None:
        """Continue until the upgrade is over."""
        self.begin()
        deadline = time.monotonic() + patience
        while not self.pass_over() and time.monotonic() < deadline:
            time.sleep(0.02)

    def stop(self) -> None:
        """End all migrators."""
        for one in self._alive:
            one.kill()
            one.join()
        self._alive.clear()

    def broken_promises(self, made: Sequence[tuple[int, str]]) -> Iterator[str]:
        """Yield everything that is wrong with the tables at the end.

        Args:
            made: the number and name of each migration that the database records.
        """
        if self.failed:
            yield f"{self.failed} migrators failed:\n{(self._folder / LOG).read_text()[-3_000:]}"
        if not self.is_over:
            yield "the upgrade did not end"
        if [*made] != [*enumerate(self.names, 1)]:
            yield f"the migrations {', '.join(self.names)} should be recorded once each, but the database has {made}"
        told = Counter(name for file in self._files if file.exists() for name in file.read_text().splitlines())
        for name, times in told.items():
            if times > 1 or name in self.names[: self.first]:
                yield f"{times} migrators say that they made {name}"

    def _fill_up(self) -> None:
        while len(self._alive) < AT_ONCE:
            self.happened["migrators"] += 1
            dies = None
            if len(self._files) < MORTAL or self._chance.random() < 0.5:
                missing = len(self.names) - self.first
                dies = self._chance.randint(1, BEFORE + EACH * missing)
            self._files.append(self._folder / f"migrated-{len(self._files)}")
            self._alive.append(self._start_one(dies, self._chance.uniform(0, SLOWEST), self._files[-1]))


def check_number(first: int, names: Sequence[str]) -> None:
    """Raise ConfigurationError unless this is the number of an earlier version of the tables."""
    if not 1 <= first < len(names):
        there = f"1 to {len(names) - 1}" if len(names) > 1 else "none"
        raise ConfigurationError(
            f"there is no upgrade from tables of version {first}: this duerow's own are of version {len(names)}, and "
            f"earlier versions are {there}"
        )


_ALL: Final[dict[str, Any]] = {}
"""All migrations of this version, by module."""


def know(url: str, first: int | None) -> None:
    """Let this process know only the first migrations, as many as `first`; None: all."""
    module = other_version.migrations(url)
    module.MIGRATIONS = _ALL.setdefault(module.__name__, module.MIGRATIONS)[:first]


@contextmanager
def knowing(url: str, first: int | None) -> Iterator[None]:
    """Let this process know only the first migrations during a block."""
    know(url, first)
    try:
        yield
    finally:
        know(url, None)
