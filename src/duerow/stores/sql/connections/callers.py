"""Connections that a caller may pass as `within=`: their drivers, and whether a transaction can be open."""

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
        name: SQLAlchemy's name of the database and the driver, as in the scheme of a URL.
        commits_alone: whether a connection is in autocommit mode and has no transaction open either.
        awaited: whether all its connections are awaited; otherwise only those of classes named `Async…`.
    """

    name: str
    commits_alone: Callable[[Any], bool]
    awaited: bool = False


Callers = Mapping[str, Caller]
"""Drivers by the modules that their connections come from."""


def driver_of(connection: Any, callers: Callers) -> str:
    """Return the name of the driver's module, even for a subclass of its connection."""
    for kind in type(connection).__mro__:
        module = kind.__module__.partition(".")[0]
        if module in callers:
            return module
    return type(connection).__module__.partition(".")[0]


def caller_of(within: Any, callers: Callers, awaited: bool) -> str | None:
    """Return the driver of a connection that a face can join; None if it cannot."""
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
        kind = getattr(sys.modules.get(module), name, None)  # it can only be one if somebody has imported that
        if kind is not None and isinstance(within, kind):
            return within()
    return within


def no_engine() -> ConfigurationError:
    """Return the error for a session that has engines only for single models."""
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

    Its own begin() is no proof: with isolation_level="AUTOCOMMIT" it begins nothing, and its rollback() undoes nothing.

    Args:
        pooled: what SQLAlchemy has of the pool, which knows the driver's connection.
        callers: the drivers of this database.
    """
    raw = pooled.driver_connection
    caller = callers.get(driver_of(raw, callers))
    alone = caller is not None and caller.commits_alone(raw)
    if driver_of(raw, callers) == "asyncpg":  # it has no such mode itself: SQLAlchemy begins for it, or does not
        alone = getattr(pooled.dbapi_connection, "autocommit", False) is True and not raw.is_in_transaction()
    if alone:
        raise no_transaction("the SQLAlchemy connection is in autocommit mode")
