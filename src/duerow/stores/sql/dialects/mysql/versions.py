"""Which of the two a server is, MySQL or MariaDB: an address may lead to either, so only a connection tells."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Dialect as SqlDialect

from duerow.stores.sql.dialects.mysql.mariadb import MariaDB
from duerow.stores.sql.dialects.mysql.mysql import MySQL

MARIADB: Final = MariaDB()
MYSQL: Final = MySQL()


def presumed(target: Any) -> MariaDB:
    """Return which one it is by a URL or an engine alone: what it is called there."""
    name = (
        target.partition("://")[0] if isinstance(target, str) else "mariadb" if target.dialect.is_mariadb else "mysql"
    )
    return MARIADB if name.startswith("mariadb") else MYSQL


def met(driver: SqlDialect, raw: Any) -> MariaDB:
    """Return which one a connection leads to.

    Args:
        driver: SQLAlchemy's dialect of an engine, which has asked the server itself once it was connected.
        raw: the driver's connection, which was greeted with a version, by a proxy if there is one between.
    """
    asked: Any = driver
    if asked.server_version_info is not None:
        return MARIADB if asked.is_mariadb else MYSQL
    return MARIADB if "mariadb" in str(raw.get_server_info()).lower() else MYSQL
