"""Sending several statements to PostgreSQL before the first is answered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

from duerow.stores.sql.connections.psycopg_cursors import is_psycopgs
from duerow.stores.sql.dialects.postgresql.array_values import ArrayValue

IN_FLIGHT: Final = 4 << 20
"""How many characters several statements may have until they are answered, which limits the memory for them."""


async def send_in_one_go(raw: Any, cursor: Any, beside: Any, before: str, text: str, values: Any, after: str) -> None:
    """Run three statements through psycopg in one round trip, and in one transaction unless one is open.

    Args:
        raw: psycopg's connection.
        cursor: the cursor for the main statement, which returns rows.
        beside: another cursor, for the statements before and after it.
        before: the statement before the main one.
        text: the main statement.
        values: the main statement's values.
        after: the statement after the main one.
    """
    failed: Exception | None = None
    try:
        async with raw.pipeline():
            try:
                await beside.execute(before)
                await cursor.execute(text, values)
                # The server skips this statement if the read fails, but psycopg would consider it prepared.
                await beside.execute(after, prepare=False)
            except Exception as error:  # psycopg would raise it again, and log it, when the pipeline ends
                failed = error
    except Exception as error:
        raise failed or error from None
    if failed is not None:
        raise failed


async def send_all(raw: Any, cursor: Callable[[], Any], statements: AsyncIterator[tuple[str, Any]]) -> list[list[Any]]:
    """Run statements through psycopg, preparing each while the previous one runs; return their rows.

    Args:
        raw: psycopg's connection, in a transaction.
        cursor: makes a cursor.
        statements: their texts and values.
    """
    answers: list[list[Any]] = []
    sent: list[Any] = []
    in_flight = 0
    failed: Exception | None = None
    try:
        async with raw.pipeline():
            try:
                async for text, values in statements:
                    size = _size(text, values)
                    if len(sent) > 1 and in_flight + size > IN_FLIGHT:  # psycopg reads the answers to all of them
                        answers += [await one.fetchall() for one in sent]
                        sent.clear()
                        in_flight = 0
                    in_flight += size
                    sent.append(cursor())
                    await sent[-1].execute(text, values)
                answers += [await one.fetchall() for one in sent]
            except Exception as error:  # psycopg would raise it again, and log it, when the pipeline ends
                failed = error
    except Exception as error:
        failed = failed or error
    if failed is not None:
        if is_psycopgs(failed):  # the server skipped later statements, which psycopg may consider prepared
            await raw.close()
        raise failed
    return answers


def _size(text: str, values: Mapping[str, Any]) -> int:
    """Return the number of characters of a statement and its values, which are arrays for many messages."""
    return len(text) + sum(
        value.size if isinstance(value, ArrayValue) else len(value)
        for value in values.values()
        if isinstance(value, ArrayValue | str)
    )


async def send_together(raw: Any, cursor: Callable[[], Any], statements: AsyncIterator[tuple[str, Any]]) -> list[Any]:
    """Run a few statements through psycopg in one round trip, and in one transaction; return their cursors.

    Args:
        raw: psycopg's connection, with no open transaction.
        cursor: makes a cursor.
        statements: their texts and values.
    """
    sent: list[Any] = []
    failed: Exception | None = None
    try:
        async with raw.pipeline():
            try:
                async for text, values in statements:
                    sent.append(cursor())
                    await sent[-1].execute(text, values)
            except Exception as error:  # psycopg would raise it again, and log it, when the pipeline ends
                failed = error
                await raw.close()  # otherwise the end of the pipeline would commit what was sent
    except Exception as error:
        failed = failed or error
    if failed is not None:
        if is_psycopgs(failed):  # see `send_all`
            await raw.close()
        raise failed
    return sent
