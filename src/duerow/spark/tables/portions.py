"""How a source reads: a message says where to continue, and its turn pushes the next rows and the next position.

That is one transaction of the queues, so the rows of a portion are pushed exactly once, and reading continues where it
was, whatever is killed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import msgspec

from duerow.errors import CodecError, InvalidOutcome, shown
from duerow.message import Draft, Message, check_key
from duerow.payload import types
from duerow.payload.encoding import Cipher
from duerow.pipeline.table import TableSource, position_queue
from duerow.settlement import Bury, Commit, Retry, Settlement
from duerow.spark.tables import database
from duerow.spark.tables.folder import Folder

Row = dict[str, Any]


class FilePosition(msgspec.Struct, frozen=True):
    """The position in a file.

    Attributes:
        file: its name inside the folder.
        rows: how many of its rows have been pushed.
    """

    file: str
    rows: int = 0


class TablePosition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The position in a table.

    Attributes:
        after: the last value of the column by which it is read; None: the beginning.
    """

    after: Any = None


@dataclass(frozen=True)
class Portions(TableSource):
    """Reads portions of rows.

    Attributes:
        into: the declared type of the target queue; None if it declares none.
    """

    _: KW_ONLY
    into: Any = None

    def turn(self, message: Message, sealing: Cipher | None) -> Settlement | Retry:
        """Return how the turn of a position ends: the next rows are pushed together with the next position."""
        try:
            if self.format == "jdbc":
                return self._of_table(msgspec.convert(message.payload, TablePosition))
            return self._of_file(msgspec.convert(message.payload, FilePosition))
        except msgspec.ValidationError as error:
            return Bury(InvalidOutcome(f"{self}: {shown(message.payload, 200)} is not a position in it: {error}"))

    def _of_file(self, at: FilePosition) -> Commit:
        rows = rows_of(str(self.path), at.file, self.format, at.rows, self.rows)
        then = [self._draft(row, f"row {at.rows + n + 1} of {at.file}") for n, row in enumerate(rows)]
        if len(rows) == self.rows:
            then.append(Draft(msgspec.to_builtins(FilePosition(at.file, at.rows + len(rows))), queue=self.name))
        return Commit(then=tuple(then))

    def _of_table(self, at: TablePosition) -> Commit:
        rows = database.rows_after(self, at.after)
        then = [self._draft(row, f"the row with {self.column} {row[str(self.column)]}") for row in rows]
        after = at.after if not rows else msgspec.to_builtins(rows[-1][str(self.column)])
        go_on = Draft({"after": after}, queue=self.name)
        if len(rows) < self.rows:  # the end is reached, for now
            parked = msgspec.structs.replace(go_on, queue=position_queue(self.name))
            go_on = parked if self.every is None else msgspec.structs.replace(go_on, delay=self.every)
        return Commit(then=(*then, go_on))

    def _draft(self, row: Row, which: str) -> Draft:
        if None in row:  # where the csv module puts extra values
            raise InvalidOutcome(f"{self}: {which} has more values than the header has names")
        try:
            values = {name: jsonable(value) for name, value in row.items()}
            key = None if self.key is None else check_key(str(row[self.key]))
            return Draft(types.encode(self._typed(values)), key=key, queue=self.to)
        except KeyError:
            raise InvalidOutcome(f"{self}: {which} has no column {self.key!r}, which holds its key") from None
        except (CodecError, ValueError) as error:
            raise InvalidOutcome(f"{self}: {which} cannot be a message: {error}") from error

    def _typed(self, values: Row) -> Any:
        """Return a row as its queue's declared type; a row that does not fit is pushed unchanged and buried there."""
        if self.into is None:
            return values
        try:
            return msgspec.convert(values, self.into, strict=False)
        except (msgspec.ValidationError, TypeError):
            return values


def jsonable(value: Any) -> Any:
    """Return a value as a JSON value: decimals and times as text, bytes as base64, null for NaN and infinity."""
    if isinstance(value, float):
        return value if value - value == 0 else None
    return msgspec.to_builtins(value)


def rows_of(path: str, file: str, format: str, first: int, count: int) -> list[Row]:
    """Return rows of a file from the given row on; fewer than asked for at the end of the file."""
    if format == "parquet":
        return _parquet(Folder(path), file, first, count)
    lines = _text(path, file)
    if format == "json":
        return [_object(line) for line in islice(filter(str.strip, lines), first, first + count)]
    return list(islice(csv.DictReader(lines, strict=True), first, first + count))


def _parquet(folder: Folder, file: str, first: int, count: int) -> list[Row]:
    from pyarrow import parquet

    rows: list[Row] = []
    with folder.files.open_input_file(folder.inside(file)) as opened:
        source = parquet.ParquetFile(opened)
        for number in range(source.num_row_groups):
            there = source.metadata.row_group(number).num_rows
            if first < there:
                rows += source.read_row_group(number).slice(first, count - len(rows)).to_pylist()
            first = max(0, first - there)
            if len(rows) == count:
                break
    return rows


@lru_cache(maxsize=1)
def _text(path: str, file: str) -> Sequence[str]:
    """Return the lines of a text file; cached, because each of its portions reads it again."""
    folder = Folder(path)
    return io.StringIO(folder.read(file).decode("utf-8-sig"), newline="").readlines()


def _object(line: str) -> Row:
    try:
        return msgspec.json.decode(line, type=Row)
    except msgspec.DecodeError as error:
        raise InvalidOutcome(f"{shown(line, 200)} is not a JSON object: {error}") from error


NEW: Final = "start"
"""The key of the first position in a table."""
