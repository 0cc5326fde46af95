"""What a worker costs that has nothing to do."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack

import psycopg

import duerow
from bench import cost, ours, ours_on_spark
from bench.context import Context
from bench.counting_proxy import counting
from bench.messages import QUEUE, STOP, Payload, payload
from bench.peers import floor as by_hand
from bench.processes import Child, Prepared, start
from bench.results import Result, against, limit
from bench.rounds import interleave

STATEMENTS_PER_SECOND, POSTGRESQL_CORE_PERCENT, SQLITE_CORE_PERCENT, SPARK_CORE_PERCENT = 3.0, 1.0, 3.0, 2.0
SETTLING_SECONDS = 3
WARM_UP = 10


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


def now_and_then(context: Context) -> list[Result]:
    """What a message costs if one comes about every second, beside a worker written by hand that listens as well."""
    count = max(3, round(context.size.idle_seconds))
    costs: dict[str, list[dict[str, float]]] = {name: [] for name in WORKERS}

    def contestant(name: str) -> Callable[[], float]:
        def run() -> float:
            costs[name].append(_cost_now_and_then(context, name, count))
            return costs[name][-1]["statements"]

        return run

    interleave({name: contestant(name) for name in WORKERS}, context.size.rounds)
    return [
        against(
            f"a message about every second, {name} worker",
            {who: [one[unit] for one in costs[of]] for who, of in (("duerow", name), ("floor", BY_HAND))},
            "floor",
            None,
            unit=unit,
            at_most=True,
            note=f"per message, {count} in a round",
        )
        for unit in ("statements", "server µs", "client µs")
        for name in WORKERS
        if name != BY_HAND
    ]


BY_HAND = "by-hand"
WORKERS: dict[str, Callable[..., Prepared[dict[int, int]]]] = {
    "blocking": ours.note_times,
    "awaited": ours.note_times_awaited,
    BY_HAND: by_hand.prepare_worker,
}


def _cost_now_and_then(context: Context, name: str, count: int) -> dict[str, float]:
    """Push to a worker now and then; return what a message cost it, and the server with the push."""
    url = context.postgresql.url
    context.postgresql.clear()
    with counting(url) as proxy, ExitStack() as stack:
        worker = Child(WORKERS[name], proxy.url, *([QUEUE] if name != BY_HAND else []))
        stack.callback(worker.end)
        start([worker])
        if name == BY_HAND:
            push: Callable[[Payload], object] = by_hand.sender(url).push
        else:
            push = stack.enter_context(duerow.connect(url)).queue(QUEUE).push
        watching = stack.enter_context(psycopg.connect(url, autocommit=True))
        for number in range(WARM_UP):
            push(payload(number))
            time.sleep(0.2)
        time.sleep(SETTLING_SECONDS)
        backend = watching.info.backend_pid
        served, used = cost.exact_server_time(backend), cost.exact_time(worker.pid)
        statements = proxy.statements
        for number in range(WARM_UP, WARM_UP + count):
            push(payload(number))
            time.sleep(random.uniform(0.5, 1.5))
        served, used = cost.exact_server_time(backend) - served, cost.exact_time(worker.pid) - used
        statements = proxy.statements - statements
        push(STOP)
        handled, _, _ = worker.result()
        if len(handled) != WARM_UP + count:
            raise AssertionError(f"{name} handled {len(handled)} messages of {WARM_UP + count}")
    return {
        "statements": statements / count,
        "server µs": served / count,
        "client µs": used / count,
    }


def spark(context: Context) -> list[Result]:
    """Statements and processor time of a pipeline of three stations on Spark, Java included."""
    seconds = settling = 2 * context.size.idle_seconds
    context.postgresql.clear()
    work = ours_on_spark.run_stations_for_nothing
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
