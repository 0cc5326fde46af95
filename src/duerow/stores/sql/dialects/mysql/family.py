"""How to connect to a MySQL or MariaDB server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, event

from duerow.store.backends import Naming
from duerow.stores.sql import Family
from duerow.stores.sql.connections.engines import Drivers, Settings
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.dialects.mysql import diagnosis
from duerow.stores.sql.dialects.mysql.sync import MySQLConnections
from duerow.stores.sql.dialects.mysql.versions import MARIADB, presumed

if TYPE_CHECKING:
    from duerow.stores.sql.connections.aio.connections import AwaitedConnections


def _prepare(engine: Engine, settings: Settings) -> None:
    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")  # this level locks no gaps
        # Text is never truncated, and a backslash in a pattern is an escape character.
        modes = "CONCAT(REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), ',STRICT_TRANS_TABLES')"
        cursor.execute(f"SET SESSION sql_mode = {modes}")
        cursor.close()


class MySQLFamily(Family):
    """Opens stores on MySQL and MariaDB."""

    blocking = MySQLConnections

    def dialect_for(self, target: Any) -> Dialect:
        """Return the dialect that the URL names; `detect_server` corrects it once connected."""
        return presumed(target)

    def _awaited(self) -> type[AwaitedConnections]:
        from duerow.stores.sql.dialects.mysql.aio import AwaitedMySQLConnections

        return AwaitedMySQLConnections


mysql = MySQLFamily(
    MARIADB,
    Drivers(
        blocking="mysql+pymysql",
        awaited="mysql+asyncmy",
        extra=("mysql", "mysql"),
        prepare=_prepare,
        naming=Naming("mysql", 3306),
    ),
    diagnosis.CHECKS,
)
