"""Tells MySQL and MariaDB apart: an address can lead to either, so that takes a connection."""

from __future__ import annotations

from typing import Any, Final, Protocol

from sqlalchemy import Dialect as SqlDialect

from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.dialects.mysql.mariadb import MariaDB
from duerow.stores.sql.dialects.mysql.mysql import MySQL
from duerow.stores.sql.plans.context import Context

MARIADB: Final = MariaDB()
MYSQL: Final = MySQL()


def presumed(target: Any) -> MariaDB:
    """Return the dialect that a URL or an engine names, before there is a connection."""
    name = (
        target.partition("://")[0] if isinstance(target, str) else "mariadb" if target.dialect.is_mariadb else "mysql"
    )
    return MARIADB if name.startswith("mariadb") else MYSQL


def met(driver: SqlDialect, raw: Any) -> MariaDB:
    """Return the dialect of the server that a connection leads to.

    Args:
        driver: the SQLAlchemy dialect of an engine, which queries the server itself when it connects.
        raw: the driver's connection, which received a version when it connected, perhaps from a proxy.
    """
    asked: Any = driver
    if asked.server_version_info is not None:
        return MARIADB if asked.is_mariadb else MYSQL
    return MARIADB if "mariadb" in str(raw.get_server_info()).lower() else MYSQL


class SwitchableConnections(Protocol):
    """Connections whose statements can be written for either server."""

    engine: Any
    context: Context
    dialect: Dialect

    def begin_texts(self) -> None:
        """Write the statements in the store's current dialect."""


def adopt(connections: SwitchableConnections, raw: Any) -> None:
    """Make connections use the dialect of the server that a driver's connection leads to."""
    dialect = met(connections.engine.dialect, raw)
    if dialect is not connections.dialect:
        connections.context.speak(dialect)
        connections.dialect = dialect
        connections.begin_texts()
