"""A trace goes on in the processes of Spark."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import duerow
from duerow import Draft, Frame, Pipeline, Relay, Sink, fixed, limited, spark
from duerow.telemetry.startup import VARIABLE
from duerow.telemetry.tracing import trace_queues
from duerow.worker.rounds import AROUND
from tests.spark.tracing import FILE

ORDERS = Pipeline(
    "orders", [Relay("orders", lambda message: message.payload, to="bills"), Sink("bills", lambda message: None)]
)


@pytest.fixture
def told(session: SparkSession, tmp_path: Path):
    file, environment = tmp_path / "spans", session.sparkContext.environment
    environment |= {VARIABLE: "tests.spark.tracing:configure", FILE: str(file)}
    yield file
    for name in (VARIABLE, FILE):
        del environment[name]


def test_the_stations_of_a_pipeline_on_spark_go_on_with_the_trace_of_the_push(
    session: SparkSession, tmp_path: Path, told: Path
) -> None:
    with duerow.connect(f"sqlite:///{tmp_path}/queues.db", migrate=True) as database:
        end = trace_queues(provider := TracerProvider())
        with provider.get_tracer("shop").start_as_current_span("request") as request:
            database.queue("orders").push("hello")
        end()
    spark.run(ORDERS, f"sqlite:///{tmp_path}/queues.db", session)
    spans = {one["name"]: one for one in map(json.loads, told.read_text().splitlines())}
    first, second = spans["process orders"], spans["process bills"]
    assert first["trace"] == second["trace"] == request.get_span_context().trace_id
    assert second["of"] == first["id"]
    assert os.getpid() not in (first["pid"], second["pid"])


def test_each_round_of_a_frame_station_is_a_span_with_the_number_of_its_messages(
    session: SparkSession, tmp_path: Path
) -> None:
    def sort(frame: DataFrame) -> DataFrame:
        return frame.withColumn("_error", F.when(F.col("n") == 3, "no threes"))

    station = Frame(
        "sold", sort, "kept", schema="n long", batch=10, rowwise=True, retry=limited(1, fixed(timedelta(0)))
    )
    seen = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(seen))
    with duerow.connect(f"sqlite:///{tmp_path}/queues.db", migrate=True) as database:
        database.queue("sold").push_many([Draft({"n": n}) for n in range(14)])
    end = trace_queues(provider)
    try:
        spark.run(Pipeline("shop", [station], outputs=["kept"]), f"sqlite:///{tmp_path}/queues.db", session)
    finally:
        end()
    rounds = [one for one in seen.get_finished_spans() if one.name == "process sold"]
    told = [(one.attributes or {}) for one in sorted(rounds, key=lambda one: one.start_time or 0)]
    assert [one["messaging.batch.message_count"] for one in told] == [10, 4]
    assert [one.get("duerow.batch.failed") for one in told] == [1, None]
    assert [one.get("error.type") for one in told] == ["failed", None]
    assert AROUND == []
