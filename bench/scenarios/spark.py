"""A message station of a pipeline on Spark against the raw claim and move statements."""

from __future__ import annotations

import time
from typing import Any

from bench import by_hand, ours
from bench.context import Context
from bench.messages import QUEUE
from bench.processes import together
from bench.results import Result, against
from bench.rounds import Contestant, check_ids, interleave

BAR = 0.6
OUTPUT = "bench-out"
CHUNK = 5_000
CORES = 2
ROW_BY_ROW = 0.6
WHOLE = 0.4


def station(context: Context) -> list[Result]:
    """A relay that hands each payload on, in local[2]; the session and its Python workers are warm."""
    size = context.size
    with ours.spark_session(CORES) as session:
        run_station = _station(context, session)
        run_station()
        contestants = {
            "floor": _by_hand(context, processes=1),
            "floor, 2 clients": _by_hand(context, processes=CORES),
            "duerow": run_station,
        }
        samples = interleave(contestants, size.rounds)
    title = f"Spark message station, {size.spark:,} messages"
    return [
        against(title, samples, "floor", BAR, note=f"claim and move in chunks of {CHUNK:,} by one plain client"),
        against(title, samples, "floor, 2 clients", None),
    ]


def frames(context: Context) -> list[Result]:
    """Frame stations that hand the columns of each payload on, row by row and whole, in local[2]; all is warm."""
    size = context.size
    with ours.spark_session(CORES) as session:
        row_by_row, whole = (_frame(context, session, rowwise) for rowwise in (True, False))
        row_by_row()
        whole()
        contestants = {"floor": _by_hand(context, processes=1), "row by row": row_by_row, "whole": whole}
        samples = interleave(contestants, size.rounds)
    note = f"claim and move in chunks of {CHUNK:,} by one plain client"
    results = []
    for name, bar in (("row by row", ROW_BY_ROW), ("whole", WHOLE)):
        title = f"Spark frame station, {name}, {size.spark:,} messages"
        results.append(against(title, {"duerow": samples[name], "floor": samples["floor"]}, "floor", bar, note=note))
    return results


def _frame(context: Context, session: Any, rowwise: bool) -> Contestant:
    def run() -> float:
        ids = context.postgresql.fill(context.size.spark)
        start = time.perf_counter()
        ours.run_frame(context.postgresql.url, session, OUTPUT, rowwise)
        seconds = time.perf_counter() - start
        there = context.postgresql.waiting(OUTPUT)
        if rowwise:
            check_ids(ids, [there], "the frame station")
        elif len(there) != len(ids):
            raise AssertionError(f"the frame station made {len(there)} messages of {len(ids)}")
        return len(ids) / seconds

    return run


def _station(context: Context, session: Any) -> Contestant:
    def run() -> float:
        ids = context.postgresql.fill(context.size.spark)
        start = time.perf_counter()
        ours.run_station(context.postgresql.url, session, OUTPUT)
        seconds = time.perf_counter() - start
        check_ids(ids, [context.postgresql.waiting(OUTPUT)], "the Spark station")
        return len(ids) / seconds

    return run


def _by_hand(context: Context, processes: int) -> Contestant:
    def run() -> float:
        ids = context.postgresql.fill(context.size.spark)
        timed = together(by_hand.move, context.postgresql.url, OUTPUT, CHUNK, processes=processes)
        check_ids(ids, timed.results, "the floor")
        check_ids(ids, [context.postgresql.waiting(OUTPUT)], "the floor")
        if left := context.postgresql.waiting(QUEUE):
            raise AssertionError(f"the floor left {len(left)} messages where they were")
        return len(ids) / timed.seconds

    return run
