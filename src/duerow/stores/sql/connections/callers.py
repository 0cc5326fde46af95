"""Connections that a caller can pass as `within=`: their drivers, and whether a transaction can be open."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from duerow.errors import ConfigurationError


@dataclass(frozen=True)
class Caller:
    """A driver whose connections can be passed as `within=`.

    Attributes:
        name: SQLAlchemy's name for the database and the driver, as in the scheme of a URL.
        commits_alone: returns whether a connection is in autocommit mode and has no open transaction.
        awaited: whether all its connections are async; otherwise only classes named `Async…` are.
    """

    name: str
    commits_alone: Callable[[Any], bool]
    awaited: bool = False


Callers = Mapping[str, Caller]
"""Drivers by the modules that define their connections."""


def driver_of(connection: Any, callers: Callers) -> str:
    """Return the name of the driver's module, even for a subclass of its connection."""
    for kind in type(connection).__mro__:
        module = kind.__module__.partition(".")[0]
        if module in callers:
            return module
    return type(connection).__module__.partition(".")[0]


def caller_of(within: Any, callers: Callers, awaited: bool) -> str | None:
    """Return the driver of a connection if the face can join its transaction; otherwise None."""
    driver = driver_of(within, callers)
    if driver not in callers or not hasattr(within, "cursor"):
        return None
    is_awaited = callers[driver].awaited or type(within).__name__.startswith("Async")
    return driver if is_awaited == awaited else None


def not_ours(within: Any, callers: Callers, database: str, face: str) -> ConfigurationError:
    """Return the error for anything but a connection to this database on this face."""
    kind = f"{type(within).__module__}.{type(within).__qualname__}"
    drivers = " or ".join(callers)
    return ConfigurationError(
        f"within= is of type {kind}; here, on the {face} face over {database}, it must be an SQLAlchemy connection or "
        f"session, Django's connection or a connection of {drivers}, of that database and face"
    )


def no_transaction(why: str) -> ConfigurationError:
    """Return the error for a connection without a transaction to join."""
    return ConfigurationError(f"within= needs an open transaction, but {why}: begin one first, or leave within= out")


def session_of(within: Any) -> Any:
    """Return the current session of a scoped session, such as Flask-SQLAlchemy's; anything else unchanged."""
    for module, name in (("sqlalchemy.orm", "scoped_session"), ("sqlalchemy.ext.asyncio", "async_scoped_session")):
        kind = getattr(sys.modules.get(module), name, None)  # it can only be one if its module has been imported
        if kind is not None and isinstance(within, kind):
            return within()
    return within


def no_engine() -> ConfigurationError:
    """Return the error for a session that only has engines for individual models."""
    return ConfigurationError(
        "the session given as within= has an engine for each model and none for all, so it does not say which "
        "transaction is meant; give that: within=session.connection(bind_arguments={'mapper': YourModel})"
    )


def unwrapped(within: Any) -> Any:
    """Return the driver's connection in Django's wrapper; anything else unchanged."""
    if hasattr(within, "ensure_connection") and hasattr(within, "in_atomic_block"):
        if not within.in_atomic_block:
            raise no_transaction("Django's connection is not inside transaction.atomic()")
        within.ensure_connection()
        return within.connection
    return within


def check_open(raw: Any, caller: Caller) -> None:
    """Raise ConfigurationError if a driver's connection is in autocommit mode."""
    if caller.commits_alone(raw):
        raise no_transaction("the connection is in autocommit mode")


def check_begun(pooled: Any, callers: Callers) -> None:
    """Raise ConfigurationError if an SQLAlchemy connection is in autocommit mode.

    A call of its begin() proves nothing: with isolation_level="AUTOCOMMIT", begin() and rollback() have no effect.

    Args:
        pooled: SQLAlchemy's pooled connection, which refers to the driver's connection.
        callers: the drivers of this database.
    """
    raw = pooled.driver_connection
    caller = callers.get(driver_of(raw, callers))
    alone = caller is not None and caller.commits_alone(raw)
    if driver_of(raw, callers) == "asyncpg":  # asyncpg has no autocommit mode: SQLAlchemy emulates it
        alone = getattr(pooled.dbapi_connection, "autocommit", False) is True and not raw.is_in_transaction()
    if alone:
        raise no_transaction("the SQLAlchemy connection is in autocommit mode")
