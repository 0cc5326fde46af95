"""What Spark finds by itself: `spark.read.format("duerow")` and its kin, wherever the wheel is installed.

Spark imports every module called `pyspark_…` at its first look for a data source, so nothing is imported here that
takes long; what the source does is in `duerow.spark`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType

__all__ = ["DefaultSource"]


class DefaultSource(DataSource):
    """Queues as a data source; see `duerow.spark.source`, `duerow.spark.sink` and `duerow.spark.streams`."""

    @classmethod
    def name(cls) -> str:
        """Return what it is called in `format(…)` and `USING …`."""
        return "duerow"

    def schema(self) -> StructType:
        """Return the columns that a reader gives."""
        from duerow.spark.source import schema

        return schema(self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what looks at messages, or at turns that are over, and takes none."""
        from duerow.spark.source import SourceReader

        return SourceReader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return what pushes the rows of a frame."""
        from duerow.spark.sink import writer

        return writer(self.options, schema, overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return what lends messages to a stream."""
        from duerow.spark.streams import StreamReader

        return StreamReader(self.options, schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Return what pushes the rows of a stream, or ends the turns of its messages."""
        from duerow.spark.streams import stream_writer

        return stream_writer(self.options, schema)
