"""Tables of Delta Lake and Iceberg: the files are already written, and one commit adds them to the table.

Both formats are written by their own Python packages, which need no JVM: `deltalake` and `pyiceberg`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import msgspec

from duerow.errors import ConfigurationError, InvalidOutcome
from duerow.pipeline.table import TableSink
from duerow.spark.tables.folder import Folder
from duerow.spark.tables.manifest import TableEntry

if TYPE_CHECKING:
    import pyarrow as pa

PROPERTY: Final = "duerow-batch"
"""The property of an Iceberg snapshot that names the batch that made it."""

CLOCKS: Final = timedelta(minutes=5)
"""How much the clocks of the queues' database and of the processes that write to a table may differ."""

RETRIES: Final = "commit.retry.num-retries"


def add_to_delta(sink: TableSink, made: TableEntry) -> None:
    """Add the files of a batch in one commit, unless the table has it.

    The batch is the commit's application transaction. Delta refuses a commit if another commit of the same application
    came first. So if two processes deliver a batch, one fails, and its next attempt finds the batch in the table.
    """
    deltalake: Any = import_module("deltalake")
    path, options, batch = str(sink.path), dict(sink.options), f"duerow-{made.name}"
    schema: Any = _schema(path, made)
    by = [*sink.partition_by]
    if not deltalake.DeltaTable.is_deltatable(path, options):
        deltalake.DeltaTable.create(path, schema, mode="ignore", storage_options=options, partition_by=by or None)
    table = deltalake.DeltaTable(path, storage_options=options)
    if table.transaction_version(batch) is not None:
        return
    _check_same(sink, table.metadata().partition_columns)
    now = int(time.time() * 1000)
    added: list[Any] = [
        deltalake.transaction.AddAction(
            one.path, one.size, one.partition, now, True, msgspec.json.encode({"numRecords": one.rows}).decode()
        )
        for one in made.files
    ]
    commit = deltalake.CommitProperties(app_transactions=[deltalake.Transaction(batch, 1)])
    table.create_write_transaction(added, "append", schema, partition_by=by or None, commit_properties=commit)


def check_partitions_of_table(sink: TableSink) -> None:
    """Raise ConfigurationError if the table exists and is partitioned by other columns than its station says."""
    if sink.format == "delta":
        deltalake: Any = import_module("deltalake")
        path, options = str(sink.path), dict(sink.options)
        if deltalake.DeltaTable.is_deltatable(path, options):
            _check_same(sink, deltalake.DeltaTable(path, storage_options=options).metadata().partition_columns)
    elif sink.format == "iceberg" and sink.partition_by:  # without it, pyiceberg checks whether a file fits
        table = _iceberg(sink)
        named = [(table.schema().find_column_name(one.source_id), str(one.transform)) for one in table.spec().fields]
        _check_same(sink, [name if how == "identity" else f"{how}({name})" for name, how in named])


def _check_same(sink: TableSink, columns: Sequence[str]) -> None:
    if sorted(columns) != sorted(sink.partition_by):
        there, given = (", ".join(map(repr, one)) or "none" for one in (columns, sink.partition_by))
        raise ConfigurationError(f"{sink}: the table is partitioned by the columns {there}; partition_by names {given}")


def add_to_iceberg(sink: TableSink, made: TableEntry, pushed_at: datetime | None = None) -> None:
    """Add the files of a batch in one snapshot, unless the table has it.

    A commit is refused if the table has changed since it was read. The package's own retries are turned off, because
    they would not look for the batch again. So if two processes deliver a batch, one fails, and its next attempt finds
    the batch in the table. Snapshots expire, so the table's files are checked too. Both can miss the batch of an
    earlier delivery if the table's maintenance has rewritten its files and its snapshot has expired.

    Args:
        sink: the station.
        made: the batch.
        pushed_at: when the batch was pushed, if it may have been delivered before; None: this is its first delivery.

    Raises:
        InvalidOutcome: the batch may have been added, and the table no longer tells.
    """
    table, folder = _iceberg(sink), location(sink)
    paths = [f"{folder}/{one.path}" for one in made.files]
    snapshots = table.snapshots()
    if any(one.summary is not None and one.summary.get(PROPERTY) == made.name for one in snapshots):
        return
    if not set(paths).isdisjoint(table.inspect.files()["file_path"].to_pylist()):
        return
    if pushed_at is not None and _may_have_expired(snapshots, pushed_at):
        raise InvalidOutcome(
            f"{sink}: batch {made.name} may have been added to the table {sink.table} by an earlier delivery, whose "
            f"snapshot has expired since; look for rows of its files, such as {paths[0]}, and requeue the message only "
            "if the table does not have them"
        )
    table.metadata.properties[RETRIES] = "0"  # only in this object: it is not written
    table.add_files(paths, snapshot_properties={PROPERTY: made.name})


def _may_have_expired(snapshots: Sequence[Any], since: datetime) -> bool:
    """Return whether snapshots that were made since then may be missing: those of the beginning are, and all are newer.

    A table without snapshots has no rows.
    """
    if not snapshots or any(one.parent_snapshot_id is None for one in snapshots):
        return False
    oldest: int = min(one.timestamp_ms for one in snapshots)
    return oldest > (since - CLOCKS).timestamp() * 1000


def location(sink: TableSink) -> str:
    """Return the folder of an Iceberg table."""
    return str(_iceberg(sink).location()).rstrip("/")


def _iceberg(sink: TableSink) -> Any:
    options = dict(sink.options)
    catalog: Any = import_module("pyiceberg.catalog").load_catalog(options.pop("name", None), **options)
    return catalog.load_table(str(sink.table))


def _schema(path: str, made: TableEntry) -> pa.Schema:
    """Return the columns of a batch's files."""
    from pyarrow import parquet

    folder = Folder(path)
    with folder.files.open_input_file(folder.inside(made.files[0].path)) as opened:
        return parquet.read_schema(opened)
