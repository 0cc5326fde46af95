"""The same drain again and again, to find the runs that are much slower than the others."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench import floor_runs, ours
from bench.context import Context
from bench.databases import PostgresqlDatabase, postgresql
from bench.messages import Batches
from bench.processes import Prepared, together
from bench.results import Result, against, limit, percentile
from bench.rounds import check_ids, interleave

PROCESSES = 2
SETTING = "shared_buffers=1GB"
WORST_BAR = 0.5
SLOW_SHARE = 4
"""A run out of so many more has slow flushes beside it."""

BESIDE_MB = 8

Prepare = Callable[[str], Prepared[Batches]]
CONTESTANTS: dict[str, Prepare] = {"duerow": ours.drain_and_time, "floor": floor_runs.drain_and_time}


def drains(context: Context) -> list[Result]:
    """Drain by two processes, each time right after ANALYZE and a checkpoint; then with slow flushes beside."""
    size = context.size
    title = f"drain of {size.drain:,} in batches, {PROCESSES} processes"
    with postgresql(SETTING) as server:
        database = PostgresqlDatabase(server, "bench")
        quiet = _repeated(database, size.drain, size.repeats, title)
        with _slow_flushes(context.folder):
            slow = _repeated(database, size.drain, max(2, size.repeats // SLOW_SHARE), f"{title}, slow flushes beside")
    return [*quiet, *slow]


def _repeated(database: PostgresqlDatabase, count: int, repeats: int, title: str) -> list[Result]:
    times: dict[str, list[float]] = {name: [] for name in CONTESTANTS}

    def contestant(name: str) -> Callable[[], float]:
        def run() -> float:
            ids = database.fill(count)
            timed = together(CONTESTANTS[name], database.url, processes=PROCESSES)
            check_ids(ids, [share.ids for share in timed.results], name)
            times[name] += [one for share in timed.results for one in share.milliseconds()]
            return count / timed.seconds

        return run

    rates = interleave({name: contestant(name) for name in CONTESTANTS}, repeats)
    runs = f"{title}, {repeats} runs"
    result = against(runs, rates, "floor", None, note=SETTING)
    worst, middle = min(rates["duerow"]), median(rates["duerow"])
    floors = min(rates["floor"]) / median(rates["floor"])
    note = f"the floor's worst run compared with its median: {floors:.2f}"
    return [
        result,
        Result(f"{runs}: the worst", "messages/s", worst, "median", middle, worst / middle, WORST_BAR, note=note),
        *(
            limit(f"{runs}: time of a batch, {name}, p{percent}", "ms", percentile(times[name], percent), None)
            for percent in (50, 99)
            for name in CONTESTANTS
            if times[name]  # with a batch or two for each process, none has a next one
        ),
    ]


@contextmanager
def _slow_flushes(folder: Path) -> Iterator[None]:
    """Write to a file and flush it again and again, as another server on the same disk would."""
    stop, content = threading.Event(), os.urandom(BESIDE_MB * 1_000_000)

    def write() -> None:
        with (folder / "beside").open("wb", buffering=0) as file:
            while not stop.is_set():
                file.seek(0)
                file.write(content)
                os.fsync(file.fileno())

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
