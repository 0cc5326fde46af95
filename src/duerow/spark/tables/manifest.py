"""The manifest of a table of Parquet files: a small file for each batch says which data files belong to it.

    <table>/_duerow/<batch>.json            an entry: the data files of a batch, and the entries that it replaces
    <table>/_duerow/files/<batch>-….parquet the data files, in folders such as day=2026-11-26 if it is partitioned

An entry appears atomically, so a reader sees all of a batch or nothing. Its content depends only on its name, so
writing it again changes nothing. A compaction is an entry that replaces others and keeps their names forever: an entry
that a delayed process writes again stays replaced. Underscores hide everything from programs that only list folders,
because they would find more files than belong to the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

import msgspec

from duerow.errors import ConfigurationError
from duerow.pipeline.table import without_user
from duerow.spark.tables.folder import Folder

ENTRIES: Final = "_duerow"
FILES: Final = f"{ENTRIES}/files"
ENDING: Final = ".json"

AT_ONCE: Final = 16
"""How many entries are read at the same time."""


class DataFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A data file.

    Attributes:
        path: its name inside the table's folder.
        rows: how many rows it has.
        size: its size in bytes.
        partition: the values of the columns that partition the table, as text.
    """

    path: str
    rows: int
    size: int
    partition: dict[str, str | None] = {}


class Gone(msgspec.Struct, frozen=True):
    """A data file that no longer belongs to the table, but that older queries may still read.

    Attributes:
        path: its name inside the table's folder.
        since: when it was replaced, in seconds since 1970.
    """

    path: str
    since: float


class TableEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A batch, or a compaction of batches; also the payload of the message that adds it to the table.

    Attributes:
        name: its name.
        files: its data files.
        replaces: the names of all entries that it replaces, including those that they had replaced.
        gone: data files that a later compaction will delete.
        delete: data files that are deleted when the entry is written.
    """

    name: str
    files: list[DataFile]
    replaces: list[str] = []
    gone: list[Gone] = []
    delete: list[str] = []


class Manifest:
    """The entries of a table.

    Args:
        folder: the table's folder.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """Return the names of all entries, including replaced ones."""
        files = (one.base_name for one in self._folder.listed(ENTRIES))
        return sorted(name.removesuffix(ENDING) for name in files if name.endswith(ENDING) and name[0] != ".")

    def entries(self) -> list[TableEntry]:
        """Return the entries that make up the table, in order of name.

        A compaction may write its entry and delete those that it replaces while the names are being listed. So a list
        is valid only if the next one is equal.
        """
        found: dict[str, TableEntry] = {}
        before: list[str] | None = None
        while (names := self.names()) != before:
            with suppress(FileNotFoundError):  # it was replaced meanwhile, as the next list will show
                found |= self._read([name for name in names if name not in found])
                before = names
        entries = [found[name] for name in names]
        replaced = {name for entry in entries for name in entry.replaces}
        return [entry for entry in entries if entry.name not in replaced]

    def _read(self, names: Sequence[str]) -> dict[str, TableEntry]:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            texts = threads.map(lambda name: self._folder.read(_place(name)), names)
            return dict(zip(names, map(_decode, texts), strict=True))

    def files(self) -> list[DataFile]:
        """Return the data files of the table; raise ConfigurationError if there is no table."""
        entries = self.entries()
        if not entries:
            raise ConfigurationError(
                f"{without_user(self._folder.path)} is not a table that a TableSink has written to"
            )
        return [file for entry in entries for file in entry.files]

    def add(self, entry: TableEntry) -> None:
        """Write an entry and delete what it replaces; this can be repeated any number of times, by any process.

        Nothing is written if another compaction, of another station or a later one, has replaced some of the same
        batches.
        """
        if entry.replaces and self._is_late(entry):
            return
        self._folder.put(_place(entry.name), _encode(msgspec.structs.replace(entry, delete=[])))
        present = set(self.names()) if entry.replaces else set()
        for name in present.intersection(entry.replaces):
            self._folder.delete(_place(name))
        for path in entry.delete:
            self._folder.delete(path)

    def _is_late(self, entry: TableEntry) -> bool:
        """Return whether an entry that this one does not replace has replaced some of the same batches."""
        mine = {entry.name, *entry.replaces}
        return any(one.name not in mine and not mine.isdisjoint(one.replaces) for one in self.entries())


def _place(name: str) -> str:
    return f"{ENTRIES}/{name}{ENDING}"


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(TableEntry).decode
