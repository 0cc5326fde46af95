"""The primary key columns of a user's table, and how statements receive their values."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Integer
from sqlalchemy.types import TypeEngine

from duerow.stores.sql.dialects.mssql.compiler import written

_TYPES: Final[Any] = written()
_TYPES.server_version_info = (15,)  # before it connects, SQLAlchemy assumes that the server has no DATE

_DATABASES: Final = "DATABASE_DEFAULT"
"""The collation for a column without one."""


def is_users(label: str, kind: TypeEngine[Any]) -> bool:
    """Return whether a given column is a non-integer part of a user's key: integers are given like message ids."""
    return (label == "id" or label.startswith("id_")) and not isinstance(kind, Integer)


def typed(value: str, kind: TypeEngine[Any]) -> str:
    """Convert a value that is given as text to the exact type of its column, so that the key's index can be used.

    With another type or collation, the server would have to convert each row of the table first.
    """
    spec, _, collation = kind.compile(dialect=_TYPES).partition(" COLLATE ")
    if spec in ("DATETIME", "SMALLDATETIME"):  # these accept no text with microseconds
        value = f"CAST({value} AS DATETIME2(6))"
    found = f"CAST({value} AS {spec})"
    return f"{found} COLLATE {collation or _DATABASES}" if "CHAR" in spec else found
