"""A program that runs a pipeline on Spark, and ways to kill parts of it at a random moment."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import psycopg

import duerow
from duerow.testing.conformance.fixtures import Place
from tests.crash.on_spark import STATIONS

APPLICATION = "duerow-to-be-killed"
"""What PostgreSQL calls the connections of the program."""

LONGEST = 900.0
"""Seconds after which a program hangs."""

FORKING = "pyspark.worker"
"""What the daemon that Spark starts for Python is told, in whichever module it is; its forks keep its line."""

LOOK = 0.02
"""Seconds between two looks at what a process has done."""


class Program:
    """The program, started again as often as it is killed.

    Args:
        place: the database.
        folder: where it logs.
        chance: what is random.
        arguments: the module of the program, and what it is given after the database.

    Attributes:
        ended: how often it has ended by itself, by its exit code.
    """

    def __init__(self, place: Place, folder: Path, chance: random.Random, module: str, *arguments: object) -> None:
        self._place, self._chance, self._module = place, chance, module
        self._arguments = [*map(str, arguments)]
        self.log = folder / "program.log"
        self.ended: Counter[int] = Counter()
        self._seen: dict[int, psutil.Process] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, unless it runs."""
        if self._process is not None:
            if (code := self._process.poll()) is None:
                return
            self.ended[code] += 1
        database = self._place.url, json.dumps(self._place.settings)
        arguments = [sys.executable, "-m", self._module, *database, *self._arguments]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PGAPPNAME": APPLICATION},
                cwd=Path(__file__).parents[2],
            )

    def check_running(self) -> None:
        """Fail, with the end of its log, if it has ended by itself."""
        assert self._process is not None
        code = self._process.poll()
        assert code is None, f"the program ended with {code}: {self.log.read_text()[-3_000:]}"

    def end(self) -> int:
        """Wait until it has nothing left to do; return its exit code."""
        assert self._process is not None
        return self._process.wait(LONGEST)

    def stop(self) -> None:
        """Kill all that is left of it."""
        self._below()
        for process in [*self._seen.values()]:
            _kill(process)
        if self._process is not None:
            self._process.kill()
            self._process.wait(LONGEST)

    # Kinds of kills. Each returns a word for what was hit, or None when there was nothing to hit.

    def kill_worker(self) -> str | None:
        """Kill a process of Python that works for an executor: one that computes, or has messages in hand."""
        busy, holders = self._busy(), self._holders()
        victims = [one for one in self._below() if _is_worker(one) and (one in busy or one in holders)]
        if not victims:
            return None
        victim = self._chance.choice(victims)
        if not _kill(victim):
            return None
        return "with messages of its own" if victim in holders else "at the driver's batch"

    def kill_driver(self, even_at_rest: bool = False) -> str | None:
        """Kill the driver's Java, or its Python, or both; wait until the rest has ended.

        Args:
            even_at_rest: whether to kill it also while none of its processes computes.
        """
        assert self._process is not None
        ours = self._below()
        java = [one for one in ours if _name(one).startswith("java")]
        if not java or not (even_at_rest or self._busy()):
            return None
        way = self._chance.choice(["Java", "Python", "both at once"])
        for victim in java if way == "Java" else []:
            _kill(victim)
        if way != "Java":
            self._process.kill()
        for victim in java if way == "both at once" else []:
            _kill(victim)
        self._process.wait(LONGEST)
        alive = psutil.wait_procs(java, LONGEST)[1]
        assert not alive, f"{way} was killed, and Java is still there"
        self._process = None
        return way

    def kill_connection(self) -> str | None:
        """Let PostgreSQL end one of the connections while it is at work."""
        busy = (
            "SELECT pid, xact_start IS NOT NULL AND state <> 'active' FROM pg_stat_activity WHERE application_name = %s"
        )
        with psycopg.connect(self._place.url, autocommit=True) as connection:
            deadline = time.monotonic() + 1
            while time.monotonic() < deadline:
                found = connection.execute(busy + " AND state <> 'idle'", [APPLICATION]).fetchall()
                if found:
                    pid, between = self._chance.choice(found)
                    done = connection.execute("SELECT pg_terminate_backend(%s)", [pid]).fetchone()
                    if done == (True,):
                        return "between two statements of a transaction" if between else "in a statement"
        return None

    def stop_queries(self) -> str | None:
        """Have the program stop its queries wherever they are, and start them again."""
        assert self._process is not None
        if not self._busy():
            return None
        self._process.send_signal(signal.SIGUSR1)
        return "in a batch"

    def _busy(self) -> list[psutil.Process]:
        """Those processes of Python for executors that compute just now."""
        workers = [one for one in self._below() if _is_worker(one)]
        before = {one.pid: _work(one) for one in workers}
        time.sleep(LOOK)
        return [one for one in workers if _work(one) > before[one.pid]]

    def _holders(self) -> list[psutil.Process]:
        """Those processes of Python for executors that have reserved messages."""
        with duerow.connect(self._place.url, **self._place.settings) as database:
            numbers = database.queue(STATIONS[0])
            return [
                one
                for one in self._below()
                if _is_worker(one) and numbers.find(f"leased_by like '%:{one.pid}:%'", limit=1)
            ]

    def _below(self) -> list[psutil.Process]:
        """All processes below the program's own."""
        if self._process is None:
            return []
        try:
            below = psutil.Process(self._process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        self._seen |= {one.pid: one for one in below}
        return below


KILLS = int(os.environ.get("DUEROW_SOAK_KILLS", "50"))

LATEST = 1.5
"""Seconds after something is in hand until something is killed, at most."""

Kinds = dict[str, Counter[str]]
"""How many were killed of each kind, by what was hit."""


def kill_all(
    program: Program, shares: dict[str, float], chance: random.Random, feed: Callable[[], None], queues: Sequence[Any]
) -> Kinds:
    """Kill parts of the program, fed anew before each kill, until enough of each kind were killed.

    Args:
        program: the program.
        shares: the share of each kind among the kills.
        chance: in which order, and when.
        feed: gives the program more to do.
        queues: those of its messages, the first of which is fed.
    """
    began = time.monotonic()
    plan = [kind for kind, share in shares.items() for _ in range(round(share * KILLS))]
    chance.shuffle(plan)
    kinds: Kinds = {kind: Counter() for kind in shares}
    kill = {
        "workers": program.kill_worker,
        "drivers": program.kill_driver,
        "connections": program.kill_connection,
        "queries": program.stop_queries,
    }
    for kind in plan:
        feed()
        deadline = time.monotonic() + LONGEST
        hit = None
        while hit is None:
            assert time.monotonic() < deadline, f"nothing to kill among {kind}: {program.log.read_text()[-5_000:]}"
            program.start()
            if not any(queue.stats(exact=True).leased for queue in queues):
                if queues[0].count() == 0:
                    feed()
                time.sleep(0.05)
                continue
            time.sleep(chance.uniform(0, LATEST))
            hit = kill[kind]()
        kinds[kind][hit] += 1
        print(f"{time.monotonic() - began:4.0f} s: one of {kind}, {hit}", flush=True)
    return kinds


def _is_worker(process: psutil.Process) -> bool:
    """Whether it is a fork of the daemon that Spark starts for Python, and not the daemon."""
    parent = _parent(process)
    return FORKING in _line(process) and parent is not None and FORKING in _line(parent)


def _parent(process: psutil.Process) -> psutil.Process | None:
    try:
        return process.parent()
    except psutil.Error:
        return None


def _line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""


def _work(process: psutil.Process) -> float:
    """Seconds that a process has computed."""
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _kill(process: psutil.Process) -> bool:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return False
    return True


def tell(kinds: Kinds) -> str:
    """Say how many were killed of which kind, and in the midst of what."""
    return "; ".join(
        f"{of.total()} {kind} ({', '.join(f'{count} {what}' for what, count in sorted(of.items()))})"
        for kind, of in kinds.items()
    )
