"""What the awaited face uses of SQLAlchemy's ORM, under the names that both faces have for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from inspect import isawaitable
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.ext.asyncio import AsyncEngine as Engine
from sqlalchemy.ext.asyncio import AsyncSession as Session

from duerow.clock import Clock
from duerow.entity.opening import backend_of
from duerow.errors import ConfigurationError, InvalidOutcome
from duerow.store import AsyncConnections, Store
from duerow.stores.sql.connections.callers import session_of
from duerow.stores.sql.entities.columns import StateTable

__all__ = [
    "Engine",
    "OnDone",
    "Session",
    "Work",
    "called",
    "engine_here",
    "first_read_alone",
    "looked",
    "new_session",
    "open_entities",
    "session_within",
]


T = TypeVar("T")

OnDone = Literal["keep", "delete"] | Callable[[Any, Session], Awaitable[Any]]
"""What becomes of a row that is done; a function is called with it and a session."""


Work = Callable[[Session], Awaitable[T]]
"""What is done in a session that is committed afterwards."""


def open_entities(
    engine: object, state: StateTable, deletes: bool, clock: Clock | None
) -> tuple[Store, AsyncConnections]:
    """Open the queue of a state by the user's engine; raise ConfigurationError if it is no AsyncEngine."""
    if not isinstance(engine, Engine):
        raise ConfigurationError(
            f"duerow.aio.entity.EntityQueue takes an AsyncEngine of yours, not {engine!r:.120}; an Engine goes with "
            "duerow.entity.EntityQueue"
        )
    return backend_of(engine).aopen_entities(engine, state, deletes, clock)


def engine_here(connections: Any) -> Engine:
    """Return the engine for the running loop, or the only one where there is none."""
    engine: Engine = connections.here()
    return engine


def new_session(connections: Any) -> Session:
    """Return a session on the engine of the running loop; what it has loaded stays readable after a commit."""
    return Session(engine_here(connections), expire_on_commit=False)


async def first_read_alone(session: Session) -> None:
    """Have what a session reads until its first commit need no transaction, which takes two more round trips."""
    if session.get_bind().dialect.name != "sqlite":  # there a read begins none
        await session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})


def session_within(within: Any) -> AbstractAsyncContextManager[Session]:
    """Return a session in a transaction that the caller ends: the caller's own, or one on the caller's connection.

    Raises:
        ConfigurationError: it is neither.
    """
    within = session_of(within)
    if isinstance(within, Session):
        return nullcontext(within)
    if isinstance(within, AsyncConnection):
        return Session(bind=within, expire_on_commit=False)
    raise ConfigurationError(
        "a queue whose on_done is a function calls it with a session, so within= must be SQLAlchemy's connection or "
        f"session, of this face, not {within!r:.80}"
    )


async def called(function: Callable[..., Any], *subject: Any) -> Any:
    """Await a function of the user's; raise InvalidOutcome if there is nothing to be awaited."""
    outcome = function(*subject)
    if not isawaitable(outcome):
        raise InvalidOutcome(
            f"{function!r:.120} returned {outcome!r:.80}, which cannot be awaited; plain functions go with "
            "duerow.entity.EntityQueue and duerow.Worker"
        )
    return await outcome


async def looked(session: Session, look: Callable[[Connection], T]) -> T:
    """Return what a function sees that is given SQLAlchemy's blocking connection."""
    return await (await session.connection()).run_sync(look)
