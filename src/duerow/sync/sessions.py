# Generated from ../aio/sessions.py by tools/generate_sync.py; edit that file instead.
"""Sessions on the user's engine, or in the caller's transaction."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from duerow.errors import ConfigurationError, shown
from duerow.stores.sql.connections.callers import session_of
from duerow.sync.orm import CallersConnection, Engine, Session, SessionBlock


def engine_here(connections: Any) -> Engine:
    """Return the engine for the running loop, or the only engine if there are no loops."""
    engine: Engine = connections.here()
    return engine


def new_session(connections: Any) -> Session:
    """Return a session on the engine of the running loop; loaded objects stay readable after a commit."""
    return Session(engine_here(connections), expire_on_commit=False)


def first_read_alone(session: Session) -> None:
    """Let a session read without a transaction until its first commit, which saves two round trips."""
    if session.get_bind().dialect.name != "sqlite":  # there, reading begins no transaction
        session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})


def session_within(within: Any) -> SessionBlock:
    """Return a session in a transaction that the caller ends: the caller's own, or one on the caller's connection.

    Raises:
        ConfigurationError: `within` is neither.
    """
    within = session_of(within)
    if isinstance(within, Session):
        return nullcontext(within)
    if isinstance(within, CallersConnection):
        return Session(bind=within, expire_on_commit=False)
    raise ConfigurationError(
        "a queue whose on_done is a function calls it with a session, so within= must be SQLAlchemy's connection or "
        f"session, of this API, not {shown(within)}"
    )
