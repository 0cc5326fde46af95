"""Read a table of Parquet files as its manifest has it: each row once, also while batches arrive or are merged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from duerow.pipeline.table import absolute
from duerow.spark.tables.folder import Folder
from duerow.spark.tables.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_table(spark: SparkSession, path: str | Path) -> DataFrame:
    """Return the rows that a `TableSink` with `format="parquet"` has written, as they are now.

    Args:
        spark: a session.
        path: the `path` of the station.

    Raises:
        ConfigurationError: no such station has written there.
    """
    return spark.read.option("mergeSchema", "true").parquet(*table_files(path))


def table_files(path: str | Path) -> list[str]:
    """Return the data files of such a table, for other programs that read Parquet.

    The files of one call belong together. Those that a compaction replaces stay for an hour.

    Args:
        path: the `path` of the station.

    Raises:
        ConfigurationError: no such station has written there.
    """
    folder = Folder(absolute(path) or "")
    return [folder.url(file.path) for file in Manifest(folder).files()]
