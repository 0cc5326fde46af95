"""What a worker costs that has nothing to do."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from bench import ours
from bench.context import Context
from bench.counting_proxy import counting
from bench.processes import Child, Prepared
from bench.results import Result, limit

STATEMENTS_PER_SECOND, POSTGRESQL_CORE_PERCENT, SQLITE_CORE_PERCENT, SPARK_CORE_PERCENT = 3.0, 1.0, 3.0, 2.0
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
        limit(
            "idle worker, statements",
            "per second",
            statements,
            STATEMENTS_PER_SECOND,
            note=f"{note}; BEGIN etc. counted",
        ),
        limit("idle worker, CPU", "% of a core", percent, POSTGRESQL_CORE_PERCENT, note=note),
        limit("SQLite: idle worker, CPU", "% of a core", sqlite_percent, SQLITE_CORE_PERCENT, note=note),
    ]


def spark(context: Context) -> list[Result]:
    """Statements and processor time of a pipeline of three stations on Spark, Java included."""
    seconds = settling = 2 * context.size.idle_seconds
    context.postgresql.clear()
    work = ours.run_stations_for_nothing
    with counting(context.postgresql.url) as proxy:
        statements, percent = _watch(proxy.url, seconds, lambda: proxy.statements, work, settling)
    note = f"over {seconds:g} s, after {settling:g} s to start and settle"
    return [
        limit(
            "idle Spark run, statements",
            "per second",
            statements,
            STATEMENTS_PER_SECOND,
            note=f"{note}; BEGIN etc. counted",
        ),
        limit("idle Spark run, CPU", "% of a core", percent, SPARK_CORE_PERCENT, note=f"{note}; Python and Java"),
    ]


def _watch(
    url: str,
    seconds: float,
    count: Callable[[], int],
    work: Callable[[str], Prepared[None]] = ours.wait_for_nothing,
    settling: float = SETTLING_SECONDS,
) -> tuple[float, float]:
    child = Child(work, url)
    try:
        child.wait_until_ready()
        child.go()
        time.sleep(settling)
        counted, used = count(), _processor_seconds(child.pid)
        time.sleep(seconds)
        counted, now = count() - counted, _processor_seconds(child.pid)
        os.kill(child.pid, signal.SIGTERM)
        child.result()
    finally:
        child.end()
    more = sum(now[one] - used.get(one, 0.0) for one in now)  # of Spark's Python processes, idle ones end meanwhile
    return counted / seconds, 100 * more / seconds


def _processor_seconds(pid: int) -> dict[int, float]:
    """User and system time of a process with its threads, and of each of its descendants that is running."""
    fields = {process: stat for process in _numbers(os.listdir("/proc")) if (stat := _stat(process))}
    family = {pid}
    while more := {one for one, stat in fields.items() if int(stat[1]) in family} - family:
        family |= more
    ticks = {one: int(fields[one][11]) + int(fields[one][12]) for one in family if one in fields}
    return {one: count / os.sysconf("SC_CLK_TCK") for one, count in ticks.items()}


def _numbers(names: list[str]) -> list[int]:
    return [int(name) for name in names if name.isdigit()]


def _stat(pid: int) -> list[str]:
    """Return what the system says of a process, from its state on; nothing if it has ended."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()
    except OSError:
        return []
