# Generated from ../aio/pipelined.py by tools/generate_sync.py; edit that file instead.
"""Several statements sent to PostgreSQL in one round trip."""

from __future__ import annotations

from typing import Any


def send_in_one_go(raw: Any, cursor: Any, beside: Any, before: str, text: str, values: Any, after: str) -> None:
    """Run three statements through psycopg in one round trip, and in one transaction unless one is open.

    Args:
        raw: psycopg's connection.
        cursor: the cursor for the statement whose rows are wanted.
        beside: another cursor, for the statements before and after it.
        before: the statement before it.
        text: the statement.
        values: its values.
        after: the statement after it.
    """
    failed: Exception | None = None
    try:
        with raw.pipeline():
            try:
                beside.execute(before)
                cursor.execute(text, values)
                # The server skips it if the read fails, and psycopg would take it for prepared.
                beside.execute(after, prepare=False)
            except Exception as error:  # which psycopg would raise again at the end, and so log
                failed = error
    except Exception as error:
        raise failed or error from None
    if failed is not None:
        raise failed
