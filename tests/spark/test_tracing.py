"""A trace goes on in the processes of Spark."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from pyspark.sql import SparkSession

import duerow
from duerow import Pipeline, Relay, Sink, spark
from duerow.telemetry.startup import VARIABLE
from duerow.telemetry.tracing import trace_queues
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
