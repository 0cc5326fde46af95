"""From a driver's error to duerow's: by code, never by message text."""

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
    """Return duerow's error for one that a step, a commit or a connect raised; None if it is no driver's.

    Args:
        dialect: whose codes to read.
        error: what was raised.
        unsure: whether the step may have been carried out although its answer did not arrive.
        in_line: whether it was a step, for which a database that lets one transaction write at a time waits its turn.
    """
    if isinstance(error, DuerowError):
        return error
    if isinstance(error, PoolTimeout):
        return StoreUnavailable(f"no connection became free: {error}")
    inner = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    if isinstance(inner, OSError):  # a driver need not wrap what its socket says
        return StoreUnavailable(f"the database cannot be reached: {inner}", "unknown" if unsure else "none")
    found = (dialect.outwaited(inner) if in_line else None) or dialect.explain(inner)
    if found is not None and unsure and is_lost(found):
        found.outcome = "unknown"  # type: ignore[attr-defined]
    return found


def overran(dialect: Dialect, limit: timedelta | None, step: Any, error: BaseException) -> DuerowError | None:
    """Return the error of a read that took longer than its limit; None: what was raised is another one."""
    if limit is None or step is BEGIN or not step.statement.bounded:
        return None
    inner = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return QueryTimeout(limit) if dialect.ran_out_of_time(inner) else None


def milliseconds(limit: timedelta) -> int:
    """Return a limit as databases are told it."""
    return limit // timedelta(milliseconds=1)


def unconnected(dialect: Dialect, error: BaseException) -> DuerowError | None:
    """Return duerow's error for one that connecting raised; what the driver refuses then is in the URL."""
    if isinstance(error, TypeError | AttributeError | ValueError):  # how a driver that is written in Python refuses one
        return ConfigurationError(f"cannot connect as the URL says, {type(error).__name__}: {error}")
    known = explained(dialect, error)
    return ConfigurationError(f"cannot connect as the URL says: {known}") if isinstance(known, StoreRefused) else known


def unusable(dialect: Dialect, error: Exception) -> DuerowError:
    """Return duerow's error for one that the caller's connection raised before anything was done on it."""
    known = explained(dialect, error)
    if isinstance(known, ConfigurationError | StoreUnavailable):
        return known
    return ConfigurationError(
        f"within= cannot be used, {type(error).__name__}: {error}; give an open connection of this thread, in a "
        "transaction"
    )


def is_lost(error: BaseException | None) -> bool:
    """Return whether the connection is of no more use."""
    return isinstance(error, StoreUnavailable) and not isinstance(error, Conflict)
