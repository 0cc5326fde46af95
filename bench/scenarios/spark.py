"""Stations of pipelines on Spark: against the raw claim and move statements, with growing queues, and how soon."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

from bench import floor_runs, ours_on_spark
from bench.context import Context
from bench.messages import QUEUE
from bench.processes import together
from bench.results import Result, against, limit, percentile
from bench.rounds import Contestant, check_ids, interleave

BAR = 0.8
OUTPUT = "bench-out"
CHUNK = 5_000
CORES = 2
ROW_BY_ROW = 0.6
WHOLE = 0.4
LINEAR = 1 / 1.15
STEPS_P50_MS, STEPS_P99_MS, FRAME_P50_MS = 25.0, 100.0, 500.0
BUSY = 1_000


def station(context: Context) -> list[Result]:
    """A relay that hands each payload on, in local[2]; the session and its Python workers are warm."""
    size = context.size
    with ours_on_spark.spark_session(CORES) as session:
        run_station = _station(context, session)
        run_station()
        contestants = {
            "floor": _by_hand(context, processes=1),
            "floor, 2 clients": _by_hand(context, processes=CORES),
            "one Python process": _alone(context),
            "duerow": run_station,
        }
        samples = interleave(contestants, size.rounds)
    title = f"Spark message station, {size.spark:,} messages"
    return [
        against(title, samples, "floor", BAR, note=f"claim and move in chunks of {CHUNK:,} by one plain client"),
        against(title, samples, "floor, 2 clients", None),
        against(title, samples, "one Python process", 1.0, note="the same pipeline by `pipeline.run`, without Spark"),
    ]


def growth(context: Context) -> list[Result]:
    """Message stations with few messages, with many, and with many among those of other queues; all just analyzed."""
    size, few = context.size, context.size.spark // 4
    many = 8 * few
    with ours_on_spark.spark_session(CORES) as session:
        _station(context, session, few)()
        contestants = {
            "few": _station(context, session, few),
            "many": _station(context, session, many),
            "among others": _station(context, session, many, others=size.backlog),
        }
        samples = interleave(contestants, size.rounds)
    among_others = f"{many:,} messages, with {size.backlog:,} more in other queues"
    named = {"many": f"{many:,} messages", "among others": among_others}
    return [
        against(
            f"Spark message station, {what}",
            {"duerow": samples[name], f"{few:,} messages": samples["few"]},
            f"{few:,} messages",
            LINEAR,
            note="messages/s of a long queue and of a short one; straight after ANALYZE, with every message waiting",
        )
        for name, what in named.items()
    ]


def latency(context: Context) -> list[Result]:
    """Three stations that run for ever, from push to the end: alone, with others waiting, and with a frame between."""
    busy = f"three Spark stations, with {BUSY:,} messages waiting at another"
    kinds: list[tuple[str, int, bool, tuple[float | None, float | None]]] = [
        ("three Spark stations", 0, False, (STEPS_P50_MS, STEPS_P99_MS)),
        (busy, BUSY, False, (None, None)),
        ("three Spark stations, the second one for frames", 0, True, (FRAME_P50_MS, None)),
    ]
    results = []
    with ours_on_spark.spark_session(CORES) as session:
        for what, beside, frame, (p50, p99) in kinds:
            context.postgresql.clear()
            context.postgresql.settle_down()
            waited = ours_on_spark.wait_through_stations(
                context.postgresql.url, session, context.size.steps, beside, frame
            )
            samples = {"milliseconds": waited}
            note = f"{len(waited)} messages, one a second, from the call of push to the last function"
            results.append(limit(f"push to the end of {what}, p50", "ms", median(waited), p50, samples, note))
            results.append(limit(f"push to the end of {what}, p99", "ms", percentile(waited, 99), p99))
    return results


def frames(context: Context) -> list[Result]:
    """Frame stations that hand the columns of each payload on, row by row and whole, in local[2]; all is warm."""
    size = context.size
    with ours_on_spark.spark_session(CORES) as session:
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
        ours_on_spark.run_frame(context.postgresql.url, session, OUTPUT, rowwise)
        seconds = time.perf_counter() - start
        there = context.postgresql.waiting(OUTPUT)
        if rowwise:
            check_ids(ids, [there], "the frame station")
        elif len(there) != len(ids):
            raise AssertionError(f"the frame station made {len(there)} messages of {len(ids)}")
        return len(ids) / seconds

    return run


def _station(context: Context, session: Any, count: int | None = None, others: int = 0) -> Contestant:
    def run() -> float:
        ids = context.postgresql.fill(count or context.size.spark, others)
        start = time.perf_counter()
        ours_on_spark.run_station(context.postgresql.url, session, OUTPUT)
        seconds = time.perf_counter() - start
        check_ids(ids, [context.postgresql.waiting(OUTPUT)], "the Spark station")
        return len(ids) / seconds

    return run


def _alone(context: Context) -> Contestant:
    def run() -> float:
        ids = context.postgresql.fill(context.size.spark)
        timed = together(ours_on_spark.run_alone, context.postgresql.url, OUTPUT)
        check_ids(ids, [context.postgresql.waiting(OUTPUT)], "the plain process")
        return len(ids) / timed.seconds

    return run


def _by_hand(context: Context, processes: int) -> Contestant:
    def run() -> float:
        ids = context.postgresql.fill(context.size.spark)
        timed = together(floor_runs.move, context.postgresql.url, OUTPUT, CHUNK, processes=processes)
        check_ids(ids, timed.results, "the floor")
        check_ids(ids, [context.postgresql.waiting(OUTPUT)], "the floor")
        if left := context.postgresql.waiting(QUEUE):
            raise AssertionError(f"the floor left {len(left)} messages where they were")
        return len(ids) / timed.seconds

    return run
