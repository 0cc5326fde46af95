"""What the async face uses of SQLAlchemy's ORM, under names that both faces share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from inspect import isawaitable
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection as CallersConnection
from sqlalchemy.ext.asyncio import AsyncEngine as Engine
from sqlalchemy.ext.asyncio import AsyncSession as Session
from sqlalchemy.orm import Session as BlockingSession

from duerow.clock import Clock
from duerow.entity.backend import backend_of
from duerow.errors import ConfigurationError, InvalidOutcome, shown
from duerow.store import AsyncConnections, Store
from duerow.stores.sql.entities.columns import StateTable

__all__ = [
    "BlockingSession",
    "CallersConnection",
    "Engine",
    "OnDone",
    "Session",
    "SessionBlock",
    "Work",
    "called",
    "looked",
    "open_entities",
    "read_in",
]

T = TypeVar("T")

OnDone = Literal["keep", "delete"] | Callable[[Any, Session], Awaitable[Any]]
"""What happens to a row that is done; a function is called with the row and a session."""

Work = Callable[[Session], Awaitable[T]]
"""Work in a session that is committed afterward."""

SessionBlock = AbstractAsyncContextManager[Session]
"""A session for the length of a block."""


def open_entities(
    engine: object, state: StateTable, deletes: bool, clock: Clock | None
) -> tuple[Store, AsyncConnections]:
    """Open the queue of a state with the user's engine; raise ConfigurationError if it is not an AsyncEngine."""
    if not isinstance(engine, Engine):
        raise ConfigurationError(
            f"duerow.aio.entity.EntityQueue takes an AsyncEngine, not {shown(engine)}; for an Engine use "
            "duerow.entity.EntityQueue"
        )
    return backend_of(engine).aopen_entities(engine, state, deletes, clock)


async def called(function: Callable[..., Any], *subject: Any) -> Any:
    """Call a user's function and await the result; raise InvalidOutcome if it cannot be awaited."""
    outcome = function(*subject)
    if not isawaitable(outcome):
        raise InvalidOutcome(
            f"{shown(function)} returned {shown(outcome)}, which cannot be awaited; for plain functions use "
            "duerow.entity.EntityQueue and duerow.Worker"
        )
    return await outcome


async def looked(session: Session, look: Callable[[Connection], T]) -> T:
    """Return the result of a function that takes SQLAlchemy's blocking connection."""
    return await (await session.connection()).run_sync(look)


async def read_in(session: Session, read: Callable[[BlockingSession], T]) -> T:
    """Return the result of a function that takes SQLAlchemy's blocking session."""
    return await session.run_sync(read)
