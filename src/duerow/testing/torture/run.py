"""A run: processes of every kind are started, killed at random and replaced; then the rest finish what is left."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from duerow.errors import ConfigurationError
from duerow.phrases import Argument
from duerow.testing.torture import tables
from duerow.testing.torture.access import BEGUN
from duerow.testing.torture.environment import OF_MESSAGES, OF_ROWS, Setting, declare, queues
from duerow.testing.torture.evidence import Span
from duerow.testing.torture.faults import Faults, proxy_for
from duerow.testing.torture.ledger import EVIDENCE, Ledger, Line
from duerow.testing.torture.options import Options
from duerow.testing.torture.report import Report, VersionShare, report_on
from duerow.testing.torture.sides import ROLES, Here, Side, There, ordered
from duerow.testing.torture.upgrade import LOG, Upgrade, check_number
from duerow.testing.torture.verdict import Verdict
from duerow.testing.torture.worker_process import MOST_WORK, WorkerProcess
from duerow.testing.torture.workload import chosen, has_operators, used_workloads
from duerow.testing.trace import Event, read
from duerow.testing.trace_check import BY_THE_CLOCK, STAYING, check

__all__ = ["FEWEST", "LEAST", "ROLES", "Run", "torture"]

FEWEST: Final = ("producer", "consumer", "consumer", "operator")
"""The roles of the first four processes; further ones are consumers and producers in turn."""

LEAST: Final = 10
"""The least turns that must begin before a run ends, however few processes it has to kill."""

HOPELESS: Final = 5
"""How many processes may end unexpectedly before the run is given up."""

FULL: Final = 0.15
"""The share of processes whose disk is full, if the options ask for that."""

LOOK: Final = 0.01
"""Seconds between checks of which process's time is up."""

BEFORE: Final = (0.25, 0.5)
"""The least and greatest share of the kills that happen before the tables are upgraded.

The upgrade begins after the least share if some turns have begun, which not every earlier version manages.
"""

EARLIER: Final = 0.6
"""The share of this interpreter's processes that use the earlier version until then."""

SPARED: Final = 60.0
"""Seconds without kills after enough kills, if too little has been done yet: a busy machine takes its time."""


def torture(
    url: str,
    options: Options | None = None,
    shared: bool = False,
    tell: Callable[[str], None] = print,
    context: Any = None,
    folder: Path | None = None,
    show: Callable[[Report], None] | None = None,
) -> Report:
    """Torture a database: create separate tables, carry out a run, judge it, and drop the tables.

    If the tables cannot be dropped within 30 seconds, they are left, and `tell` is called with their prefix. It is also
    told if the server's disk cannot be freed at the end, or its clock cannot be corrected.

    Args:
        url: the database.
        options: how long the run is, and which faults it has.
        shared: whether the database may have queues of other programs.
        tell: is called with reports of progress.
        context: starts processes; None: the fork server of `multiprocessing`.
        folder: where the processes write their logs and traces; None: a temporary folder.
        show: is called with the report before the tables are dropped.

    Raises:
        OtherQueues: the database has other queues, and `shared` is false.
        ConfigurationError: the URL cannot be used, the restart failed, the tables cannot be upgraded from the given
            version, or the other version of duerow cannot take part.
        StoreUnavailable: the server cannot be reached.
    """
    options = options or Options()
    if shared:
        options = replace(options, exhaust=False)
    with TemporaryDirectory(prefix="duerow-torture-") as temporary:
        run = Run(
            url,
            {"prefix": tables.prefix_of(options.seed)},
            options,
            context or multiprocessing.get_context("forkserver"),
            folder or Path(temporary),
        )
        dropped = True
        try:
            if options.full_disk and not run.setting.access.is_file:
                raise ConfigurationError(
                    "a full disk is for SQLite: the disk of a server cannot be filled from here; give the commands ",
                    Argument("fill_disk"),
                    " and ",
                    Argument("free_disk"),
                )
            if options.fill_disk is not None and options.free_disk is None:
                raise ConfigurationError(
                    "a disk that is filled must be freed again: give ", Argument("free_disk"), " as well"
                )
            if options.free_disk is not None and options.fill_disk is None:
                raise ConfigurationError(
                    Argument("free_disk"), " does nothing on its own: give ", Argument("fill_disk"), " as well"
                )
            run.setting.access.check()
            if not shared:
                tables.check_is_free(run.setting)
            run.create()
            began = time.monotonic()
            try:
                run.kill(tell)
                run.finish()
                run.stop()
                report = run.report(time.monotonic() - began)
                if show is not None:
                    show(report)
                return report
            finally:
                run.stop()
                run.restore(tell)
                dropped = _drop(run.setting, tell)
        finally:
            run.close()
            if dropped:  # otherwise closing could wait for the same server
                run.setting.access.close()


def _drop(setting: Setting, tell: Callable[[str], None]) -> bool:
    """Drop the tables; return whether this succeeded, because a failure must not hide the report."""
    try:
        tables.drop(setting)
    except Exception as error:
        tell(f"the tables whose names begin with {setting.prefix} were left: {error}; drop them by hand")
        return False
    return True


class Run:
    """Starts and kills processes.

    Args:
        url, settings: the database.
        options: how long it is, and which faults it has.
        context: starts processes.
        folder: where the processes write their logs and traces.

    Attributes:
        setting: the database as the run itself reaches it.
        killed: how many processes of each kind were killed.
        faults: causes and counts other faults.
        ended: what is known of processes that ended unexpectedly, which none should.
    """

    def __init__(self, url: str, settings: dict[str, Any], options: Options, context: Any, folder: Path) -> None:
        self._options, self._context, self._folder = options, context, folder
        self._log = folder / LOG
        self._traces = folder / "traces"
        self._traces.mkdir()
        self._chance = random.Random(options.seed)
        self._alive: list[WorkerProcess] = []
        self.setting = Setting(url, settings, options.seed, serializable=options.serializable, clocks=options.clocks)
        self.setting = replace(
            self.setting, jumps=options.set_clock is not None, only=options.only and chosen(options.only)
        )
        self._proxy = proxy_for(self.setting.access) if options.cuts else None
        self.faults = Faults(options, self.setting, self._proxy, self._chance)
        self.killed: Counter[str] = Counter()
        self.ended: list[str] = []
        self._reader = tables.Reader(self.setting)
        self._first_tick: datetime | None = None
        self._sides: list[Side] = []
        self._side_of: list[Side] = []  # of each process, by its number, which starts at 1
        self._killed_of: Counter[Side] = Counter()
        self._upgrade: Upgrade | None = None
        self._begun_before = 0
        self._used = chosen(options.only, self.setting.access.has_items)
        self._workloads = used_workloads(self._used)

    def create(self) -> None:
        """Create the tables: those of an earlier version if the run upgrades them.

        Raises:
            ConfigurationError: the earlier version does not exist, or the other version of duerow cannot take part.
        """
        options, setting = self._options, self.setting
        here = Here(self._context, self._log, setting.url)
        self._sides = [here]
        maker: Side = here  # the side that creates the tables
        migrators: Sequence[Side] = self._sides
        first = options.upgrade_from
        if first is not None:
            check_number(first, here.migrations)
        if options.beside is not None:
            beside = There(options.beside, self._folder, setting.url, setting.all_settings)
            self._sides.append(beside)
            beside.check_options(replace(setting, full=options.full_disk))
            older, newer = ordered(here, beside)
            known = len(older.migrations)
            if known < len(newer.migrations):
                if first is not None:
                    raise ConfigurationError(
                        f"a run with {beside.name} upgrades the tables from version {known} to "
                        f"{len(newer.migrations)} by itself: leave ",
                        Argument("upgrade_from"),
                        " out",
                    )
                first, maker, migrators = known, older, [newer]
        if maker is here:
            tables.create(setting, first)
        else:
            tables.create_by(maker, setting, self._folder / "created")
        if first is not None:
            names = migrators[-1].migrations

            def start(*terms: Any) -> Any:
                side = self._chance.choice(migrators)
                return side.start_migrator(self._reached(side), *terms)

            self._upgrade = Upgrade(first, names, start, self._folder, self._chance)

    def kill(self, tell: Callable[[str], None] = print) -> None:
        """Let processes work, and kill as many of them as the options say, at random times."""
        if self._upgrade is None:  # otherwise the producers declare it when they can
            with self.setting.open() as database:
                self._first_tick = declare(database).next_at
        for role in self._roles():
            self._alive.append(self._start(role))
        began = time.monotonic()
        sparing_until: float | None = None
        while not self._is_enough(time.monotonic() - began):
            self.faults.pass_over()
            if self._upgrade is not None and not self._upgrade.is_over and not self.faults.is_disk_full:
                self._pass_over(self._upgrade)
            seconds = time.monotonic() - began
            if sparing_until is None and self._has_killed(seconds):
                sparing_until = seconds + SPARED
            spares = sparing_until is not None and seconds < sparing_until
            victim = next((one for one in self._alive if one.is_over and (one.has_ended or not spares)), None)
            if victim is None:
                time.sleep(LOOK)
                continue
            self._kill(victim)
            self.killed[victim.name] += 1
            self._killed_of[victim.side] += 1
            if self._upgrade is not None and self._is_time(self.killed.total()):
                self._upgrade.begin()
            self._alive.append(self._start(victim.role))
            self.faults.happen(self._alive, self.killed.total())
            if self.killed.total() % 100 == 0:
                tell(f"{time.monotonic() - began:5.0f} s: {self.killed.total()} killed")

    def finish(self) -> None:
        """Let the living consumers finish what is left; start a few more, because some kinds of consumers rest."""
        self.faults.pass_over(all_of_them=True)
        if self._upgrade is not None:
            self._upgrade.finish(self._options.patience)
        for one in [*self._alive]:
            if one.stopped is not None:
                one.go_on()
            if one.role != "consumer" or one.full:
                self._kill(one)
        for kind in (kind for workload in self._workloads for kind in workload.last):
            self._alive.append(self._start("consumer", kind, last=True))
        with self.setting.open() as database:
            for queue in queues(database, timedelta(seconds=1)).values():
                queue.resume()
        deadline = time.monotonic() + self._options.patience
        while self._reader.left() and time.monotonic() < deadline:
            time.sleep(0.1)

    def stop(self) -> None:
        """End all processes."""
        for one in self._alive:
            one.kill()
        self._alive.clear()
        if self._upgrade is not None:
            self._upgrade.stop()

    def restore(self, tell: Callable[[str], None]) -> None:
        """End the faults of the server; a failure must not hide the report, so it is only told."""
        try:
            self.faults.end()
        except ConfigurationError as error:
            tell(f"the server was left with a full disk or a wrong clock: {error}; restore it by hand")

    def close(self) -> None:
        """Close the other interpreter and the proxy."""
        for side in self._sides:
            side.close()
        if self._proxy is not None:
            self._proxy.close()

    def report(self, seconds: float) -> Report:
        """Read all of the evidence, and judge it."""
        last = self._reader.last_tick()  # read before the messages, because the server may still commit another
        ticked = None if self._first_tick is None and self._upgrade is None else Span(self._first_tick, last)
        lines = Ledger(self.setting).lines()
        verdict = Verdict(lines, self._reader.rows(), self._reader.turns(), ticked, self._reader.items())
        events, of_rows = self._events(OF_MESSAGES), self._events(OF_ROWS)
        every = [[event for each in traces.values() for event in each] for traces in (events, of_rows)]
        found = [one for traced in every for one in check(traced)]
        broken = [one for one in found if one.rule != BY_THE_CLOCK or self.setting.times_agree]
        others = [*self.ended, *map(str, broken)]
        kinds = [*("no process ends unexpectedly" for _ in self.ended), *(one.rule for one in broken)]
        upgraded = ""
        if self._upgrade is not None:
            wrong = [*self._upgrade.broken_promises(self._reader.made())]
            others += wrong
            kinds += ["the tables are upgraded once" for _ in wrong]
            upgraded = f"{self._upgrade}, before {self._begun_before} turns had begun"
        parts = [self._share(side, lines, events) for side in self._sides] if len(self._sides) > 1 else []
        happened = self.faults.happened
        return report_on(
            verdict, self._options, self.killed, happened, others, sum(map(len, every)), seconds, upgraded, parts, kinds
        )

    def _events(self, ending: str) -> dict[int, list[Event]]:
        """Return the recorded events of messages or of rows by the number of the process."""
        files = {file.name.partition("."): file for file in self._traces.iterdir()}
        return {int(number): read([file]) for (number, dot, rest), file in files.items() if dot + rest == ending}

    def _is_enough(self, seconds: float) -> bool:
        if len(self.ended) >= HOPELESS:
            return True
        if not self._has_killed(seconds) or self.faults.is_disk_full:
            return False
        if self._upgrade is not None and not self._upgrade.is_over:
            self._upgrade.begin()
            return False
        begun = self._reader.begun()
        least = LEAST // len(self._sides)
        return all(sum(begun[number] for number in self._numbers(side, begun)) >= least for side in self._sides)

    def _has_killed(self, seconds: float) -> bool:
        """Return whether enough processes were killed, or the time is up."""
        longest = self._options.seconds
        return self.killed.total() >= self._options.kills or (longest is not None and seconds >= longest)

    def _numbers(self, side: Side, among: Iterable[int]) -> list[int]:
        """Return the numbers among these of the processes of a side."""
        return [number for number in among if self._side_of[number - 1] is side]

    def _share(self, side: Side, lines: Sequence[Line], events: Mapping[int, Sequence[Event]]) -> VersionShare:
        """Return a summary of what the processes of a side did."""
        theirs = frozenset(self._numbers(side, range(1, len(self._side_of) + 1)))
        mine = [line for line in lines if line.process in theirs]
        settled = {
            (event.id, event.token)
            for number in theirs & events.keys()
            for event in events[number]
            if event.what == "settled" and event.sure and event.how not in STAYING
        }
        said = {(line.message, line.token) for line in mine if line.what in EVIDENCE or line.what == "taken"}
        pushed = sum(line.what in ("pushed", "sent", "inserted") for line in mine)
        turns = sum(line.what in BEGUN for line in mine)
        ended = len(settled | said) + sum(line.what == "row ended" for line in mine)
        return VersionShare(side.name, len(theirs), self._killed_of[side], pushed, turns, ended)

    def _is_time(self, killed: int) -> bool:
        """Return whether the tables should be upgraded now."""
        fewest, most = BEFORE
        if killed < fewest * self._options.kills or self.faults.is_disk_full:
            return False
        return killed >= most * self._options.kills or sum(self._reader.begun().values()) >= LEAST

    def _pass_over(self, upgrade: Upgrade) -> None:
        if upgrade.pass_over():
            self._begun_before = sum(self._reader.begun().values())

    def _start(self, role: str, kind: str | None = None, last: bool = False) -> WorkerProcess:
        side = self._sides[0] if len(self._sides) == 1 else self._fewest(role, kind)
        full = self._options.full_disk and not last and self._chance.random() < FULL
        self.faults.happened["full disks"] += full
        setting = replace(self._reached(side), full=full)
        if self._upgrade is not None and not self._upgrade.is_over:
            earlier = self._options.upgrade_from is not None and self._chance.random() < EARLIER
            setting = replace(setting, outdated=True, known=self._upgrade.first if earlier else None)
        kind = self._chance.choice(self._kinds(side)) if kind is None else kind
        process, ready = side.start(role, kind, setting)
        return WorkerProcess(process, role, kind, ready, self._chance.uniform(0, MOST_WORK), full, side=side)

    def _fewest(self, role: str, kind: str | None = None) -> Side:
        """Return the side with the fewest processes of a role, so that each has some.

        Args:
            role: the role.
            kind: the kind of consumer, which one of the versions may lack; None: any.
        """
        able = [side for side in self._sides if kind is None or kind in side.kinds]
        there = Counter(id(one.side) for one in self._alive if one.role == role)
        fewest = min(there[id(side)] for side in able)
        return self._chance.choice([side for side in able if there[id(side)] == fewest])

    def _kinds(self, side: Side) -> list[str]:
        """Return the kinds of consumers that a side can run.

        Raises:
            ConfigurationError: there are none.
        """
        kinds = [kind for kind in side.kinds if kind in self._used]
        if not kinds:
            raise ConfigurationError(f"{side.name} has no consumers for the messages of this run")
        return kinds

    def _roles(self) -> list[str]:
        """Return the role of each process that works at any moment."""
        count = self._options.processes
        more = ("consumer", "producer")
        roles = [*FEWEST, *(more[number % 2] for number in range(count - len(FEWEST)))][:count]
        return [role for role in roles if role != "operator" or has_operators(self._used)]

    def _reached(self, side: Side) -> Setting:
        """Return the settings of the next process on a side."""
        self._side_of.append(side)
        url = self.setting.url if self._proxy is None else self.setting.access.behind(self._proxy.port)
        return replace(self.setting, url=url, number=len(self._side_of), traces=self._traces)

    def _kill(self, victim: WorkerProcess) -> None:
        self._alive.remove(victim)
        if not victim.kill():
            self.ended.append(f"a {victim.role} ({victim.kind}) ended by itself:\n{self._log.read_text()[-3_000:]}")
