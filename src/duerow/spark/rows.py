"""Rows of a frame that become messages: which columns are allowed, and how each row becomes an entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from duerow.errors import CodecError, ConfigurationError, DuerowError, InvalidMessage
from duerow.message import check_key, check_queue_name
from duerow.payload.encoding import is_quiet, shown_failure
from duerow.queue.mapping import entry
from duerow.store import Entry

if TYPE_CHECKING:
    from duerow.sync.database import Database
    from duerow.sync.queue import Queue

PUSHED: Final = ("payload", "key", "due", "headers", "group", "priority", "queue")
"""The columns of messages that are pushed."""

ROWS_PER_WRITE: Final = 5_000
"""The maximum number of rows that are pushed or settled by one statement."""

_WHOLE: Final = (ByteType, ShortType, IntegerType, LongType)
_SCALARS: Final = (StringType, BooleanType, *_WHOLE, FloatType, DoubleType, NullType)

_SIMPLE: Final = {"payload", "key"}

_decode = msgspec.json.Decoder().decode


def check_pushed(schema: StructType, queue: str | None) -> None:
    """Raise ConfigurationError unless rows of this schema can be pushed.

    Args:
        schema: the schema of the frame.
        queue: the queue for rows that name none; None: each row must name one.
    """
    names = schema.names
    if "payload" not in names:
        raise ConfigurationError(
            f"a frame that is pushed needs a column payload, but this one has {', '.join(names) or 'none'}: "
            "for example df.select(to_json(struct('*')).alias('payload'))"
        )
    if unknown := [name for name in names if name not in PUSHED]:
        raise ConfigurationError(
            f"a frame that is pushed cannot have a column {', '.join(unknown)}, only {', '.join(PUSHED)}: drop it, or "
            "put it into the payload"
        )
    if queue is None and "queue" not in names:
        raise ConfigurationError("name the queue to push to, with the option queue or a column queue")
    check_types(schema)


def check_types(schema: StructType) -> None:
    """Raise ConfigurationError unless the columns have types from which messages can be made."""
    for field in schema.fields:
        kind = field.dataType
        match field.name:
            case "payload":
                _check_json("payload", kind)
            case "key" | "group" | "queue" | "to":
                _require(field.name, kind, (StringType,), "text")
            case "due":
                _require("due", kind, (TimestampType,), "a timestamp with a time zone")
            case "priority":
                _require("priority", kind, _WHOLE, "a whole number")
            case "headers":
                _check_headers(kind)


def _require(name: str, kind: DataType, wanted: tuple[type[DataType], ...], said: str) -> None:
    if not isinstance(kind, (*wanted, NullType)):
        raise ConfigurationError(f"column {name} must be {said}, not of type {kind.simpleString()}: cast it")


def _check_headers(kind: DataType) -> None:
    """Raise ConfigurationError unless headers are a map or a struct of scalars."""
    members = [field.dataType for field in kind.fields] if isinstance(kind, StructType) else []
    if isinstance(kind, MapType) and isinstance(kind.keyType, StringType):
        members = [kind.valueType]
    if not isinstance(kind, NullType) and (not members or not all(isinstance(one, _SCALARS) for one in members)):
        raise ConfigurationError(
            f"column headers must be a map from text to text, numbers or booleans, or a struct of those, not of type "
            f"{kind.simpleString()}"
        )


def _check_json(path: str, kind: DataType) -> None:
    """Raise ConfigurationError if a payload has a type that JSON does not have."""
    if isinstance(kind, StructType):
        for field in kind.fields:
            _check_json(f"{path}.{field.name}", field.dataType)
    elif isinstance(kind, ArrayType):
        _check_json(f"{path}[]", kind.elementType)
    elif isinstance(kind, MapType) and isinstance(kind.keyType, StringType):
        _check_json(f"{path}[]", kind.valueType)
    elif not isinstance(kind, _SCALARS):
        raise ConfigurationError(
            f"{path} is of type {kind.simpleString()}, which JSON does not have: cast it to a type that "
            "JSON has, such as string, within a struct"
        )


class RowTerms(NamedTuple):
    """What a task must know about a queue to which it pushes.

    Attributes:
        queue: a handle to the queue.
        remembers: whether remembered keys count as taken.
    """

    queue: Queue[Any]
    remembers: bool


class Rows:
    """Turns rows into entries.

    Args:
        database: the database to which they go.
        names: the columns of the rows.
        as_text: whether the payload is already JSON text.
        queue: the queue for rows that name none.
        remembers: whether queues may remember keys; staging cannot look up remembered keys.
    """

    def __init__(
        self, database: Database, names: Sequence[str], as_text: bool, queue: str | None, remembers: bool
    ) -> None:
        self._names, self._as_text, self._queue = names, as_text, queue
        self._may_remember = remembers
        self._quiet = is_quiet(database.encryption)
        self.terms = cache(lambda name: _terms(database, name))

    def chunks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[Entry]]:
        """Yield the entries of the rows, a few thousand at a time.

        Raises:
            InvalidMessage: a row cannot be pushed; the message names the row.
        """
        for batch in batches:
            for start in range(0, batch.num_rows, ROWS_PER_WRITE):
                yield self._entries(batch.slice(start, ROWS_PER_WRITE))

    def values(self, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        """Yield the rows of a batch with payloads and headers as Python values."""
        columns = {
            name: _values(name, batch.column(place), self._as_text)
            for place, name in enumerate(batch.schema.names)
            if name in self._names
        }
        for row in zip(*columns.values(), strict=True):
            yield dict(zip(columns, row, strict=True))

    def _entries(self, batch: pa.RecordBatch) -> list[Entry]:
        """Return the entries for some rows: in bulk if all are valid, otherwise one by one to name the row at fault."""
        if self._queue is not None and self._as_text and set(batch.schema.names) <= _SIMPLE:
            try:
                return self._simple_entries(self._queue, batch)
            except (DuerowError, msgspec.DecodeError, TypeError, RecursionError):
                pass
        return [self._entry(row) for row in self.values(batch)]

    def _simple_entries(self, name: str, batch: pa.RecordBatch) -> list[Entry]:
        """Return the entries for rows that, like most, differ only in payload and key."""
        queue, remembers = self.terms(name)
        keys: Iterable[str | None] = repeat(None)
        if "key" in batch.schema.names:
            if remembers and not self._may_remember:
                raise InvalidMessage("its key may be remembered")
            keys = map(check_key, batch.column("key").to_pylist())
        most, payloads = queue.max_payload_bytes, queue.payloads
        values = map(_decode, batch.column("payload").to_pylist())
        return [
            entry(name, value, key, max_bytes=most, payloads=payloads) for value, key in zip(values, keys, strict=False)
        ]

    def _entry(self, row: dict[str, Any]) -> Entry:
        name = row.get("queue") or self._queue
        try:
            if name is None:
                raise InvalidMessage("it names no queue, and the option queue is not set")
            queue, remembers = self.terms(name)
            key = row.get("key")
            if remembers and key is not None and not self._may_remember:
                raise InvalidMessage(
                    f"queue {name!r} remembers keys, which an atomic write cannot check: leave out atomic=true or the "
                    "key, or push to another queue"
                )
            payload = read_text(row["payload"]) if self._as_text else row["payload"]
            return entry(
                name,
                payload,
                key,
                row.get("due"),
                None,
                row.get("headers"),
                row.get("group"),
                row.get("priority") or 0,
                queue.max_payload_bytes,
                queue.payloads,
            )
        except DuerowError as error:
            if self._quiet:
                problem = InvalidMessage(
                    f"a row cannot be pushed to queue {name!r}: {shown_failure(error, True).message}"
                )
            else:
                raise InvalidMessage(f"the row {row!s:.200} cannot be pushed to queue {name!r}: {error}") from error
        raise problem


def read_text(text: str | None) -> Any:
    """Return the value of a payload's JSON text; None if there is no text.

    Raises:
        CodecError: the text is not JSON.
    """
    if text is None:
        return None
    try:
        return _decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise CodecError(
            f"its payload is not valid JSON ({error}): give a struct instead of text, such as struct(payload AS text), "
            "or JSON made by to_json"
        ) from error


def _terms(database: Database, name: str) -> RowTerms:
    queue = database.as_defined(check_queue_name(name))
    return RowTerms(queue, queue.keeping is not None and queue.keeping.keys is not None)


def _values(name: str, column: pa.Array, as_text: bool) -> list[Any]:
    """Return the values of a column as Python values for messages."""
    if name == "due" and not pa.types.is_null(column.type):
        column = column.cast(pa.timestamp("us", tz="UTC"))
    values: list[Any] = column.to_pylist()
    convert = _headers if name == "headers" else _converter(column.type) if name == "payload" and not as_text else None
    return values if convert is None else [_made(convert, value) for value in values]


def _headers(value: Any) -> dict[str, Any]:
    """Return headers from a map, which Arrow gives as pairs, or from a struct; null headers are left out."""
    pairs = value.items() if isinstance(value, dict) else value
    return {name: one for name, one in pairs if one is not None}


def _converter(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """Return a function that makes JSON values from Arrow's values of a type; None if they already are JSON values."""
    if pa.types.is_map(kind):
        inner = _converter(kind.item_type)
        return lambda pairs: {name: _made(inner, value) for name, value in pairs}
    if pa.types.is_struct(kind):
        members = {field.name: _converter(field.type) for field in kind}
        if not any(members.values()):
            return None
        return lambda value: {name: _made(members[name], one) for name, one in value.items()}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        each = _converter(kind.value_type)
        return None if each is None else lambda values: [_made(each, value) for value in values]
    return None


def _made(convert: Callable[[Any], Any] | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)
