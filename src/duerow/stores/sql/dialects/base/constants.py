"""Constants of statements, and the names and limits that all dialects keep to."""

from __future__ import annotations

from datetime import date
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ColumnElement, literal_column

LONGEST_KEY: Final = 200
"""How many characters of a text an index of a payload field holds: databases bound the size of what they index."""

KEYS: Final[tuple[type, ...]] = (int, str, UUID, date)
"""The Python types, and types derived from them, that columns of a primary key of a user's table can have."""

LINE: Final = "duerow_line"
"""The key in `Table.info` for the index by which due rows are found, unless that is named after the table."""


def const(value: int | str) -> ColumnElement[Any]:
    """Return one of duerow's constants as part of the statement's text; never use it for a value from a user."""
    return literal_column(str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'")
