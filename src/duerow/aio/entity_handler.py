"""Handle rows instead of messages: load each row in a session, and check the state in which the handler leaves it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from duerow.aio.entity_rows import EntityRows, is_left, load_all
from duerow.aio.orm import called
from duerow.aio.sessions import first_read_alone, session_within
from duerow.entity.handler import check_attempt, conclude, fails, is_ours
from duerow.message import Message
from duerow.settlement import LEFT


class RowHandler:
    """Handles a message by passing its row to the user's handler, in a session that is committed before the turn ends.

    Args:
        rows: the rows of the queue.
        handler: takes a row and its session.
    """

    def __init__(self, rows: EntityRows[Any], handler: Callable[..., Any]) -> None:
        self.rows, self.handler = rows, handler

    async def __call__(self, message: Message) -> Any:
        """Return how the turn ends."""
        rows = self.rows
        async with rows.session() as session:
            await first_read_alone(session)
            entity = await rows.row(session, message.id)
            if not is_ours(entity, rows.key, message):
                return LEFT
            await session.commit()  # keep no transaction open while the handler works elsewhere
            outcome = await called(self.handler, entity, session)
            if fails(outcome):
                return outcome
            check_attempt(message)
            await session.commit()
            return LEFT if await is_left(rows, entity, session, message) else outcome


class TransactionalRowHandler(RowHandler):
    """Like `RowHandler`, but in the transaction that ends the turn: the row is locked before the handler sees it."""

    async def __call__(self, message: Message, connection: Any) -> Any:  # type: ignore[override]
        """Return how the turn ends."""
        rows = self.rows
        async with session_within(connection) as session:
            entity = await rows.row(session, message.id, locked=True)
            if not is_ours(entity, rows.key, message):
                return LEFT
            outcome = await called(self.handler, entity, session)
            if fails(outcome):
                return outcome
            await session.flush()
            return LEFT if await is_left(rows, entity, session, message) else outcome


class RowBatchHandler(RowHandler):
    """Like `RowHandler`, but with the rows of a whole batch in one session."""

    async def __call__(self, messages: Sequence[Message]) -> Any:  # type: ignore[override]
        """Return how the turns end."""
        rows = self.rows
        async with rows.session() as session:
            found = await load_all(rows, session, messages)
            await session.commit()
            if not found:
                return [LEFT] * len(messages)
            outcome = await called(self.handler, list(found.values()), session)
            if fails(outcome):
                return conclude(messages, found, outcome, set())
            await session.commit()
            by_id = {message.id: message for message in messages}
            left = {id for id, entity in found.items() if await is_left(rows, entity, session, by_id[id])}
            return conclude(messages, found, outcome, left)
