"""How long `stats` takes on a queue with very many messages."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta

import psycopg

from bench import ours
from bench.context import Context
from bench.databases import PostgresqlDatabase, SqliteDatabase
from bench.processes import together
from bench.results import Result, limit, percentile
from tests.plans.history import on_postgresql, on_sqlite

BAR_MS = 20.0
PROCESSES = 4


def percentiles(context: Context) -> list[Result]:
    """The 95th percentile, with as many ready as delayed ones, an hour's counters and finished turns."""
    size = context.size
    server = PostgresqlDatabase(context.server, "bench_stats")
    _crowd(server, size.backlog)
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(on_postgresql("public", size.history).encode())
        connection.execute("VACUUM ANALYZE")
    file = SqliteDatabase(context.folder, "stats")
    _crowd(file, size.backlog)
    with closing(sqlite3.connect(file.url.removeprefix("sqlite:///"))) as connection:
        connection.execute(on_sqlite(size.history))
        connection.commit()
    title = f"stats with {size.backlog:,} ready, {size.backlog:,} delayed and {size.history:,} finished turns, p95"
    return [_timed(context, server, title), _timed(context, file, f"SQLite: {title}")]


def _crowd(database: PostgresqlDatabase | SqliteDatabase, count: int) -> None:
    ours.fill(database.url, count)
    ours.fill(database.url, count, delay=timedelta(days=1))
    ours.count_for_an_hour(database.url, PROCESSES)
    database.settle_down()


def _timed(context: Context, database: PostgresqlDatabase | SqliteDatabase, title: str) -> Result:
    timed = together(ours.look_at_stats, database.url, context.size.looks)
    (taken,) = timed.results
    note = f"{len(taken)} times, median {percentile(taken, 50):.1f} ms; {PROCESSES} processes counted for an hour"
    return limit(title, "ms", percentile(taken, 95), BAR_MS, samples={"ms": taken}, note=note)
