"""A session elsewhere keeps a snapshot, so that nothing dead can be cleaned away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

import psycopg

from bench import floor_runs, ours
from bench.context import Context
from bench.floor import TABLE
from bench.processes import together
from bench.results import Result
from bench.scenarios.drain import drained

ROUNDS = 5
LAST_TO_FIRST_BAR = 0.9
FLOOR_BAR = 0.4


def held(context: Context) -> list[Result]:
    """Five rounds of push and drain under one snapshot, repeated; each repetition beside a floor without one."""
    size = context.size
    floor = drained(context.postgresql, floor_runs.drain, size.snapshot)
    repetitions: list[list[float]] = []
    floors: list[float] = []
    for _ in range(size.pairs):
        floors.append(floor())
        repetitions.append(_rounds_under_snapshot(context))
    lasts_to_firsts = [rates[-1] / rates[0] for rates in repetitions]
    every_rate = [rate for rates in repetitions for rate in rates]
    samples = {f"repetition {n}": rates for n, rates in enumerate(repetitions, 1)}
    title = f"drain with a snapshot held open, {ROUNDS} rounds of {size.snapshot:,}"
    first, last = median(rates[0] for rates in repetitions), median(rates[-1] for rates in repetitions)
    return [
        Result(
            f"{title}: round 5 compared with round 1",
            "messages/s",
            last,
            "round 1",
            first,
            median(lasts_to_firsts),
            LAST_TO_FIRST_BAR,
            samples=samples,
            note=f"the ratio is the median of {size.pairs} pairs",
        ),
        Result(
            f"{title}: all rounds",
            "messages/s",
            median(every_rate),
            "floor",
            median(floors),
            median(every_rate) / median(floors),
            FLOOR_BAR,
            samples={"floor": floors},
            note="the floor has no snapshot beside it",
        ),
    ]


def _rounds_under_snapshot(context: Context) -> list[float]:
    database = context.postgresql
    database.clear()
    database.settle_down()
    with snapshot(database.url):
        timed = together(ours.push_and_drain, database.url, ROUNDS, context.size.snapshot)
    return timed.results[0]


@contextmanager
def snapshot(url: str) -> Iterator[None]:
    """Keep a snapshot, so that nothing dead since then can be cleaned away."""
    with psycopg.connect(url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute(f"SELECT count(*) FROM {TABLE}".encode())
        yield
        connection.rollback()
