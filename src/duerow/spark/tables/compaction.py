"""Merge small files of a Parquet table into larger ones, while readers see each row once.

A compaction is a message in the queue of the table's batches; there is at most one at a time. Its first turn writes
larger files, which no reader sees yet, and turns the message into an entry that replaces the entries of the small
files. Its next turn adds that entry to the table. So two compactions never replace the same batch: the second begins
only after the first one's entry is in the table. Files of a process that has lost the message belong to no entry.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

from duerow.spark.tables.folder import Folder
from duerow.spark.tables.manifest import FILES, DataFile, Gone, Manifest, TableEntry
from duerow.spark.tables.partitions import folder_name

LARGE: Final = 128 << 20
"""The size in bytes from which files are no longer merged."""

KEPT: Final = timedelta(hours=1)
"""How long merged files are kept, for queries that began before the merge."""


def compacted(folder: Folder) -> TableEntry | None:
    """Write larger files; return the entry that adds them to the table, or None if there is nothing to merge."""
    entries = Manifest(folder).entries()
    small = [file for entry in entries for file in entry.files if file.size < LARGE]
    if len(entries) < 2:
        return None
    name, now = secrets.token_hex(8), time.time()
    merged, left = _merge(folder, small, name)
    gone = [one for entry in entries for one in entry.gone]
    over = now - KEPT.total_seconds()
    replaced = {file.path for file in small} - {file.path for file in left}
    return TableEntry(
        name,
        [file for entry in entries for file in entry.files if file.path not in replaced] + merged,
        sorted({name for entry in entries for name in (entry.name, *entry.replaces)}),
        [one for one in gone if one.since > over] + [Gone(path, now) for path in sorted(replaced)],
        [one.path for one in gone if one.since <= over],
    )


def _merge(folder: Folder, small: Sequence[DataFile], name: str) -> tuple[list[DataFile], list[DataFile]]:
    """Write files with the rows of small ones, merging similar files; return also the files that are left.

    Files are similar if they belong to the same partition and have the same columns.
    """
    from pyarrow import parquet

    alike: dict[tuple[str, str], list[DataFile]] = {}
    for file in small:
        with folder.files.open_input_file(folder.inside(file.path)) as opened:
            columns = parquet.read_schema(opened).to_string()
        alike.setdefault((folder_name(file.partition), columns), []).append(file)
    merged: list[DataFile] = []
    left: list[DataFile] = []
    for (inside, _), files in alike.items():
        for group in _groups(files):
            if len(group) == 1:
                left += group
            else:
                merged.append(_written(folder, group, f"{FILES}/{inside}{name}-{len(merged)}.parquet"))
    return merged, left


def _groups(files: Iterable[DataFile]) -> list[list[DataFile]]:
    """Divide files into groups, each of which becomes one large file."""
    groups: list[list[DataFile]] = [[]]
    for file in files:
        groups[-1].append(file)
        if sum(one.size for one in groups[-1]) >= LARGE:
            groups.append([])
    return [group for group in groups if group]


def _written(folder: Folder, group: Sequence[DataFile], path: str) -> DataFile:
    from pyarrow import parquet

    rows, writer = 0, None
    with folder.writing(path) as stream:
        for file in group:
            with folder.files.open_input_file(folder.inside(file.path)) as opened:
                source = parquet.ParquetFile(opened)
                writer = writer or parquet.ParquetWriter(stream, source.schema_arrow)
                for batch in source.iter_batches():
                    writer.write_batch(batch)
                    rows += batch.num_rows
        if writer is not None:
            writer.close()
    return DataFile(path, rows, folder.size(path), group[0].partition)
