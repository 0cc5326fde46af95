"""The scenarios, in the order of the table."""

from __future__ import annotations

from bench.context import Scenario
from bench.scenarios import (
    backlog,
    bad_runs,
    drain,
    entities,
    features,
    growth,
    handlers,
    idle,
    latency,
    layouts,
    memory,
    push,
    snapshot,
    spark,
    spark_source,
    stats,
    sustained,
)

SCENARIOS: dict[str, Scenario] = {
    "push": push.single,
    "bulk": push.bulk,
    "drain": drain.batches,
    "bad-runs": bad_runs.drains,
    "singly": drain.singly,
    "latency": latency.idle,
    "latency-by-hand": latency.beside_by_hand,
    "handlers": handlers.waiting,
    "busy": latency.busy,
    "idle": idle.worker,
    "now-and-then": idle.now_and_then,
    "snapshot": snapshot.held,
    "backlog": backlog.delayed,
    "spark": spark.station,
    "spark-growth": spark.growth,
    "spark-latency": spark.latency,
    "spark-idle": idle.spark,
    "frames": spark.frames,
    "spark-read": spark_source.read,
    "spark-write": spark_source.write,
    "sqlite": drain.sqlite,
    "mariadb": drain.mariadb,
    "memory": memory.worker,
    "growth": growth.of_a_message,
    "sustained": sustained.load,
    "layouts": layouts.rows_and_log,
    "features": features.own_costs,
    "stats": stats.percentiles,
    "rows": entities.own_table,
}

LONG = frozenset(("bad-runs", "growth", "sustained"))
"""Scenarios that take up to an hour or more at full size. They run if they are named, and at the size smoke."""
