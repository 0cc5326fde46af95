"""What drivers refuse to read, read all the same: text that is not UTF-8, moments beyond the years that Python has.

A driver that meets one raises, and so gives none of the rows. The drivers' own ways are the fastest, so they are used
until one raises.
"""

from __future__ import annotations

import sqlite3
import struct
from datetime import datetime
from functools import cache
from typing import Any

from duerow.clock import FIRST, LAST
from duerow.store import Garbled


def is_garbled(error: BaseException) -> bool:
    """Return whether sqlite3 could not decode what is stored as text, an error for which SQLite has no code."""
    return isinstance(error, sqlite3.OperationalError) and not hasattr(error, "sqlite_errorcode")


def told_text(stored: bytes) -> str:
    """Return what SQLite has stored as text; with its odd bytes shown, and told apart, if it is no UTF-8."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return Garbled(stored.decode("utf-8", "backslashreplace"))


def read_again(cursor: Any, error: BaseException) -> list[Any]:
    """Return the rows of which psycopg raised that it cannot read one; raise that error again if it is another.

    The statement is not carried out again: it may have written. Moments that are infinite, or of no year that Python
    has, are read as FIRST or LAST.
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
