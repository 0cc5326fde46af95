"""What the blocking face uses of SQLAlchemy's ORM, under names that both faces share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.orm import Session
from sqlalchemy.orm import Session as BlockingSession

from duerow.clock import Clock
from duerow.entity.backend import backend_of
from duerow.errors import ConfigurationError, shown
from duerow.store import Connections, Store
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

CallersConnection = Connection

OnDone = Literal["keep", "delete"] | Callable[[Any, Session], Any]
"""What happens to a row that is done; a function is called with the row and a session."""

Work = Callable[[Session], T]
"""Work in a session that is committed afterward."""

SessionBlock = AbstractContextManager[Session]
"""A session for the length of a block."""


def open_entities(engine: object, state: StateTable, deletes: bool, clock: Clock | None) -> tuple[Store, Connections]:
    """Open the queue of a state with the user's engine; raise ConfigurationError if it is not an Engine."""
    if not isinstance(engine, Engine):
        raise ConfigurationError(
            f"duerow.entity.EntityQueue takes an Engine, not {shown(engine)}; for an AsyncEngine use "
            "duerow.aio.entity.EntityQueue"
        )
    return backend_of(engine).open_entities(engine, state, deletes, clock)


def called(function: Callable[..., Any], *subject: Any) -> Any:
    """Call a user's function."""
    return function(*subject)


def looked(session: Session, look: Callable[[Connection], T]) -> T:
    """Return the result of a function that takes the session's connection."""
    return look(session.connection())


def read_in(session: Session, read: Callable[[BlockingSession], T]) -> T:
    """Return the result of a function that takes the session."""
    return read(session)
