"""psycopg cursors, for both faces."""

from __future__ import annotations

from typing import Any


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
