"""Constants for statements, and the names and limits that all dialects share."""

from __future__ import annotations

from datetime import date
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ColumnElement, literal_column

LONGEST_KEY: Final = 200
"""How many characters of a text an index of a payload field holds: databases limit the size of indexed values."""

KEYS: Final[tuple[type, ...]] = (int, str, UUID, date)
"""The Python types that primary key columns of a user's table can have; types derived from them count too."""

LINE: Final = "duerow_line"
"""The key in `Table.info` for the name of the index that finds due rows, if it is not named after the table."""


def const(value: int | str) -> ColumnElement[Any]:
    """Return one of duerow's constants as part of the statement's text; never use this for a value from a user."""
    return literal_column(str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'")
