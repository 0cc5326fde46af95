"""Translates drivers' errors into duerow's, by error code and never by message text."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from duerow.errors import ConfigurationError, Conflict, DuerowError, QueryTimeout, StoreRefused, StoreUnavailable
from duerow.plan import BEGIN
from duerow.stores.sql.dialects.base import Dialect


def explained(
    dialect: Dialect, error: BaseException, unsure: bool = False, in_line: bool = False
) -> DuerowError | None:
    """Return duerow's error for a driver's error in a step, a commit or a connect; None for any other error.

    Args:
        dialect: the dialect, which knows the codes.
        error: the error that was raised.
        unsure: whether the step may have taken effect although no answer arrived.
        in_line: whether the error came from a step, which may have waited for the database's only writer.
    """
    if isinstance(error, DuerowError):
        return error
    if isinstance(error, PoolTimeout):
        return StoreUnavailable(f"no connection of the pool became free: {error}")
    inner = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    if isinstance(inner, OSError):  # a driver may let its socket's errors through unwrapped
        return StoreUnavailable(f"the database cannot be reached: {inner}", "unknown" if unsure else "none")
    found = (dialect.outwaited(inner) if in_line else None) or dialect.explain(inner)
    if found is not None and unsure and is_lost(found):
        found.outcome = "unknown"  # type: ignore[attr-defined]
    return found


def overran(dialect: Dialect, limit: timedelta | None, step: Any, error: BaseException) -> DuerowError | None:
    """Return the error of a read that exceeded its time limit; None for any other error."""
    if limit is None or step is BEGIN or not step.statement.bounded:
        return None
    inner = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return QueryTimeout(limit) if dialect.ran_out_of_time(inner) else None


def of_step(
    dialect: Dialect, limit: timedelta | None, step: Any, error: BaseException, begun: bool
) -> DuerowError | None:
    """Return duerow's error for a driver's error in a step on duerow's own connection; None for any other error.

    A step that failed inside a transaction that had `begun` was not committed. A step outside a transaction may
    have been.
    """
    known = overran(dialect, limit, step, error)
    return known or explained(dialect, error, unsure=not begun, in_line=True)


def milliseconds(limit: timedelta) -> int:
    """Return a time limit in milliseconds."""
    return limit // timedelta(milliseconds=1)


def unconnected(dialect: Dialect, error: BaseException) -> DuerowError | None:
    """Return duerow's error for a failed connect; if the driver rejects a value here, it comes from the URL."""
    if isinstance(error, TypeError | AttributeError | ValueError):  # drivers written in Python reject a URL this way
        return ConfigurationError(f"cannot connect with this URL, {type(error).__name__}: {error}")
    known = explained(dialect, error)
    return ConfigurationError(f"cannot connect with this URL: {known}") if isinstance(known, StoreRefused) else known


def unusable(dialect: Dialect, error: Exception) -> DuerowError:
    """Return duerow's error for a caller's connection that failed before its first use."""
    known = explained(dialect, error)
    if isinstance(known, ConfigurationError | StoreUnavailable):
        return known
    return ConfigurationError(
        f"within= cannot be used, {type(error).__name__}: {error}; give an open connection of this thread, in a "
        "transaction"
    )


def is_lost(error: BaseException | None) -> bool:
    """Return whether the connection can no longer be used."""
    return isinstance(error, StoreUnavailable) and not isinstance(error, Conflict)
