"""Make a failing run smaller: remove kills, faults, operations and processes as long as a promise still breaks.

Runs cannot be repeated exactly, because which kill hits which step depends on the machine. So each smaller run is tried
a few times, and counts as failing if one of the tries breaks a promise that the first run broke.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from duerow.errors import ConfigurationError, DuerowError
from duerow.testing.torture.options import Options
from duerow.testing.torture.report import Report
from duerow.testing.torture.workload import chosen

TRIES: Final = 3
"""How often a smaller run is tried before it counts as not failing."""

MOST_RUNS: Final = 100
"""The maximum number of runs."""

FAULTS: Final[dict[str, Any]] = {
    "stops": False,
    "cuts": False,
    "exhaust": False,
    "clocks": False,
    "full_disk": False,
    "serializable": False,
    "restart": None,
    "fill_disk": None,
    "set_clock": None,
    "upgrade_from": None,
    "beside": None,
}
"""The options that turn faults on, and the values that turn them off."""

BY_FUNCTIONS: Final = {
    "restart": "restarted the server",
    "fill_disk": "filled the server's disk",
    "set_clock": "set the server's clock",
}
"""The faults that a function can cause, and what such a run did."""

FEWER_KILLS: Final = (0, 8, 4, 2)
"""The divisors of the number of kills that are tried in turn; 0 stands for no kills."""

FEWER_PROCESSES: Final = (2, 3, 4)


class Enough(Exception):
    """The maximum number of runs has been reached."""


@dataclass(frozen=True)
class Shrunk:
    """The smallest run that is known to break a promise.

    Attributes:
        options: its options.
        report: its report.
        runs: how many runs it took to find it.
        failed, tried: how many of the runs with these options failed.
    """

    options: Options
    report: Report
    runs: int
    failed: int
    tried: int


def shrink(
    options: Options,
    report: Report,
    run: Callable[[Options], Report],
    tell: Callable[[str], None] = print,
    tries: int = TRIES,
    most: int = MOST_RUNS,
) -> Shrunk:
    """Search for the smallest run that breaks one of the promises that a run broke.

    Ctrl-C, a database error and the maximum number of runs end the search early; the smallest run so far is returned.

    Args:
        options: the options of the run.
        report: its report, with at least one broken promise.
        run: starts a run with other options.
        tell: is called with a line about each run.
        tries: how often each smaller run is tried.
        most: the maximum number of runs.
    """
    search = Search(options, report, run, tell, tries, most)
    try:
        search.go()
    except (Enough, KeyboardInterrupt):
        pass
    except DuerowError as error:
        tell(f"the search ended early: {error}")
    return search.smallest


class Search:
    """See `shrink`.

    Attributes:
        smallest: the smallest run so far.
    """

    def __init__(
        self,
        options: Options,
        report: Report,
        run: Callable[[Options], Report],
        tell: Callable[[str], None],
        tries: int,
        most: int,
    ) -> None:
        self._kinds, self._run, self._tell, self._tries, self._most = {*report.kinds}, run, tell, tries, most
        self._runs = 0
        self._kept: list[Options] = []  # the options of runs that kept their promises
        self.smallest = Shrunk(options, report, 0, 1, 1)

    def go(self) -> None:
        """Remove one kind of thing after another; kills twice, because fewer may be enough once the rest is smaller."""
        self.leave_out_kills()
        self.leave_out_faults()
        self.leave_out_operations()
        self.leave_out_processes()
        self.leave_out_kills()
        self.repeat()

    def leave_out_kills(self) -> None:
        """Kill fewer processes."""
        shrinks = True
        while shrinks:
            kills = self.smallest.options.kills
            fewer = sorted({part and kills // part for part in FEWER_KILLS} - {kills})
            shrinks = any(self._fails(replace(self.smallest.options, kills=count)) for count in fewer)

    def leave_out_faults(self) -> None:
        """Turn faults off."""
        there = [name for name, off in FAULTS.items() if getattr(self.smallest.options, name) != off]
        self._leave_out(there, lambda part: without_faults(self.smallest.options, part))

    def leave_out_operations(self) -> None:
        """Use fewer operations."""

        def without(part: Sequence[str]) -> Options | None:
            left = [name for name in chosen(self.smallest.options.only) if name not in part]
            try:
                return replace(self.smallest.options, only=chosen(left)) if left else None
            except ConfigurationError:
                return None

        self._leave_out(chosen(self.smallest.options.only), without)

    def leave_out_processes(self) -> None:
        """Use fewer processes."""
        options = self.smallest.options
        for count in FEWER_PROCESSES:
            if count < options.processes and self._fails(replace(options, processes=count)):
                return

    def repeat(self) -> None:
        """Repeat the smallest run, to see how often it fails and to get the shortest story."""
        for _ in range(self._tries):
            report, smallest = self._try(self.smallest.options), self.smallest
            fails = self._is_broken(report)
            shorter = fails and len(report.stories[0]) < len(smallest.report.stories[0])
            self.smallest = replace(
                smallest,
                report=report if shorter else smallest.report,
                failed=smallest.failed + fails,
                tried=smallest.tried + 1,
            )

    def _leave_out(self, items: Sequence[str], without: Callable[[Sequence[str]], Options | None]) -> None:
        """Remove all items, then halves, then quarters, and so on down to single ones, if the run still fails.

        Args:
            items: the names of the items.
            without: returns the options without some items; None: too little would be left for a run.
        """
        left, size = [*items], len(items)
        while size:
            place = 0
            while place < len(left):
                options = without(left[place : place + size])
                if options is not None and self._fails(options):
                    del left[place : place + size]
                else:
                    place += size
            size //= 2

    def _fails(self, options: Options) -> bool:
        """Try a smaller run, and keep it if it breaks one of the promises."""
        if options == self.smallest.options:  # these items were already removed together with others
            return True
        if options in self._kept:
            return False
        for tried in range(1, self._tries + 1):
            report = self._try(options)
            if self._is_broken(report):
                self.smallest = Shrunk(options, report, self._runs, 1, tried)
                return True
        self._kept.append(options)
        return False

    def _try(self, options: Options) -> Report:
        if self._runs == self._most:
            raise Enough
        self._runs += 1
        report = self._run(options)
        still = "still broken" if self._is_broken(report) else "not broken"
        self._tell(f"run {self._runs}: {described(options)}: {still}")
        return report

    def _is_broken(self, report: Report) -> bool:
        return not self._kinds.isdisjoint(report.kinds)


def without_faults(options: Options, names: Sequence[str]) -> Options:
    """Return options with some faults turned off; a disk that is not filled is not freed either."""
    off = {name: FAULTS[name] for name in names}
    if "fill_disk" in off:
        off["free_disk"] = None
    return replace(options, **off)


def by_commands(options: Options) -> Options:
    """Return options without the faults that functions cause: neither a command line nor a program can have those."""
    functions = [name for name in BY_FUNCTIONS if callable(getattr(options, name))]
    return without_faults(options, [*functions, *(["fill_disk"] if callable(options.free_disk) else [])])


def described(options: Options) -> str:
    """Describe the size of a run in a few words."""
    faults = [name for name, off in FAULTS.items() if getattr(options, name) != off]
    told = f"{options.kills} kills, {options.processes} processes, {len(chosen(options.only))} operations"
    return f"{told}, {', '.join(faults)}" if faults else f"{told}, no faults"


def arguments(options: Options) -> list[str]:
    """Return the arguments of `duerow torture` for options; options that the command lacks are left out."""
    told: list[str] = []
    for name, value in changed(by_commands(options)).items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            told.append(option if value else f"--no-{name}")
        elif isinstance(value, tuple):
            told += [part for one in value for part in (option, one)]
        elif name not in WITHOUT_ARGUMENT:
            told += [option, str(value)]
    return told


def changed(options: Options) -> dict[str, Any]:
    """Return the seed and the options that differ from their defaults."""
    default = Options(seed=options.seed)
    values = {one.name: getattr(options, one.name) for one in fields(options)}
    return {name: value for name, value in values.items() if name == "seed" or value != getattr(default, name)}


def script(shrunk: Shrunk, before: Options, shared: bool = False) -> str:
    """Return a Python program that repeats the smallest run until it breaks the promise, with the story in comments.

    Args:
        shrunk: the smallest run.
        before: the options of the original run.
        shared: whether the database may have queues of other programs.
    """
    options = shrunk.options
    terms = changed(by_commands(options))
    command = shlex.join(["duerow", "torture", "URL", *arguments(options), *(["--shared"] if shared else [])])
    broken = "; ".join(shrunk.report.kinds)
    about = [
        f"This run of `duerow torture` broke a promise: {broken}.",
        f"It failed {shrunk.failed} of {shrunk.tried} times. Which kill hits which step depends on the machine, so",
        "this program repeats it until it fails, up to ten times:",
        "",
        "    python THIS_FILE URL",
        "",
        f"To run it once: {command}",
        "",
        f"It was derived from a larger run with the same seed: {described(before)}.",
    ]
    about += [
        f"That run also {what} by calling a function, which this program lacks."
        for name, what in BY_FUNCTIONS.items()
        if callable(getattr(options, name))
    ]
    story = ["", "The shortest story:", "", *shrunk.report.stories[0].splitlines()]
    return PROGRAM.format(
        about="".join(f"# {line}".rstrip() + "\n" for line in [*about, *story]),
        options="".join(f"    {name}={value!r},\n" for name, value in terms.items()),
        shared=", shared=True" if shared else "",
    )


PROGRAM: Final = """\
{about}
import sys

from duerow.testing.torture import Options, torture

OPTIONS = Options(
{options})

if __name__ == "__main__":
    for _ in range(10):
        report = torture(sys.argv[1], OPTIONS, show=print{shared})
        if report.broken:
            sys.exit(8)
"""

WITHOUT_ARGUMENT: Final = ("restarts", "patience")
"""Options that the command lacks."""
