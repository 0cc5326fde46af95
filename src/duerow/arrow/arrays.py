"""Arrow arrays from Python values without pandas, which PyArrow imports for any list.

In a process that has just started, that import takes a quarter of a second and 40 MB. When a task reads a great many
rows, they already come as Arrow; only the few values that it computes pass through here.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain

import pyarrow as pa

Pairs = list[tuple[str, str]]


def one(value: object) -> pa.Array:
    """Return an array of one value."""
    if type(value) is int:
        return pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(struct.pack("=q", value))])
    if type(value) is float:
        return pa.Array.from_buffers(pa.float64(), 1, [None, pa.py_buffer(struct.pack("=d", value))])
    if type(value) is str:
        return texts([value])
    return pa.array([value])  # these are rare, so pandas may be imported


def texts(values: Sequence[str | None]) -> pa.Array:
    """Return an array of texts with less than 2 GB in total."""
    encoded = [b"" if value is None else value.encode() for value in values]
    there = _bitmap([value is not None for value in values]) if None in values else None
    buffers = [there, _offsets(len(text) for text in encoded), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def maps(values: Sequence[Pairs]) -> pa.Array:
    """Return an array of maps from text to text."""
    pairs = list(chain.from_iterable(values))
    ends = pa.Array.from_buffers(pa.int32(), len(values) + 1, [None, _offsets(len(value) for value in values)])
    return pa.MapArray.from_arrays(ends, texts([name for name, _ in pairs]), texts([text for _, text in pairs]))


def _offsets(lengths: Iterable[int]) -> pa.Buffer:
    """Return where each value begins, and where the last one ends."""
    return pa.py_buffer(array("i", accumulate(lengths, initial=0)).tobytes())


def _bitmap(there: Sequence[bool]) -> pa.Buffer:
    """Return one bit per value, the lowest first: whether the value is present."""
    bits = bytearray(-(-len(there) // 8))
    for place in (place for place, is_there in enumerate(there) if is_there):
        bits[place >> 3] |= 1 << (place & 7)
    return pa.py_buffer(bytes(bits))
