"""The data source `duerow` against Spark's own JDBC source and sink, on the same rows of the same table."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from bench import jdbc, ours_on_spark
from bench.context import Context
from bench.messages import QUEUE
from bench.results import Result, against
from bench.rounds import Contestant, interleave

READS = 5
"""Rounds of reading for each of the other scenarios'."""

BAR = 0.8
CORES = 2
PAYLOAD = """to_json(named_struct('n', id, 'to', '+385 91 555 0123',
    'text', 'Your flight is delayed; please come to gate 12.')) AS payload"""


def read(context: Context) -> list[Result]:
    """All columns of all messages of a queue, read in local[2] and thrown away."""
    count = context.size.spark
    ids = context.postgresql.fill(count)
    url = context.postgresql.url
    with ours_on_spark.spark_session(CORES, jdbc.jar(context.folder)) as session:

        def by_duerow() -> Any:
            given = {"url": url, "queue": QUEUE, "partitions": str(CORES)}
            return session.read.format("duerow").options(**given).load()

        def by_jdbc() -> Any:
            return jdbc.read(session, url, ids, CORES)

        for frame in (by_duerow(), by_jdbc()):
            if (found := frame.select("id").distinct().count()) != count:
                raise AssertionError(f"{found} messages of {count} were read")
        contestants = {"duerow": _read(by_duerow, count), "JDBC": _read(by_jdbc, count)}
        # A round takes a second or two, and Java compiles both for the first dozen: the median is of warm ones.
        samples = interleave(contestants, READS * context.size.rounds)
    return [against(f"Spark reads {count:,} messages", samples, "JDBC", BAR, note="18 columns, two tasks")]


def write(context: Context) -> list[Result]:
    """Rows of a frame pushed in local[2]: without keys, with keys, and all or nothing."""
    count = context.size.spark
    with ours_on_spark.spark_session(CORES, jdbc.jar(context.folder)) as session:
        rows = session.range(0, count, numPartitions=CORES).selectExpr("id", PAYLOAD).persist()
        rows.count()
        plain = rows.select("payload")
        keyed = rows.selectExpr("payload", "concat('key-', id) AS key")
        url = context.postgresql.url

        def push(frame: Any, **more: str) -> Callable[[], None]:
            given = {"url": url, "queue": QUEUE, **more}
            return lambda: frame.write.format("duerow").options(**given).mode("append").save()

        contestants = {
            "duerow": _write(context, push(plain)),
            "JDBC": _write(context, lambda: jdbc.append(session, url, plain)),
            "keys": _write(context, push(keyed)),
            "atomic": _write(context, push(plain, atomic="true")),
        }
        for warm_up in contestants.values():
            warm_up()
        samples = interleave(contestants, context.size.rounds)
    title = f"Spark pushes {count:,} rows"
    note = "JDBC appends to the same table, with reWriteBatchedInserts"
    results = [against(title, samples, "JDBC", BAR, note=note)]
    for name, said in (("keys", "with keys"), ("atomic", "all or nothing")):
        beside = {"duerow": samples[name], "JDBC": samples["JDBC"]}
        results.append(against(f"{title}, {said}", beside, "JDBC", None, note="JDBC without"))
    return results


def _read(frame: Callable[[], Any], count: int) -> Contestant:
    def run() -> float:
        start = time.perf_counter()
        frame().write.format("noop").mode("overwrite").save()
        return count / (time.perf_counter() - start)

    return run


def _write(context: Context, push: Callable[[], None]) -> Contestant:
    def run() -> float:
        context.postgresql.clear()
        context.postgresql.settle_down()
        start = time.perf_counter()
        push()
        seconds = time.perf_counter() - start
        if (found := len(context.postgresql.waiting())) != context.size.spark:
            raise AssertionError(f"{found} messages are there, and not {context.size.spark}")
        return found / seconds

    return run
