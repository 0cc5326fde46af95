"""What a worker costs that has nothing to do."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from bench import ours
from bench.context import Context
from bench.counting_proxy import counting
from bench.processes import Child
from bench.results import Result, limit

STATEMENTS_PER_SECOND, POSTGRESQL_CORE_PERCENT, SQLITE_CORE_PERCENT = 3.0, 1.0, 3.0
SETTLING_SECONDS = 3


def worker(context: Context) -> list[Result]:
    """Statements and processor time of an idle worker's process, watched from outside."""
    seconds = context.size.idle_seconds
    context.postgresql.clear()
    with counting(context.postgresql.url) as proxy:
        statements, percent = _watch(proxy.url, seconds, lambda: proxy.statements)
    context.sqlite.clear()
    _, sqlite_percent = _watch(context.sqlite.url, seconds, lambda: 0)
    note = f"over {seconds:g} s, after {SETTLING_SECONDS} s to settle"
    return [
        limit("idle worker, statements", "1/s", statements, STATEMENTS_PER_SECOND, note=f"{note}; BEGIN etc. counted"),
        limit("idle worker, processor", "% of a core", percent, POSTGRESQL_CORE_PERCENT, note=note),
        limit("SQLite: idle worker, processor", "% of a core", sqlite_percent, SQLITE_CORE_PERCENT, note=note),
    ]


def _watch(url: str, seconds: float, count: Callable[[], int]) -> tuple[float, float]:
    child = Child(ours.wait_for_nothing, url)
    try:
        child.wait_until_ready()
        child.go()
        time.sleep(SETTLING_SECONDS)
        counted, used = count(), _processor_seconds(child.pid)
        time.sleep(seconds)
        counted, used = count() - counted, _processor_seconds(child.pid) - used
        os.kill(child.pid, signal.SIGTERM)
        child.result()
    finally:
        child.end()
    return counted / seconds, 100 * used / seconds


def _processor_seconds(pid: int) -> float:
    """User and system time of a process and its threads."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
