"""What SQLite's errors mean, by their codes."""

from __future__ import annotations

import sqlite3
from typing import Final

from duerow.errors import ConfigurationError, Conflict, DuerowError, StoreRefused, StoreUnavailable

OF_ROW: Final = {sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH}
"""The row is rejected, because of a size, a constraint, a trigger or a type."""


def explained(error: BaseException) -> DuerowError | None:
    """Return duerow's error for a driver's error, based on SQLite's result code."""
    if not isinstance(error, sqlite3.Error):
        return None
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Conflict(f"the SQLite file is locked by another writer: {error}")
    if primary in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_INTERRUPT):
        return StoreUnavailable(f"SQLite cannot reach its file: {error}")
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_AUTH):
        return ConfigurationError(f"SQLite cannot use this file: {error}")
    return StoreRefused(f"SQLite refused a statement: {error}", of_row=primary in OF_ROW)
