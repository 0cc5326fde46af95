"""Arrays as bound values: in binary form on connections that `adapt` has prepared, as text on all others.

PostgreSQL reads binary arrays faster, and less has to be escaped.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from functools import cache
from struct import Struct
from typing import Any, ClassVar, Final

from sqlalchemy import Dialect as SqlDialect

_SEPARATOR: Final = "\x1f"

_HEAD: Final = Struct("!iiIii").pack
"""Packs the head of an array: its dimensions, whether it contains NULL, its element type, its length, and 1."""

_LENGTHS: Final = [length.to_bytes(4, "big") for length in range(1_024)]

_NULL: Final = (-1).to_bytes(4, "big", signed=True)


class ArrayValue:
    """The values of an array.

    Args:
        values: its elements.

    Attributes:
        element: PostgreSQL's number of the elements' type.
    """

    __slots__ = ("values",)
    element: ClassVar[int]

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values

    def __repr__(self) -> str:
        """Return the array as text."""
        return literal(self.values)

    @property
    def size(self) -> int:
        """How many characters its elements have, or how many bytes."""
        return sum(len(value) for value in self.values if value is not None)

    def binary(self, encoding: str) -> bytes:
        """Return the array in binary form, given the encoding of the connection."""
        parts: list[bytes] = [_NULL] * (2 * len(self.values))
        nulls = None in self.values
        if nulls:
            encoded = [None if value is None else value.encode(encoding) for value in self.values]
            parts[::2] = [_NULL if value is None else _length(value) for value in encoded]
            parts[1::2] = [value or b"" for value in encoded]
        else:
            parts[1::2] = texts = [value.encode(encoding) for value in self.values]
            parts[::2] = _lengths(texts)
        return self._head(nulls) + b"".join(parts)

    def _head(self, nulls: bool) -> bytes:
        return (
            _HEAD(1, nulls, self.element, len(self.values), 1) if self.values else _HEAD(0, 0, self.element, 0, 0)[:12]
        )


class TextArray(ArrayValue):
    """An array of text."""

    __slots__ = ()
    element = 25


class JsonArray(ArrayValue):
    """An array of JSON, from JSON as text."""

    __slots__ = ()
    element = 114


class BigIntArray(ArrayValue):
    """An array of 64-bit integers.

    Raises:
        TypeError, OverflowError: a value is no integer, or too large.
    """

    __slots__ = ()
    element = 20

    def __init__(self, values: Iterable[int]) -> None:
        super().__init__(array("q", values))

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return 12 * len(self.values)

    def binary(self, encoding: str) -> bytes:
        """Return the array in binary form."""
        count = len(self.values)
        integers = self.values[:]
        if sys.byteorder == "little":
            integers.byteswap()  # type: ignore[attr-defined]
        given, made = integers.tobytes(), bytearray(12 * count)  # type: ignore[attr-defined]
        made[3::12] = b"\x08" * count
        for place in range(8):
            made[4 + place :: 12] = given[place::8]
        return self._head(nulls=False) + made


ARRAY_VALUES: Final[tuple[type[ArrayValue], ...]] = (TextArray, JsonArray, BigIntArray)


def _length(value: bytes) -> bytes:
    return len(value).to_bytes(4, "big")


def _lengths(texts: Sequence[bytes]) -> list[bytes]:
    try:
        return [_LENGTHS[len(text)] for text in texts]
    except IndexError:
        return [_length(text) for text in texts]


def literal(values: Sequence[Any]) -> str:
    """Return values as the text of a PostgreSQL array."""
    kinds = set(map(type, values))
    if kinds <= {int}:
        return "{" + ",".join(map(str, values)) + "}"
    if kinds == {str}:
        joined = _SEPARATOR.join(values)
        if joined.count(_SEPARATOR) == len(values) - 1:
            return '{"' + _escaped(joined).replace(_SEPARATOR, '","') + '"}'
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: Any) -> str:
    return "NULL" if value is None else f'"{_escaped(str(value))}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def take_array_values(driver: SqlDialect) -> None:
    """Record that all connections of an engine are adapted, given its dialect."""
    driver.duerow_array_values = True  # type: ignore[attr-defined]


def takes_array_values(driver: SqlDialect) -> bool:
    """Return whether the connections of an engine take these arrays, given its dialect."""
    return getattr(driver, "duerow_array_values", False)


def adapt(connection: Any) -> None:
    """Let a psycopg connection send these arrays in binary form."""
    dumper = _dumper()
    for kind in ARRAY_VALUES:
        connection.adapters.register_dumper(kind, dumper)


@cache
def _dumper() -> Any:
    """Return what writes the arrays for psycopg; it keeps each class that it was ever given."""
    from psycopg.adapt import Dumper
    from psycopg.pq import Format

    class ArrayDumper(Dumper):
        format = Format.BINARY
        oid = 0  # the statement tells the server; with a number, psycopg would write lists of this type with it, too

        def dump(self, obj: Any) -> bytes:
            encoding = "utf-8" if self.connection is None else self.connection.info.encoding
            return bytes(obj.binary("utf-8" if encoding == "ascii" else encoding))

    return ArrayDumper
