"""Read a table of Parquet files through its manifest: each row once, even while batches arrive or are merged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from duerow.pipeline.table import absolute
from duerow.spark.tables.folder import Folder
from duerow.spark.tables.manifest import FILES, DataFile, Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_table(spark: SparkSession, path: str | Path) -> DataFrame:
    """Return the rows that a `TableSink` with `format="parquet"` has written so far.

    If the station partitions the table with `partition_by`, Spark skips the folders that a condition on these columns
    rules out.

    Args:
        spark: a session.
        path: the `path` of the station.

    Raises:
        ConfigurationError: no such station has written to this path.
    """
    folder, files = _files(path)
    paths = [folder.url(file.path) for file in files]
    found = spark.read.option("mergeSchema", "true").parquet(*paths)
    divided = {tuple(file.partition) for file in files}
    if len(divided) > 1 or () in divided:  # Spark would ignore the rows in other folders
        return found
    schema = found.schema  # from the files, because Spark would guess types from names of folders
    by_folder = spark.read.schema(schema).option("basePath", folder.url(FILES)).parquet(*paths)
    return by_folder.select(*(f"`{name.replace('`', '``')}`" for name in schema.names))


def table_files(path: str | Path) -> list[str]:
    """Return the data files of such a table, for other programs that read Parquet.

    The files that one call returns belong together. Files that a compaction replaces are kept for an hour.

    Args:
        path: the `path` of the station.

    Raises:
        ConfigurationError: no such station has written to this path.
    """
    folder, files = _files(path)
    return [folder.url(file.path) for file in files]


def _files(path: str | Path) -> tuple[Folder, list[DataFile]]:
    folder = Folder(absolute(path) or "")
    return folder, Manifest(folder).files()
