"""The columns of frame stations in the form in which they are stored with a pipeline; see `duerow.pipeline.columns`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from duerow.errors import ConfigurationError, shown
from duerow.pipeline import Frame, Graph, Pipeline
from duerow.pipeline.columns import NOT_NULL, REQUIRED
from duerow.spark.frame_columns import check_times
from duerow.spark.schema import frame_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


def graph_with_columns(pipeline: Pipeline, spark: SparkSession) -> Graph:
    """Return the graph of a pipeline with the columns of its frame stations.

    Raises:
        ConfigurationError: the columns of a station cannot be determined, or cannot be read with Spark's settings.
    """
    columns = {one.name: _columns(one, spark) for one in pipeline.stations if isinstance(one, Frame)}
    graph = pipeline.graph
    return replace(graph, stations=tuple(replace(one, columns=columns.get(one.name)) for one in graph.stations))


def _columns(station: Frame, spark: SparkSession) -> dict[str, str]:
    schema = frame_schema(station)
    check_times(station, spark, schema)
    return stored_columns(schema)


def stored_columns(schema: StructType | None) -> dict[str, str]:
    """Return the types of columns by path; none if the payload is text."""
    return {} if schema is None else dict(_fields(schema, ""))


def _fields(of: StructType, within: str) -> Iterator[tuple[str, str]]:
    for field in of.fields:
        declared = field.metadata.get("required")  # only declared types have this, and only they insist on it
        marks = ("" if declared is None or field.nullable else NOT_NULL) + (REQUIRED if declared else "")
        yield from _column(field.dataType, f"{within}{field.name}", marks)


def _column(of: Any, path: str, marks: str = "") -> Iterator[tuple[str, str]]:
    from pyspark.sql import types

    match of:
        case types.StructType():
            yield path, f"struct{marks}"
            yield from _fields(of, f"{path}.")
        case types.ArrayType():
            yield path, f"array{marks}"
            yield from _column(of.elementType, f"{path}[]")
        case types.MapType():
            yield path, f"map{marks}"
            yield from _column(of.valueType, f"{path}[…]")
        case _:
            yield path, f"{of.simpleString()}{marks}"


def check_accepted(pipeline: Pipeline, new_columns: Collection[str]) -> frozenset[str]:
    """Return the stations whose new columns are accepted; raise ConfigurationError unless they are frame stations."""
    given: object = new_columns
    if isinstance(given, str) or not isinstance(given, Collection):
        raise ConfigurationError(
            f"new_columns must be a list of frame stations, such as new_columns=['sold'], not {shown(given)}"
        )
    frames = [one.name for one in pipeline.stations if isinstance(one, Frame)]
    for name in given:
        if name not in frames:
            raise ConfigurationError(f"{pipeline}: new_columns names {shown(name)}, which is not one of its frames")
    return frozenset(given)
