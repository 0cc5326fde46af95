"""The driver's side of a table station: batches as in any frame station, whose rows become one or a few messages.

The transaction that ends the turns of a batch also pushes what must be delivered: for files, an entry that names them;
for a table in a database, the rows, in chunks. From then on no driver is needed.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import msgspec

from duerow.backoff import keep_trying
from duerow.errors import ConfigurationError
from duerow.payload.encoding import Payloads
from duerow.pipeline.table import TableSink, unchanged
from duerow.queue.mapping import entry
from duerow.spark.batch import Batch
from duerow.spark.consumer import OUTAGE
from duerow.spark.frame_columns import check_columns, check_times, unfit
from duerow.spark.frames import FrameJob
from duerow.spark.jobs import SparkRun
from duerow.spark.payload_columns import PAYLOAD, payload_columns
from duerow.spark.tables import database, lakes
from duerow.spark.tables.folder import Folder, FolderUnavailable
from duerow.spark.tables.manifest import FILES, DataFile, TableEntry
from duerow.spark.tables.partitions import check_partitions
from duerow.spark.tables.write import SPECIAL, TableWriteJob, write_table_task
from duerow.spark.write import FrameWriteJob, WriteTask, Written, WrittenFile
from duerow.worker.outage import Backoff

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LOG: Final = logging.getLogger("duerow.spark")

PACKAGES: Final = {"delta": "deltalake", "iceberg": "pyiceberg"}
"""The package that adds files to a table, by format, which is also the name of the extra that installs it."""


class TableJob(FrameJob):
    """Runs a table station in rounds, one batch each."""

    station: TableSink

    def __init__(self, run: SparkRun, station: TableSink) -> None:
        check_package(station)
        super().__init__(run, station)
        if station.function is unchanged:  # otherwise the plan of the first batch shows the columns
            check_partitions(station, self._columns())
        lakes.check_partitions_of_table(station)
        self._folder = None if station.format == "jdbc" else Folder(folder_of(station))

    def _columns(self) -> Sequence[Any]:
        """Return the payload columns that the function gets."""
        from pyspark.sql import types

        if self._schema is None:
            return [types.StructField(PAYLOAD, types.StringType())]
        return payload_columns(self._schema)

    def _outgoing(
        self, result: DataFrame, messages: DataFrame, batch: Batch, name: str
    ) -> tuple[FrameWriteJob, DataFrame]:
        """Return the instructions for the writing tasks, and the table's columns with those that describe the rows."""
        from pyspark.sql import functions

        station = self.station
        check_columns(station, result)
        columns = payload_columns(result.schema)
        check_times(station, self._run.spark, result.schema)
        check_partitions(station, columns)
        if station.format == "jdbc" and (strange := database.strange(station, [one.name for one in columns])):
            raise unfit(station, f"has the column {strange[0]!r}, which the table {station.table} does not have")
        has = frozenset(SPECIAL).intersection(result.columns)
        types = {"_id": "long", "_error": "string"}
        special = [
            (functions.col(one) if one in has else functions.lit(None)).cast(types[one]).alias(one) for one in SPECIAL
        ]
        rows = result.select(*special, *(functions.col(f"`{one.name.replace('`', '``')}`") for one in columns))
        folder = "" if self._folder is None else self._folder.path
        prefix = f"{inside_of(station)}{secrets.token_hex(8)}"
        return TableWriteJob(self._desk, name, has, None, b"", folder, prefix), rows

    def _compute(self, batch: Batch, name: str) -> None:
        """Have tasks compute and write the result; repeat that while the table's folder cannot be reached.

        Files of earlier tries belong to no batch, so no reader sees them.
        """
        compute = super()._compute
        delays, stop = Backoff(), self._run.stop
        keep_trying(lambda: compute(batch, name), FolderUnavailable, delays, OUTAGE, stop.wait, tell=self._wait_for)

    def _wait_for(self, error: FolderUnavailable) -> None:
        LOG.warning("%s of %s: %s; trying again", self.station, self._run.pipeline, error)

    def _check(self, written: Sequence[Written], batch: Batch) -> None:
        """Raise FolderUnavailable if a task could not reach the folder; otherwise see FrameJob."""
        if why := next((one.unreachable for one in written if one.unreachable), None):
            raise FolderUnavailable(why)
        super()._check(written, batch)

    def _task(self, writing: FrameWriteJob) -> WriteTask:
        assert isinstance(writing, TableWriteJob)  # noqa: S101 - `_outgoing` has made it
        return write_table_task(writing)

    def _publish(self, written: Sequence[Written], batch: Batch, name: str) -> None:
        """End all turns of the batch and push what must be delivered, in one transaction."""
        if self._folder is not None and (files := [file for one in written for file in one.files]):
            written = [self._stage(name, self._entry(self._folder, files)), *written]
        super()._publish(written, batch, name)

    def _entry(self, folder: Folder, files: Sequence[WrittenFile]) -> TableEntry:
        with folder.reaching(self.station):
            made = [DataFile(one.path, one.rows, folder.size(one.path), one.partition) for one in files]
        return TableEntry(secrets.token_hex(8), made)

    def _stage(self, name: str, made: TableEntry) -> Written:
        """Stage the message of an entry; return its part, which is new at each attempt."""
        part, queue, bulk = "", self.station.batches, self._run.database.bulk
        payloads = Payloads(queue, sealing=self._run.database.encryption)
        pushed = entry(queue, msgspec.to_builtins(made), payloads=payloads)

        def stage() -> None:
            nonlocal part
            part = secrets.token_hex(8)
            bulk.stage(name, part, [pushed])

        self._patiently(stage)
        return Written(part=part, entries=1)


def check_package(station: TableSink) -> None:
    """Raise ConfigurationError if the package for the format of a table is missing."""
    package = PACKAGES.get(station.format)
    if package is not None and find_spec(package) is None:
        raise ConfigurationError(
            f"{station}: format={station.format!r} needs the package {package} here and on the executors; run pip "
            f"install 'duerow[{station.format}]'"
        )


def folder_of(station: TableSink) -> str:
    """Return the folder with the files of a table."""
    return lakes.location(station) if station.format == "iceberg" else str(station.path)


def inside_of(station: TableSink) -> str:
    """Return the subfolder, with its slash, for the data files of a table; "" if they are in the table's own folder."""
    return {"parquet": f"{FILES}/", "iceberg": "data/"}.get(station.format, "")
