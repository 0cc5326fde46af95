"""One run: processes of every kind are started, killed at random and replaced; then the rest finish what is left."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from duerow.errors import ConfigurationError
from duerow.testing.torture import tables
from duerow.testing.torture.consumer import KINDS, consume
from duerow.testing.torture.environment import Setting, declare, queues
from duerow.testing.torture.evidence import Span
from duerow.testing.torture.faults import Faults, proxy_for
from duerow.testing.torture.ledger import Ledger
from duerow.testing.torture.operation import operate
from duerow.testing.torture.options import Options
from duerow.testing.torture.producer import produce
from duerow.testing.torture.report import Report, report_on
from duerow.testing.torture.verdict import Verdict
from duerow.testing.torture.worker_process import MOST_WORK, WorkerProcess, be
from duerow.testing.trace import read
from duerow.testing.trace_check import BY_THE_CLOCK, check

ROLES: Final[Mapping[str, Callable[..., None]]] = {"producer": produce, "consumer": consume, "operator": operate}

FEWEST: Final = ("producer", "consumer", "consumer", "operator")
"""The processes that work at any moment if there are four; each further two are a consumer and a producer in turn."""

LEAST: Final = 10
"""Turns that are begun before there is an end of it, however few are to be killed."""

HOPELESS: Final = 5
"""How many processes may end by themselves before the run is given up."""

FULL: Final = 0.15
"""For how many processes the disk is full, if that is asked for."""

LOOK: Final = 0.01
"""Seconds between two looks at whose time is up."""

PATIENCE: Final = 240.0
"""Seconds in which what is left must be finished; then it is stuck."""


def torture(
    url: str,
    options: Options | None = None,
    shared: bool = False,
    tell: Callable[[str], None] = print,
    context: Any = None,
    folder: Path | None = None,
) -> Report:
    """Torture a database: make tables of its own, let a run happen, judge it, and drop the tables.

    Args:
        url: the database.
        options: how long the run is, and which faults it meets.
        shared: whether the database may have queues of somebody else.
        tell: is told how far it is.
        context: starts processes; None: those of `multiprocessing` that fork from a server.
        folder: where the processes write their logs and traces; None: a temporary folder.

    Raises:
        OtherQueues: the database has other queues, and `shared` is false.
        ConfigurationError: the URL cannot be used, or the restart failed.
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
        if options.full_disk and not run.setting.access.is_file:
            raise ConfigurationError("a full disk is for SQLite: the disk of a server cannot be filled from here")
        run.setting.access.check()
        if not shared:
            tables.check_is_free(run.setting)
        tables.create(run.setting)
        began = time.monotonic()
        try:
            run.kill(tell)
            run.finish()
            run.stop()
            return run.report(time.monotonic() - began)
        finally:
            run.stop()
            run.close()
            run.setting.access.drop()
            run.setting.access.close()


class Run:
    """Starts and kills processes.

    Args:
        url, settings: the database, migrated, with a ledger.
        options: how long it is, and which faults it meets.
        context: starts processes.
        folder: where the processes write their logs and traces.

    Attributes:
        setting: the database as the run itself reaches it.
        killed: how many processes of which kind were killed.
        faults: what else happened.
        ended: what is known of processes that ended by themselves, which none may.
    """

    def __init__(self, url: str, settings: dict[str, Any], options: Options, context: Any, folder: Path) -> None:
        self._options, self._context, self._log = options, context, folder / "processes.log"
        self._traces = folder / "traces"
        self._traces.mkdir()
        self._chance = random.Random(options.seed)
        self._number = 0
        self._alive: list[WorkerProcess] = []
        self.setting = Setting(url, settings, options.seed, serializable=options.serializable, clocks=options.clocks)
        self._proxy = proxy_for(self.setting.access) if options.cuts else None
        self.faults = Faults(options, self.setting, self._proxy, self._chance)
        self.killed: Counter[str] = Counter()
        self.ended: list[str] = []
        self._reader = tables.Reader(self.setting)
        self._first_tick: datetime | None = None

    def kill(self, tell: Callable[[str], None] = print) -> None:
        """Let processes work, and kill as many of them as the options say, at random moments."""
        with self.setting.open() as database:
            self._first_tick = declare(database).next_at
        more = ("consumer", "producer")
        roles = [*FEWEST, *(more[number % 2] for number in range(self._options.processes - len(FEWEST)))]
        self._alive = [self._start(role) for role in roles]
        began = time.monotonic()
        while not self._is_enough(time.monotonic() - began):
            self.faults.pass_over()
            victim = next((one for one in self._alive if one.is_over), None)
            if victim is None:
                time.sleep(LOOK)
                continue
            self._kill(victim)
            self.killed[victim.name] += 1
            self._alive.append(self._start(victim.role))
            self.faults.happen(self._alive, self.killed.total())
            if self.killed.total() % 100 == 0:
                tell(f"{time.monotonic() - began:5.0f} s: {self.killed.total()} killed")

    def finish(self) -> None:
        """Let the consumers that live finish what is left; a few more come, as some may be of a kind that rests."""
        self.faults.pass_over(all_of_them=True)
        for one in [*self._alive]:
            if one.stopped is not None:
                one.go_on()
            if one.role != "consumer" or one.full:
                self._kill(one)
        self._alive += [self._start("consumer", kind, last=True) for kind in ("ahead", "one by one")]
        with self.setting.open() as database:
            for queue in queues(database, timedelta(seconds=1)).values():
                queue.resume()
        deadline = time.monotonic() + PATIENCE
        while self._reader.left() and time.monotonic() < deadline:
            time.sleep(0.1)

    def stop(self) -> None:
        """End all processes."""
        for one in self._alive:
            one.kill()
        self._alive.clear()

    def close(self) -> None:
        """Close the proxy, and all connections that faults hold."""
        self.faults.close()
        if self._proxy is not None:
            self._proxy.close()

    def report(self, seconds: float) -> Report:
        """Read all that there is to judge by, and judge."""
        last = self._reader.last_tick()  # read before the messages, as the server may commit one more
        ticked = None if self._first_tick is None else Span(self._first_tick, last)
        verdict = Verdict(Ledger(self.setting).lines(), self._reader.rows(), self._reader.turns(), ticked)
        events = read(self._traces.iterdir())
        broken = (one for one in check(events) if one.rule != BY_THE_CLOCK or self.setting.times_agree)
        others = [*self.ended, *map(str, broken)]
        return report_on(verdict, self._options, self.killed, self.faults.happened, others, len(events), seconds)

    def _is_enough(self, seconds: float) -> bool:
        if len(self.ended) >= HOPELESS:
            return True
        longest = self._options.seconds
        enough = self.killed.total() >= self._options.kills or (longest is not None and seconds >= longest)
        return enough and self._reader.begun() >= LEAST

    def _start(self, role: str, kind: str | None = None, last: bool = False) -> WorkerProcess:
        self._number += 1
        url = self.setting.url if self._proxy is None else self.setting.access.behind(self._proxy.port)
        full = self._options.full_disk and not last and self._chance.random() < FULL
        self.faults.happened["full disks"] += full
        setting = replace(self.setting, url=url, number=self._number, full=full, traces=self._traces)
        ours, theirs = self._context.Pipe(duplex=False)
        kind = self._chance.choice(KINDS) if kind is None else kind
        arguments = (setting, kind) if role == "consumer" else (setting,)
        # No daemon, for it may have children.
        process = self._context.Process(target=be, args=(self._log, theirs, ROLES[role], *arguments))
        process.start()
        theirs.close()
        return WorkerProcess(process, role, kind, ours, self._chance.uniform(0, MOST_WORK), full)

    def _kill(self, victim: WorkerProcess) -> None:
        self._alive.remove(victim)
        if not victim.kill():
            self.ended.append(f"a {victim.role} ({victim.kind}) ended by itself:\n{self._log.read_text()[-3_000:]}")
