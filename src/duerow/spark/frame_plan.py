"""Show how Spark would execute a frame station, before any message is reserved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from duerow.errors import ConfigurationError
from duerow.pipeline import Frame, Pipeline, TableSink
from duerow.spark import read
from duerow.spark.frame_columns import check_columns, check_times
from duerow.spark.frames import BatchFailed, called, expected_of
from duerow.spark.observed import with_observed
from duerow.spark.payload_columns import payload_columns, payload_text, with_columns
from duerow.spark.schema import check_fits, frame_schema
from duerow.spark.session import session
from duerow.spark.tables.partitions import check_partitions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def explain(pipeline: Pipeline, station: str, spark: SparkSession | None = None, mode: str = "formatted") -> None:
    """Print Spark's plan for a batch of a frame station, and check that its result can become messages.

    The function is called once, with a frame that has the station's columns. No job runs, and no database is needed.

    Args:
        pipeline: the pipeline.
        station: the name of one of its frame stations.
        spark: a session; default: `duerow.spark.session()`.
        mode: as for Spark's `DataFrame.explain`: "simple", "extended", "codegen", "cost" or "formatted".

    Raises:
        ConfigurationError: the pipeline has no such frame station, its function fails, Spark cannot plan the result, or
            the result cannot become messages of its target queues.
    """
    frame = pipeline.station(station)
    if not isinstance(frame, Frame):
        raise ConfigurationError(f"only frame stations have a plan; {frame} calls its function for each message")
    spark = spark or session()
    schema = frame_schema(frame)
    check_times(frame, spark, schema)
    messages = spark.range(1).mapInArrow(_named(frame.name), read.SCHEMA)
    try:
        result = called(frame, with_columns(messages, schema))
    except BatchFailed as error:
        raise ConfigurationError(
            f"{frame}: its function failed: {type(error.cause).__name__}: {error.cause}"
        ) from error.cause
    if frame.observe is not None:
        result = with_observed(frame, result, "observed")
    check_columns(frame, result)
    if isinstance(frame, TableSink):
        check_partitions(frame, payload_columns(result.schema))
    if payload_columns(result.schema):
        _, written = payload_text(result)
        check_times(frame, spark, written)
        types = {one.name: one.payload for one in pipeline.stations}
        for queue, expected in expected_of({queue: types.get(queue) for queue in frame.targets}).items():
            check_fits(frame, queue, expected, written)
    result.explain(mode=mode)


def _named(name: str) -> Any:
    """Return the placeholder in the plan for reading a batch."""

    def read(batches: Iterable[Any]) -> Iterator[Any]:
        yield from ()

    read.__name__ = name
    return read
