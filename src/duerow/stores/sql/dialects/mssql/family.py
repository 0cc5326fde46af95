"""How to connect to SQL Server."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, event

from duerow.store.backends import Naming
from duerow.stores.sql import Family
from duerow.stores.sql.connections.aio.connections import AwaitedConnections
from duerow.stores.sql.connections.engines import Drivers, Settings
from duerow.stores.sql.dialects.mssql.connections import AwaitedSqlServerConnections, SqlServerConnections
from duerow.stores.sql.dialects.mssql.dialect import LOCK_WAIT, SqlServer


def _prepare(engine: Engine, settings: Settings) -> None:
    """Make each connection wait for locks for a limited time, and end its transaction on any error."""

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        cursor.execute(
            f"SET NOCOUNT ON; SET XACT_ABORT ON; SET LOCK_TIMEOUT {LOCK_WAIT}; "
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"
        )
        cursor.close()


class SqlServerFamily(Family):
    """Opens stores on SQL Server."""

    blocking = SqlServerConnections

    def _awaited(self) -> type[AwaitedConnections]:
        return AwaitedSqlServerConnections


mssql = SqlServerFamily(
    SqlServer(),
    Drivers(
        blocking="mssql+pyodbc",
        awaited="mssql+aioodbc",
        extra=("mssql", "mssql"),
        prepare=_prepare,
        query={"driver": "ODBC Driver 18 for SQL Server"},
        needs="unixODBC and Microsoft's ODBC Driver 18 for SQL Server on this machine",
        naming=Naming("mssql", 1433, "dbo"),
    ),
)
