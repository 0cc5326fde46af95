"""What a caller may give as `within=`: which connection it is, and whether a transaction can be open on it."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from duerow.errors import ConfigurationError

DATABASES: Final = {
    **{"sqlite3": "sqlite", "aiosqlite": "sqlite"},
    **{"psycopg": "postgresql", "psycopg2": "postgresql"},
    **{"pymysql": "mysql", "asyncmy": "mysql"},
}
"""The database of each driver whose own connections can be joined."""

IN_TRANSACTION: Final = 1
"""The flag in the status of MariaDB's protocol that says that a transaction is open."""


def driver_of(connection: Any) -> str:
    """Return the name of the module that a connection comes from, also if its class was derived."""
    for kind in type(connection).__mro__:
        module = kind.__module__.partition(".")[0]
        if module in DATABASES:
            return module
    return type(connection).__module__.partition(".")[0]


def not_ours(within: Any, database: str, face: str) -> ConfigurationError:
    """Return the error for something that is no connection of this database and face."""
    kind = f"{type(within).__module__}.{type(within).__qualname__}"
    return ConfigurationError(
        f"within= is of type {kind}; here, on the {face} face over {database}, it must be an SQLAlchemy connection or "
        "session, Django's connection or a driver's own connection, of that database and face"
    )


def no_transaction(why: str) -> ConfigurationError:
    """Return the error for a connection without a transaction to join."""
    return ConfigurationError(f"within= needs an open transaction, but {why}: begin one first, or leave within= out")


def unwrapped(within: Any) -> Any:
    """Return the driver's connection of Django's wrapper; anything else as it is."""
    if hasattr(within, "ensure_connection") and hasattr(within, "in_atomic_block"):
        if not within.in_atomic_block:
            raise no_transaction("Django's connection is not inside transaction.atomic()")
        within.ensure_connection()
        return within.connection
    return within


def check_open(raw: Any) -> None:
    """Raise ConfigurationError if a driver's connection would commit each statement by itself."""
    if commits_alone(raw):
        raise no_transaction("the connection commits each statement by itself")


def commits_alone(raw: Any) -> bool:
    """Return whether a driver's connection is in autocommit mode and has no transaction open in spite of it."""
    driver = driver_of(raw)
    raw = getattr(raw, "_conn", raw) if driver == "aiosqlite" else raw
    if isinstance(raw, sqlite3.Connection):
        alone = raw.isolation_level is None or getattr(raw, "autocommit", None) is True
        return alone and not raw.in_transaction
    if driver in ("psycopg", "psycopg2"):
        return bool(raw.autocommit) and int(raw.info.transaction_status) == 0  # libpq's idle
    if driver in ("pymysql", "asyncmy"):
        return bool(raw.get_autocommit()) and not raw.server_status & IN_TRANSACTION
    return False


def check_begun(pooled: Any) -> None:
    """Raise ConfigurationError if SQLAlchemy's connection would commit each statement by itself.

    Its own begin() is no proof: with isolation_level="AUTOCOMMIT" it begins nothing, and its rollback() undoes nothing.

    Args:
        pooled: what SQLAlchemy has of the pool, which knows the driver's connection.
    """
    raw = pooled.driver_connection
    alone = commits_alone(raw)
    if driver_of(raw) == "asyncpg":  # it has no such mode itself: SQLAlchemy begins for it, or does not
        alone = getattr(pooled.dbapi_connection, "autocommit", False) is True and not raw.is_in_transaction()
    if alone:
        raise no_transaction("the SQLAlchemy connection commits each statement by itself")
