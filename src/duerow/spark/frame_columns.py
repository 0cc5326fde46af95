"""Checks whether the data frame that a frame station's function returned can become messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from duerow.errors import ConfigurationError
from duerow.pipeline import Frame
from duerow.pipeline.frame import RESERVED
from duerow.spark.payload_columns import HOPS_COLUMN, payload_columns
from duerow.spark.value_checks import has_times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

TIME_RULES: Final = "spark.sql.legacy.timeParserPolicy"


def check_times(station: Frame, spark: SparkSession, of: DataType | None) -> None:
    """Raise ConfigurationError if columns hold times that Spark's rules for reading them would change."""
    if of is None or not has_times(of):
        return
    rules = spark.conf.get(TIME_RULES, "CORRECTED")  # Spark refuses a default that is not a valid rule
    if str(rules).upper() == "LEGACY":
        raise ConfigurationError(
            f"{station}: {TIME_RULES} is LEGACY, so Spark would read 0.123456 s in a payload as 123 s; "
            "set it to CORRECTED for this session"
        )


def check_columns(station: Frame, result: DataFrame) -> None:
    """Raise ConfigurationError unless the columns of a result can become messages."""
    from pyspark.sql import types

    names = result.columns
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise unfit(station, f"has the column {', '.join(map(repr, twice))} twice; drop or rename one")
    if HOPS_COLUMN in map(str.lower, names):
        raise unfit(station, f"has a column {HOPS_COLUMN!r}, which frames use internally; rename it")
    if odd := [name for name in names if name not in RESERVED and name.lower() in RESERVED]:
        raise unfit(station, f"has the column {odd[0]!r}; the column that frames use is written {odd[0].lower()!r}")
    if station.rowwise and "_id" not in names:
        raise unfit(
            station, "has no column _id, which identifies the message of each row; keep it, or leave rowwise out"
        )
    if not station.rowwise and not payload_columns(result.schema):
        raise unfit(station, "has no columns for a payload")
    if len(station.ways) > 1 and "_queue" not in names:
        raise unfit(station, f"has no column _queue to choose between {', '.join(map(repr, station.ways))}")
    wanted: dict[str, Any] = {
        "_id": types.IntegralType,
        "_priority": types.IntegralType,
        "_due": types.TimestampType,
        **dict.fromkeys(("_queue", "_error", "_key", "_group", "_headers"), types.StringType),
    }
    for field in result.schema.fields:
        of = wanted.get(field.name)
        if of is not None and not isinstance(field.dataType, of | types.NullType):
            known = of.__name__.removesuffix("Type").lower()
            raise unfit(station, f"has {field.name} as {field.dataType.simpleString()}; it is a column of type {known}")


def unfit(station: Frame, why: str) -> ConfigurationError:
    """Return the error for a result that cannot become messages."""
    return ConfigurationError(f"{station}: the data frame that its function returned {why}")
