"""psycopg cursors, for both faces."""

from __future__ import annotations

import re
from typing import Any, Final

_PLACEHOLDER: Final = re.compile(r"%(?:%|\(([^)]*)\)s)")


def takes_pipelines() -> bool:
    """Return whether psycopg's libpq is new enough to send several statements at once."""
    import psycopg

    return psycopg.Pipeline.is_supported()


def has_pipelines(raw: Any) -> bool:
    """Return whether a driver's connection is a psycopg connection that can send several statements at once."""
    return hasattr(raw, "pipeline") and takes_pipelines()


def binary_cursor(cursor: Any, raw: Any) -> Any:
    """Return a psycopg cursor that returns plain tuples and uses the binary protocol."""
    import psycopg

    made: Any = cursor(raw, row_factory=psycopg.rows.tuple_row)
    made.format = psycopg.pq.Format.BINARY
    return made


def is_psycopgs(error: Exception) -> bool:
    """Return whether an error comes from psycopg."""
    import psycopg

    return isinstance(error, psycopg.Error)


def numbered(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a statement with numbered instead of named parameters, and their names in this order.

    >>> numbered("SELECT %(a)s, 5 %% %(b)s, %(a)s")
    ('SELECT $1, 5 % $2, $1', ('a', 'b'))
    """
    names: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return "%" if found[1] is None else names.setdefault(found[1], f"${len(names) + 1}")

    return _PLACEHOLDER.sub(number, text), tuple(names)
