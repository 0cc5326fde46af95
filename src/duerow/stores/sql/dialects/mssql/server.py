"""Requirements for an SQL Server, its database and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Integer, Table, TableClause, Text, column, func, literal, literal_column, or_, select
from sqlalchemy.sql.base import Executable

from duerow.errors import ConfigurationError
from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.dialects.base.schema import Schema
from duerow.stores.sql.dialects.base.server import Server, asked

OLDEST: Final = 15
"""SQL Server 2019, the first version with UTF-8 collations. Azure's services count as later versions."""

AZURE: Final = frozenset((5, 8))
"""The engine editions of Azure's services, whose version numbers are meaningless."""


class TsqlServer(Server, Schema):
    """Requirements for an SQL Server, its database and its tables."""

    def identity(self, table: Table) -> Executable:
        """Query the database, its server, the database's id on it, and the table that the name resolves to."""
        broker = "(SELECT service_broker_guid FROM sys.databases WHERE database_id = DB_ID())"
        return asked(
            literal_column("DB_NAME()"),
            literal_column("CAST(SERVERPROPERTY('ServerName') AS NVARCHAR(256))"),
            literal_column(f"CAST({broker} AS NVARCHAR(36))"),
            func.object_id(literal(self.named(table), Text()), literal_column("N'U'"), type_=Integer()),
        )

    def server(self) -> Executable:
        """Query the version, the edition, and the settings that JSON and plain reads depend on."""
        asked = {
            "version": "CAST(SERVERPROPERTY('ProductMajorVersion') AS INT)",
            "edition": "CAST(SERVERPROPERTY('EngineEdition') AS INT)",
            "level": "(SELECT compatibility_level FROM sys.databases WHERE database_id = DB_ID())",
            "versioned": "(SELECT is_read_committed_snapshot_on FROM sys.databases WHERE database_id = DB_ID())",
        }
        return select(*(literal_column(written).label(name) for name, written in asked.items()))

    def check_server(self, row: Sequence[Any]) -> None:
        """Raise unless it is SQL Server 2019 or later, or Azure's, with OPENJSON, and reads do not wait for writers."""
        version, edition, level, versioned = row
        if edition not in AZURE and (version or 0) < OLDEST:
            raise ConfigurationError(
                f"this server is SQL Server of version {version}; duerow needs 15 (2019) or later, for UTF-8"
            )
        if level < 130:
            raise ConfigurationError(
                f"this database has compatibility level {level}, which has no OPENJSON; ALTER DATABASE CURRENT SET "
                "COMPATIBILITY_LEVEL = 150, or any from 130 on"
            )
        if not versioned:
            raise ConfigurationError(
                "reads block on writers in this database, so an open transaction that pushed would block consumers: "
                "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON"
            )

    def unfit(self, tables: Sequence[Table], ours: bool) -> Executable | None:
        """Query the triggers of a user's table: if it has any, statements that change it cannot return rows."""
        if ours:
            return None
        names = ("name", "parent_id", "is_disabled")
        trigger = TableClause("triggers", *(column(name) for name in names), schema="sys")
        of_them = [
            trigger.c.parent_id == func.object_id(literal(self.named(table), Text()), type_=Integer())
            for table in tables
        ]
        return select(trigger.c.name).where(or_(*of_them), trigger.c.is_disabled == const(0))

    def check_tables(self, rows: Sequence[Sequence[Any]]) -> None:
        """Raise if there are any triggers."""
        for (name,) in rows:
            raise ConfigurationError(
                f"the table has the trigger {name}, and SQL Server returns no rows from a statement that changes a "
                "table with a trigger: its rows cannot be claimed; push messages to a queue of duerow's own tables "
                "instead"
            )
