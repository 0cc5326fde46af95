"""How tasks write the rows of a batch for a table: to files that no reader sees yet, or as staged chunks of rows.

Each attempt of a task writes under its own name and reports what it wrote. Only what the successful attempts report
becomes part of the batch; the rest is never seen.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from duerow.errors import CodecError
from duerow.payload.encoding import Payloads
from duerow.pipeline.table import TableSink
from duerow.queue.mapping import entry
from duerow.spark.consumer import TaskSettler
from duerow.spark.gc_freeze import keep_what_is_imported
from duerow.spark.read import Desk
from duerow.spark.tables import partitions
from duerow.spark.tables.folder import Folder, FolderUnavailable
from duerow.spark.task import database_of
from duerow.spark.write import ROWS_PER_TRANSACTION, FrameWriteJob, WriteTask, Written, WrittenFile
from duerow.store import Entry

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetWriter

ROWS_PER_CHUNK: Final = 1_000
"""The maximum number of rows of a chunk, which reach a database in one transaction."""

BYTES_PER_CHUNK: Final = 256 << 10
"""The most bytes of a chunk, unless a single row is larger."""

ROWS_PER_GROUP: Final = 10_000
"""How many rows for a partition of the table a task gathers before it writes them."""

SPECIAL: Final = ("_id", "_error")
"""The columns that describe the rows and are not written to the table."""


@dataclass(frozen=True)
class TableWriteJob(FrameWriteJob):
    """What the driver sends to a task that writes rows for a table.

    Attributes:
        folder: the folder for files; "": the rows go into chunks.
        prefix: the beginning of the names of files.
    """

    folder: str = ""
    prefix: str = ""


class RowChunk(msgspec.Struct, frozen=True):
    """Rows for a table in a database; the payload of the message that delivers them.

    Attributes:
        name: its name, which the database records.
        columns: the names of the columns.
        rows: the values, as JSON values.
    """

    name: str
    columns: list[str]
    rows: list[list[Any]]

    def halves(self) -> tuple[RowChunk, RowChunk]:
        """Return two chunks of half the rows, with names that depend only on this chunk's name."""
        middle = len(self.rows) // 2
        return (
            RowChunk(f"{self.name}0", self.columns, self.rows[:middle]),
            RowChunk(f"{self.name}1", self.columns, self.rows[middle:]),
        )


def write_table_task(writing: TableWriteJob) -> WriteTask:
    """Return the function for `mapInArrow` that writes a partition of a batch."""

    def write(batches: Iterable[Any]) -> Iterator[RecordBatch]:
        yield written_of(batches, writing)

    write.__name__ = f"{writing.desk.name}, written"
    return write


def written_of(batches: Iterable[Any], writing: TableWriteJob) -> RecordBatch:
    """Write a partition; return the report."""
    from pyarrow import RecordBatch

    writer = FileRows(writing) if writing.folder else ChunkRows(writing)
    text = msgspec.json.encode(writer.write(batches)).decode()
    keep_what_is_imported()
    return RecordBatch.from_pydict({"written": [text]})


class TableRows(ABC):
    """Writes the rows of a partition.

    Args:
        writing: the driver's instructions.
    """

    def __init__(self, writing: TableWriteJob) -> None:
        self._writing = writing
        self._station, self._settler = _of_process(writing.desk)

    def write(self, batches: Iterable[Any]) -> Written:
        """Write the rows that have not failed; return what was written and why the others failed."""
        written = Written()
        try:
            for batch in batches:
                self._add(self._good(batch, written), written)
            self._close(written)
        except _NoMessage as error:
            return Written(problem=str(error))
        return written

    def _good(self, batch: RecordBatch, written: Written) -> RecordBatch:
        """Return the rows without an `_error`, and record the errors of the others."""
        if "_id" in self._writing.has:
            ids = batch.column("_id").to_pylist()
            errors = batch.column("_error").to_pylist()
            written.failed |= {
                self._known(id): error for id, error in zip(ids, errors, strict=True) if error is not None
            }
            written.ids += [id for id, error in zip(ids, errors, strict=True) if error is None and id is not None]
        elif "_error" in self._writing.has and batch.column("_error").null_count < batch.num_rows:
            raise self._no_id()
        if batch.column("_error").null_count < batch.num_rows:
            batch = batch.filter(batch.column("_error").is_null())
        return batch.drop_columns([*SPECIAL])

    def _known(self, id: int | None) -> int:
        if id is None:
            raise self._no_id()
        return id

    def _no_id(self) -> _NoMessage:
        return _NoMessage(f"{self._station}: a row of its result has an _error and no _id, so no message can fail")

    @abstractmethod
    def _add(self, batch: RecordBatch, written: Written) -> None:
        """Write rows."""

    @abstractmethod
    def _close(self, written: Written) -> None:
        """Write what is left."""


class _NoMessage(Exception):
    """A row that belongs to no message has failed."""


class FileRows(TableRows):
    """Writes the rows of a partition to Parquet files, one for each partition of the table that has rows in it."""

    def __init__(self, writing: TableWriteJob) -> None:
        super().__init__(writing)
        self._folder = Folder(writing.folder)
        self._by = self._station.partition_by
        self._files: dict[tuple[Any, ...], FileOfRows] = {}
        self._opened = ExitStack()

    def write(self, batches: Iterable[Any]) -> Written:
        """Write the rows that have not failed; at the end the files are closed and durable.

        If the folder cannot be reached, the driver is told, because no message is at fault.
        """
        try:
            with self._folder.reaching(self._station), self._opened:
                return super().write(batches)
        except FolderUnavailable as error:
            return Written(unreachable=str(error))

    def _good(self, batch: RecordBatch, written: Written) -> RecordBatch:
        """Return the rows without an `_error`; rows for which no folder can be named have one too."""
        reasons = partitions.refused(batch, self._by)
        if why := next((one for one in reasons if one is not None), None):
            if "_id" not in self._writing.has:
                raise _NoMessage(f"{self._station}: {why}")
            errors = [mine or its for mine, its in zip(batch.column("_error").to_pylist(), reasons, strict=True)]
            batch = batch.set_column(batch.schema.get_field_index("_error"), "_error", _texts(errors))
        return super()._good(batch, written)

    def _add(self, batch: RecordBatch, written: Written) -> None:
        if batch.num_rows:
            for values, rows in partitions.divided(in_utc(batch), self._by) if self._by else [((), in_utc(batch))]:
                self._file_of(values).add(rows)

    def _file_of(self, values: tuple[Any, ...]) -> FileOfRows:
        if values not in self._files:
            partition = partitions.as_texts(self._by, values)
            folder, _, name = self._writing.prefix.rpartition("/")
            path = f"{folder and folder + '/'}{partitions.folder_name(partition)}{name}-{secrets.token_hex(4)}.parquet"
            self._files[values] = FileOfRows(self._folder, path, partition, self._opened)
        return self._files[values]

    def _close(self, written: Written) -> None:
        written.files = [file.finish() for file in self._files.values()]


class FileOfRows:
    """A Parquet file that is being written.

    In a table that is partitioned by columns, a task may have rows for many files. So each file is opened only when
    there are enough rows for it, or at the end, one after another.

    Args:
        folder: the table's folder.
        path: its name in the folder.
        partition: the values of the columns that partition the table.
        opened: closes the file if the task fails.
    """

    def __init__(self, folder: Folder, path: str, partition: dict[str, str | None], opened: ExitStack) -> None:
        self._folder, self._path, self._partition = folder, path, partition
        self._opened = opened
        self._waiting: list[RecordBatch] = []
        self._rows = 0
        self._parquet: ParquetWriter | None = None
        self._open_here = ExitStack()

    def add(self, rows: RecordBatch) -> None:
        """Write rows, now or later."""
        self._waiting.append(rows)
        if not self._partition or sum(one.num_rows for one in self._waiting) >= ROWS_PER_GROUP:
            self._write()

    def finish(self) -> WrittenFile:
        """Write what is left and close the file; return its description."""
        self._write()
        self._open_here.close()
        return WrittenFile(self._path, self._rows, self._partition)

    def _write(self) -> None:
        if not self._waiting:
            return
        from pyarrow import Table, parquet

        rows = Table.from_batches(self._waiting)
        if self._parquet is None:
            self._opened.push(self._open_here)
            stream = self._open_here.enter_context(self._folder.writing(self._path))
            self._parquet = self._open_here.enter_context(parquet.ParquetWriter(stream, rows.schema))
        self._parquet.write_table(rows)
        self._rows += rows.num_rows
        self._waiting = []


def _texts(values: Sequence[str | None]) -> Any:
    import pyarrow as pa

    return pa.array(values, pa.string())


def in_utc(batch: RecordBatch) -> RecordBatch:
    """Return rows whose times have the zone UTC, whatever the session's zone is, so that all files are alike."""
    import pyarrow as pa

    fields = [
        field.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(field.type) and field.type.tz else field
        for field in batch.schema
    ]
    return batch.cast(pa.schema(fields))


class ChunkRows(TableRows):
    """Stages the rows of a partition as chunks, for the driver to publish."""

    def __init__(self, writing: TableWriteJob) -> None:
        super().__init__(writing)
        self._part = secrets.token_hex(8)
        self._waiting: list[Entry] = []
        queue = self._station.batches
        self._payloads = Payloads(queue, sealing=database_of(writing.desk.access).encryption)

    def _add(self, batch: RecordBatch, written: Written) -> None:
        rows: list[list[Any]] = [list(row) for row in zip(*map(_plain, batch.columns), strict=True)]
        for few in _by_size(rows):
            self._waiting.append(self._chunk(batch.schema.names, few))
        if len(self._waiting) * ROWS_PER_CHUNK >= ROWS_PER_TRANSACTION:
            self._stage(written)

    def _close(self, written: Written) -> None:
        self._stage(written)
        written.part = self._part

    def _chunk(self, columns: Sequence[str], rows: list[list[Any]]) -> Entry:
        chunk = msgspec.to_builtins(RowChunk(secrets.token_hex(12), list(columns), rows))
        try:
            return entry(self._station.batches, chunk, payloads=self._payloads)
        except CodecError as error:
            raise _NoMessage(f"{self._station}: a row of its result cannot be a message: {error}") from error

    def _stage(self, written: Written) -> None:
        if waiting := self._waiting:
            stage = database_of(self._writing.desk.access).bulk.stage
            self._settler.patiently(lambda: stage(self._writing.batch, self._part, waiting))
            written.entries += len(waiting)
            self._waiting = []


def _plain(column: Any) -> list[Any]:
    """Return the values of a column as JSON values: decimals and times as text, bytes as base64."""
    values: list[Any] = column.to_pylist()
    return [plain(value) for value in values]


def plain(value: Any) -> Any:
    """Return a value as a JSON value; text for numbers that JSON does not have."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if value is None or isinstance(value, str | int | float):
        return value
    return msgspec.to_builtins(value)


def _by_size(rows: list[list[Any]]) -> Iterator[list[list[Any]]]:
    """Yield rows in chunks of a limited size."""
    few: list[list[Any]] = []
    size = 0
    for row in rows:
        bytes_ = len(msgspec.json.encode(row))
        if few and (len(few) == ROWS_PER_CHUNK or size + bytes_ > BYTES_PER_CHUNK):
            yield few
            few, size = [], 0
        few.append(row)
        size += bytes_
    if few:
        yield few


@lru_cache(maxsize=4)
def _of_process(desk: Desk) -> tuple[TableSink, TaskSettler]:
    """Return this process's view of a station, and the object that waits for its database."""
    sink: Any = desk.unpacked()[0]
    return sink, TaskSettler(sink, database_of(desk.access), ROWS_PER_TRANSACTION)
