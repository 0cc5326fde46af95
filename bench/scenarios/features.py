"""What each feature costs: the same drain with it and without it."""

from __future__ import annotations

from statistics import median

from bench import features, ours
from bench.context import Context
from bench.databases import PostgresqlDatabase, SqliteDatabase
from bench.processes import together
from bench.results import Result
from bench.rounds import Contestant, check_ids, interleave


def own_costs(context: Context) -> list[Result]:
    """Drains with one feature each, beside the same without any, on both databases."""
    return [*_on(context, context.postgresql, ""), *_on(context, context.sqlite, "SQLite: ")]


def _on(context: Context, database: PostgresqlDatabase | SqliteDatabase, prefix: str) -> list[Result]:
    count = context.size.drain
    names = [features.PLAIN, *features.known()]
    samples = interleave({name: _drained(database, count, name) for name in names}, context.size.rounds)
    database.clear()
    plain = median(samples[features.PLAIN])
    return [
        Result(
            f"{prefix}drain of {count:,} with {name}",
            "messages/s",
            median(samples[name]),
            "without",
            plain,
            median(samples[name]) / plain,
            samples={name: samples[name], features.PLAIN: samples[features.PLAIN]},
            note=f"{features.PRIORITIES} priorities in turn; groups of {features.IN_A_GROUP}",
        )
        for name in names
        if name != features.PLAIN
    ]


def _drained(database: PostgresqlDatabase | SqliteDatabase, count: int, feature: str) -> Contestant:
    def run() -> float:
        database.clear()
        ids = ours.fill_with(database.url, count, feature)
        database.settle_down()
        timed = together(ours.drain_with, database.url, feature)
        check_ids(ids, timed.results, f"the drain with {feature}")
        if left := database.waiting():
            raise AssertionError(f"the drain with {feature} left {len(left)} messages in the queue")
        return len(ids) / timed.seconds

    return run
