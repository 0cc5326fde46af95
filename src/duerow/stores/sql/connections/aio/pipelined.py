"""Several statements sent to PostgreSQL before the answer to the first has come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from duerow.stores.sql.connections.psycopg_cursors import is_psycopgs

IN_FLIGHT: Final = 8
"""How many statements may be without an answer, which bounds what waits in memory to be sent."""


async def send_in_one_go(raw: Any, cursor: Any, beside: Any, before: str, text: str, values: Any, after: str) -> None:
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
        async with raw.pipeline():
            try:
                await beside.execute(before)
                await cursor.execute(text, values)
                # The server skips it if the read fails, and psycopg would take it for prepared.
                await beside.execute(after, prepare=False)
            except Exception as error:  # which psycopg would raise again at the end, and so log
                failed = error
    except Exception as error:
        raise failed or error from None
    if failed is not None:
        raise failed


async def send_all(raw: Any, cursor: Callable[[], Any], statements: AsyncIterator[tuple[str, Any]]) -> list[list[Any]]:
    """Run statements through psycopg, each while the next is made; return their rows.

    Args:
        raw: psycopg's connection, in a transaction.
        cursor: makes a cursor.
        statements: their texts and values.
    """
    answers: list[list[Any]] = []
    sent: list[Any] = []
    failed: Exception | None = None
    try:
        async with raw.pipeline():
            try:
                async for text, values in statements:
                    if len(sent) == IN_FLIGHT:
                        answers += [await one.fetchall() for one in sent]
                        sent.clear()
                    sent.append(cursor())
                    await sent[-1].execute(text, values)
                answers += [await one.fetchall() for one in sent]
            except Exception as error:  # which psycopg would raise again at the end, and so log
                failed = error
    except Exception as error:
        failed = failed or error
    if failed is not None:
        if is_psycopgs(failed):  # the server skipped what came after it, and psycopg may take that for prepared
            await raw.close()
        raise failed
    return answers
