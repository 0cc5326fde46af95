"""One load for a long time, most of what the machine can carry: what a message costs and how long it waits."""

from __future__ import annotations

import multiprocessing
import time
from contextlib import ExitStack
from itertools import accumulate, pairwise
from typing import Any

import psycopg

from bench import cost, ours
from bench.context import Context
from bench.processes import Child, start
from bench.results import Result, limit, percentile
from bench.scenarios.snapshot import snapshot

SHARE = 0.7
"""Of the highest load that is carried without messages piling up."""

PARTS = 12
HELD = range(4, 6)
"""The parts of the time during which a session keeps a snapshot."""

PEAK_SHARE = 1 / 60
"""Of the time, to find the peak."""

GROWTH_BAR = 1.05


def load(context: Context) -> list[Result]:
    """Find the peak, then push 70 % of it for a long time to a worker as it comes, and look at each twelfth."""
    seconds = context.size.sustained_seconds
    context.postgresql.clear()
    context.postgresql.settle_down()
    [peak] = _run(context.postgresql.url, None, [max(2.0, seconds * PEAK_SHARE)])
    rate = SHARE * peak["handled"] / peak["seconds"]
    context.say(f"{rate:,.0f} messages a second for {seconds:g} s …")
    context.postgresql.clear()
    context.postgresql.settle_down()
    parts = _run(context.postgresql.url, rate, [seconds / PARTS] * PARTS)
    title = f"sustained load for {seconds:g} s"
    return [
        Result(f"{title}: the peak", "messages/s", peak["handled"] / peak["seconds"]),
        Result(f"{title}: pushed", "messages/s", rate, note=f"{SHARE:.0%} of the peak"),
        *_growth(title, parts),
        *(_line(title, number, part, unit) for unit in UNITS for number, part in enumerate(parts)),
    ]


UNITS = {
    "server": "server µs",
    "client": "client µs",
    "wal": "bytes of WAL",
    "p50": "ms",
    "p99": "ms",
    "waiting": "messages",
}
"""What is counted in each part: costs of a message, how long it took to its handler, and how many wait at the end."""


def _growth(title: str, parts: list[dict[str, float]]) -> list[Result]:
    """Compare the costs of the last part with those of the second: in the first one, pages are new and caches cold."""
    second, last = parts[1], parts[-1]
    return [
        Result(
            f"{title}: a message of the last part",
            UNITS[unit],
            last[unit],
            "the second part",
            second[unit],
            last[unit] / second[unit] if second[unit] else None,
            GROWTH_BAR,
            at_most=True,
            samples={"parts": [part[unit] for part in parts]},
        )
        for unit in ("server", "client", "wal")
    ]


def _line(title: str, number: int, part: dict[str, float], unit: str) -> Result:
    held = ", with a snapshot held" if number in HELD else ""
    return limit(f"{title}: {unit}, part {number + 1} of {PARTS}{held}", UNITS[unit], part[unit], None)


def _run(url: str, rate: float | None, parts: list[float]) -> list[dict[str, float]]:
    """Push and handle for so many seconds in each part; return what was counted in each."""
    shared = multiprocessing.get_context("spawn")
    pushed, handled = shared.Value("q", 0), shared.Value("q", 0)
    worker = Child(ours.handle_for_long, url, handled)
    producer = Child(ours.push_for_long, url, rate, sum(parts), pushed, handled)
    looks: list[dict[str, float]] = []
    try:
        with psycopg.connect(url, autocommit=True) as watching, ExitStack() as held:
            start((worker, producer))
            began = time.monotonic()
            looks.append(_look(watching, worker, producer, pushed, handled))
            for number, ends in enumerate(accumulate(parts)):
                if len(parts) == PARTS and number == HELD.start:
                    held.enter_context(snapshot(url))
                time.sleep(max(0.0, began + ends - time.monotonic()))
                looks.append(_look(watching, worker, producer, pushed, handled))
                if number == HELD.stop - 1:
                    held.close()
        producer.result()
        ours.stop_worker(url)
        waited, _, _ = worker.result()
    finally:
        worker.end()
        producer.end()
    return [_between(before, after, waited) for before, after in pairwise(looks)]


def _look(
    watching: psycopg.Connection[Any], worker: Child[Any], producer: Child[Any], pushed: Any, handled: Any
) -> dict[str, float]:
    client = sum(cost.exact_time(one.pid) for one in (worker, producer))
    counted = {"at": time.monotonic(), "pushed": pushed.value, "handled": handled.value, "client_us": client}
    return counted | cost.server_now(watching)


def _between(before: dict[str, float], after: dict[str, float], waited: list[tuple[float, float]]) -> dict[str, float]:
    """Return what was counted between two looks; `waited` has the moments of handlers, and how long they waited."""
    since = {name: value - before[name] for name, value in after.items()}
    times = [ms for at, ms in waited if before["at"] <= at < after["at"]]
    each = 1 / max(1, since["handled"])
    return {
        "handled": since["handled"],
        "seconds": since["at"],
        "server": since["server_us"] * each,
        "client": since["client_us"] * each,
        "wal": since["wal_bytes"] * each,
        "p50": percentile(times, 50) if times else 0.0,
        "p99": percentile(times, 99) if times else 0.0,
        "waiting": after["pushed"] - after["handled"],
    }
