"""How a MariaDB server is connected to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, event

from duerow.stores.sql import Family
from duerow.stores.sql.dialects.mysql import MySQL
from duerow.stores.sql.dialects.mysql_connections import MySQLConnections
from duerow.stores.sql.engines import Driving, Settings

if TYPE_CHECKING:
    from duerow.stores.sql.awaited import AwaitedConnections


def _prepare(engine: Engine, settings: Settings) -> None:
    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")  # which locks no gaps
        # No text is cut, and a backslash is what a pattern says it is.
        modes = "CONCAT(REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), ',STRICT_TRANS_TABLES')"
        cursor.execute(f"SET SESSION sql_mode = {modes}")
        cursor.close()


class MySQLFamily(Family):
    """Opens stores on MariaDB."""

    blocking = MySQLConnections

    def _awaited(self) -> type[AwaitedConnections]:
        from duerow.stores.sql.dialects.mysql_awaited import AwaitedMySQLConnections

        return AwaitedMySQLConnections


mysql = MySQLFamily(
    MySQL(), Driving(blocking="mysql+pymysql", awaited="mysql+asyncmy", extra=("mysql", "mysql"), prepare=_prepare)
)
