"""The columns of frames of messages and of finished turns, and how they are made from a store's rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from duerow.arrow.arrays import maps, texts
from duerow.errors import ConfigurationError, shown
from duerow.message import Scalar
from duerow.payload import codec
from duerow.payload.codec import SEALED
from duerow.payload.encoding import Payloads, StoredPayload

if TYPE_CHECKING:
    from duerow.payload.encoding import Cipher
    from duerow.store import HistoryRow, Record

_LONG, _INT, _TEXT, _MOMENT = LongType(), IntegerType(), StringType(), TimestampType()
_HEADERS = MapType(_TEXT, _TEXT)

MESSAGE: Final[dict[str, DataType]] = {
    "id": _LONG,
    "token": _LONG,
    "queue": _TEXT,
    "key": _TEXT,
    "kind": _TEXT,
    "payload": _TEXT,
    "headers": _HEADERS,
    "group": _TEXT,
    "priority": _INT,
    "status": _TEXT,
    "due_at": _MOMENT,
    "first_due_at": _MOMENT,
    "attempts": _INT,
    "leased_by": _TEXT,
    "leased_until": _MOMENT,
    "created_at": _MOMENT,
    "last_attempt_at": _MOMENT,
    "last_error": _TEXT,
}
"""The columns of messages: fields of `duerow.Message`; the payload as JSON text, the last error as "Type: message"."""

TURN: Final[dict[str, DataType]] = {
    "id": _LONG,
    "token": _LONG,
    "queue": _TEXT,
    "outcome": _TEXT,
    "moved_to": _TEXT,
    "payload": _TEXT,
    "kind": _TEXT,
    "key": _TEXT,
    "headers": _HEADERS,
    "group": _TEXT,
    "priority": _INT,
    "attempts": _INT,
    "created_at": _MOMENT,
    "first_due_at": _MOMENT,
    "due_at": _MOMENT,
    "started_at": _MOMENT,
    "finished_at": _MOMENT,
    "worker": _TEXT,
    "error": _TEXT,
}
"""The columns of finished turns: fields of `duerow.queue.history.Event`, converted in the same way."""

_ERRORS: Final = ("last_error", "error")


def schema_of(columns: dict[str, DataType], wanted: Sequence[str] | None) -> StructType:
    """Return the schema of a frame with the given columns; None: all columns.

    Raises:
        ConfigurationError: a column does not exist, or is wanted twice.
    """
    names = list(columns) if wanted is None else list(wanted)
    if unknown := [name for name in names if name not in columns]:
        raise ConfigurationError(f"there is no column {', '.join(unknown)}; the columns are {', '.join(columns)}")
    if not names or len(set(names)) < len(names):
        raise ConfigurationError(f"option columns names columns once each, not {shown(', '.join(names), 200)}")
    return StructType([StructField(name, columns[name]) for name in names])


def check_schema(columns: dict[str, DataType], given: StructType) -> None:
    """Raise ConfigurationError unless a schema consists of these columns; types are not converted."""
    known = schema_of(columns, given.names)
    for theirs, ours in zip(given.fields, known.fields, strict=True):
        if theirs.dataType != ours.dataType:
            raise ConfigurationError(
                f"column {ours.name} is of type {ours.dataType.simpleString()}, not {theirs.dataType.simpleString()}: "
                "leave the schema out, and cast what was read"
            )


def needed(names: Sequence[str], turns: bool) -> tuple[str, ...]:
    """Return the fields to read for these columns, plus those that give the next page's start and a payload's kind."""
    place = ("id", "token") if turns else ("id",)
    kind = ("kind", "queue", "key", "headers") if "payload" in names else ()
    return tuple(dict.fromkeys((*place, *kind, *names)))


class Shape:
    """Turns the rows of a store into batches for Spark.

    Args:
        schema: the columns that Spark wants.
        sealing: decrypts payloads; None: encrypted payloads cannot be read.
        as_kept: whether to leave encrypted payloads as they are stored.
    """

    def __init__(self, schema: StructType, sealing: Cipher | None, as_kept: bool) -> None:
        self.schema: pa.Schema = to_arrow_schema(schema, timezone="UTC")
        self._sealing, self._as_kept = sealing, as_kept

    def batches(self, table: pa.Table) -> list[pa.RecordBatch]:
        """Return a table of a store's columns as batches of exactly the declared schema.

        Raises:
            KeyMissing: a payload is encrypted and its key was not given.
        """
        arrays = [self._column(table, column).cast(column.type) for column in self.schema]
        made = pa.Table.from_arrays(arrays, schema=self.schema).combine_chunks()
        return [batch for batch in made.to_batches() if batch.num_rows]

    def _column(self, table: pa.Table, wanted: pa.Field) -> pa.ChunkedArray:
        found = table.column(wanted.name)
        if wanted.name == "headers":
            return _each(found, lambda known: maps([_header_pairs(text) for text in known]), wanted.type)
        if wanted.name in _ERRORS:
            return _each(found, lambda known: texts([_said(text) for text in known]), wanted.type)
        if wanted.name == "payload" and not self._as_kept:
            return self._opened(found, table)
        if wanted.name == "kind" and not self._as_kept and _is_any_sealed(found):
            return pc.replace_substring_regex(found, pattern=r"\+encrypted$", replacement="")
        return found

    def _opened(self, payloads: pa.ChunkedArray, table: pa.Table) -> pa.ChunkedArray:
        """Return payloads, with encrypted ones decrypted."""
        strict = self._sealing is not None and self._sealing.refuse_clear_text
        if not strict and not _is_any_sealed(table.column("kind")):
            return payloads
        columns = (table.column(name).to_pylist() for name in ("queue", "key", "headers", "kind"))
        stored = map(StoredPayload, *columns, payloads.to_pylist())
        return pa.chunked_array([texts([Payloads(one.queue, None, self._sealing).opened(one).text for one in stored])])


def of_records(records: Sequence[Record | HistoryRow], names: Sequence[str], types: dict[str, DataType]) -> pa.Table:
    """Return the rows of a store as a table of columns, with JSON still as text."""
    kinds: dict[str, pa.DataType] = {
        field.name: pa.string() if pa.types.is_map(field.type) else field.type
        for field in to_arrow_schema(StructType([StructField(name, types[name]) for name in names]), timezone="UTC")
    }
    return pa.table(
        {name: pa.array([getattr(record, name) for record in records], kind) for name, kind in kinds.items()}
    )


def _each(found: pa.ChunkedArray, made_of: Callable[[list[str]], pa.Array], kind: pa.DataType) -> pa.ChunkedArray:
    """Return the result for each text; equal texts, which are common, are converted only once."""
    if found.null_count == len(found):
        return pa.chunked_array([pa.nulls(len(found), kind)])
    encoded = found.combine_chunks().dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    return pa.chunked_array([made_of(encoded.dictionary.to_pylist()).take(encoded.indices)])


def _is_any_sealed(kinds: pa.ChunkedArray) -> bool:
    """Return whether any payload is encrypted."""
    return bool(pc.any(pc.ends_with(kinds, pattern=SEALED)).as_py())


def _header_pairs(text: str) -> list[tuple[str, str]]:
    """Return headers as pairs for Spark's map: text as it is, other scalars as JSON."""
    return [(name, header_text(value)) for name, value in codec.decode_headers(text).items()]


def header_text(value: Scalar) -> str:
    """Return a header as text for Spark's map: text as it is, other scalars as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _said(text: str) -> str | None:
    """Return an error as "Type: message"; the message of an exception already begins with its type."""
    failure = codec.decode_failure(text)
    if failure is None or failure.message.startswith(f"{failure.type}: "):
        return None if failure is None else failure.message
    return f"{failure.type}: {failure.message}"
