"""Reads of values that drivers reject: text that is not UTF-8, and times outside Python's range of years.

A driver raises an error for such a value, and returns none of the rows. The drivers' own conversions are the fastest,
so they are used until one raises.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import Any

from duerow.clock import FIRST, LAST
from duerow.errors import Conflict
from duerow.store import Garbled


def is_garbled(error: BaseException) -> bool:
    """Return whether sqlite3 could not decode stored text, an error for which SQLite has no code."""
    return isinstance(error, sqlite3.OperationalError) and not hasattr(error, "sqlite_errorcode")


def garbled() -> Conflict:
    """Return the error that makes a statement run again with lenient reads."""
    return Conflict("SQLite holds text that is not UTF-8; it is read again leniently")


def told_text(stored: bytes) -> str:
    """Return text from SQLite; if it is not UTF-8, it is marked as such, and the invalid bytes are shown."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return Garbled(stored.decode("utf-8", "backslashreplace"))


@contextmanager
def read_by(raw: Any, reads: Callable[[bytes], str]) -> Iterator[None]:
    """Read SQLite's text with this function instead of the text factory of the caller's connection."""
    if not isinstance(raw, sqlite3.Connection) or raw.text_factory is reads:
        yield
        return
    factory, raw.text_factory = raw.text_factory, reads
    try:
        yield
    finally:
        raw.text_factory = factory


def read_again(cursor: Any, error: BaseException) -> list[Any]:
    """Return the rows after psycopg failed to read one of them; raise any other error again.

    The statement is not repeated, because it may have written. Infinite times and times outside Python's range of years
    are read as FIRST or LAST.
    """
    result = getattr(cursor, "pgresult", None)
    if result is None or type(error).__name__ != "DataError" or getattr(error, "sqlstate", "") is not None:
        raise error
    from psycopg.adapt import Transformer

    reader = Transformer.from_context(cursor)
    reader.adapters.register_loader("timestamptz", _loader())
    reader.set_pgresult(result)
    return list(reader.load_rows(0, result.ntuples, tuple))


@cache
def _loader() -> Any:
    from psycopg import DataError
    from psycopg.types.datetime import TimestamptzBinaryLoader

    class Loader(TimestamptzBinaryLoader):
        def load(self, data: Any) -> datetime:
            try:
                return super().load(data)
            except DataError:
                (microseconds,) = struct.unpack("!q", data)  # since the year 2000
                return FIRST if microseconds < 0 else LAST

    return Loader
