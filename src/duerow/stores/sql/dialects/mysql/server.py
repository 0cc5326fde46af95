"""Requirements for a MySQL or MariaDB server and its tables, and the meaning of its errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Table,
    TableClause,
    column,
    func,
    literal_column,
    null,
    select,
    union_all,
)
from sqlalchemy.sql.base import Executable

from duerow.errors import ConfigurationError, Conflict, DuerowError, SchemaOutdated, StoreRefused, StoreUnavailable
from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.dialects.base.schema import Schema
from duerow.stores.sql.dialects.base.server import Server, asked

BYTEWISE: Final = "utf8mb4_nopad_bin"
"""Compares text byte for byte, trailing spaces included, and orders it by code points."""

OLDEST: Final = (10, 6)
"""The first version of MariaDB with SKIP LOCKED and JSON_TABLE."""

CONFLICTS: Final = {1205, 1213, 1062, 1020, 3572, 3101}
"""Lock timeout, deadlock, a duplicate key (only possible in a race), a row changed since it was read, and a
transaction that conflicts with one on another member of a group of servers."""

OF_ROW: Final = {
    *(1062, 1048, 1364, 1451, 1452, 1216, 1217, 3819, 4025, 1644, 1526, 1761),
    *(1264, 1265, 1292, 1366, 1367, 1406, 1411, 1690, 1118, 1071, 3140, 3141, 4038, 4078, 1301),
}
"""The row is rejected: a duplicate, NULL, a foreign key, a check, a trigger's SIGNAL, no matching partition; a value
that is out of range, of another kind, too long, or not JSON."""

UNAVAILABLE: Final = {
    *(2002, 2003, 2006, 2013, 2014, 2055, 1927, 1152, 1156, 1157, 1158, 1159, 1160, 1161, 1184),
    *(1040, 1041, 1053, 1203, 1226, 1290, 1836, 1021, 1114, 1317, 1969, 3024, 1028, 1030, 4031),
}
"""No connection, a lost one, or too many; a server that stops, is read-only, is out of memory or disk, or cancels."""

OUT_OF_TIME: Final = {1969, 3024}
"""The errors for a statement that exceeded its time limit, on MariaDB and on MySQL."""

_NO_TABLES: Final = {1146, 1054, 1176, 4091}
_FORBIDDEN: Final = {1044, 1045, 1142, 1143, 1227, 1370, 1698, 1251, 1130}
_NO_DATABASE: Final = 1049
_NONE_NAMED: Final = 1046

LEAST_PACKET: Final = 16 << 20
"""The size in bytes of the largest statement that is sent: 2 Mi characters, each up to 8 bytes when escaped."""

_IN_TRANSACTION: Final = 1
"""The protocol's status flag for an open transaction."""

_ALL_TEXT: Final = "utf8mb4"

_DUPLICATE: Final = 1062
_KEY: Final = re.compile(r"for key '([^']*)'$")
"""The end of the message about a duplicate key; the value precedes it."""

_NAMES_ONLY: Final = {
    *(CONFLICTS - {_DUPLICATE}),
    *UNAVAILABLE,
    *_NO_TABLES,
    *_FORBIDDEN,
    _NO_DATABASE,
    *(1048, 1118, 1153, 1180, 1264, 1364, 1406, 1451, 1452, 1792, 3819, 4025),
}
"""Errors whose text contains names, but no values of a row."""

_CLOSED: Final = 0
_TOO_LARGE: Final = 1153


_IDENTIFIED_BY: Final = (
    "COALESCE((SELECT NULLIF(NULLIF(variable_value, ''), '00000000-0000-0000-0000-000000000000')"
    " FROM information_schema.global_status WHERE variable_name = 'WSREP_CLUSTER_STATE_UUID'),"
    " CONCAT_WS(' ', @@hostname, @@port, @@datadir, @@server_id, @@pid_file))"
)
"""The servers of a cluster share one identity; any other server is identified by its host, port and data directory."""


class MySqlInstance(Server, Schema):
    """Requirements for a server and its tables, and the meaning of its errors.

    Attributes:
        product: the server's name in error messages.
        bytewise: the collation that compares text byte for byte.
        identified_by: the SQL expression that identifies the server.
    """

    product = "MariaDB"
    bytewise = BYTEWISE
    identified_by = _IDENTIFIED_BY

    def server(self) -> Executable:
        """Query the version, the settings that READ COMMITTED depends on, and the size of a packet."""
        asked = ("VERSION()", "@@log_bin", "@@binlog_format", "@@max_allowed_packet")
        return select(*(literal_column(each).label(f"asked_{number}") for number, each in enumerate(asked)))

    def check_server(self, row: Sequence[Any]) -> None:
        """Raise unless the server is recent enough, uses row-based logging, and accepts statements of duerow's size."""
        version, logs, log_format, packet = str(row[0]), row[1], str(row[2]), int(row[3])
        self.check_version(version)
        if logs and log_format.upper() == "STATEMENT":
            raise ConfigurationError(
                "this server has binlog_format=STATEMENT, with which InnoDB refuses writes at READ COMMITTED; "
                "set binlog_format to MIXED or ROW"
            )
        if packet < LEAST_PACKET:
            raise ConfigurationError(
                f"this server takes packets of at most {packet} bytes, and disconnects clients that send more; a "
                f"batch or a large payload may need {LEAST_PACKET}: SET GLOBAL max_allowed_packet = "
                f"{LEAST_PACKET}, and connect again"
            )

    def check_version(self, version: str) -> None:
        """Raise unless it is MariaDB 10.6 or later."""
        if numbers_of(version.removeprefix("5.5.5-"))[:2] < OLDEST:
            raise ConfigurationError(f"this server is MariaDB {version}; duerow needs 10.6 or later, for SKIP LOCKED")

    def current_schema(self) -> ColumnElement[Any]:
        """Return the name of the database."""
        return func.database()

    def identity(self, table: Table) -> Executable:
        """Ask for the database and the server."""
        return asked(self.schema_of(table), self.schema_of(table), literal_column(self.identified_by))

    def unfit(self, tables: Sequence[Table], ours: bool) -> Executable:
        """Query tables whose engine has no transactions, and columns that compare text differently."""
        here, names = self.schema_of(tables[0]), [table.name for table in tables]
        columns = {column.name for table in tables for column in table.columns}
        kept = _catalogue("tables", "table_type", "engine")
        typed = _catalogue("columns", "column_name", "collation_name")
        engines = select(kept.c.table_name, null().label("column"), kept.c.engine).where(
            kept.c.table_schema == here,
            kept.c.table_name.in_([const(name) for table in names for name in (table, f"{table}_id")]),
            kept.c.table_type != const("VIEW"),
            kept.c.engine != const("InnoDB"),
        )
        collations = select(typed.c.table_name, typed.c.column_name, typed.c.collation_name).where(
            typed.c.table_schema == here,
            typed.c.table_name.in_([const(name) for name in names]),
            typed.c.column_name.in_([const(name) for name in sorted(columns)]),
            typed.c.collation_name != const(self.bytewise),
        )
        return union_all(engines, collations) if ours else engines

    def check_tables(self, rows: Sequence[Sequence[Any]]) -> None:
        """Raise if the query found any; the error says how to fix the first."""
        for table, name, kind in rows:
            if name is None:
                raise ConfigurationError(
                    f"table {table} uses {kind}, which cannot roll back a transaction: convert it to InnoDB, "
                    f"ALTER TABLE {table} ENGINE=InnoDB"
                )
            raise ConfigurationError(
                f"column {name} of table {table} compares text with {kind}, so different keys could count as equal: "
                f"use a binary collation, ALTER TABLE {table} CONVERT TO CHARACTER SET utf8mb4 COLLATE "
                f"{self.bytewise}"
            )

    def explain(self, error: BaseException) -> DuerowError | None:
        """Return duerow's error for a driver's error, based on its number."""
        module = type(error).__module__.partition(".")[0]
        if module not in ("pymysql", "asyncmy", "MySQLdb", "sqlalchemy"):
            return None
        code = code_of(error)
        if code is None:
            lost = type(error).__name__ in ("InterfaceError", "OperationalError", "InternalError")
            return (
                StoreUnavailable(f"the connection to {self.product} failed: {error}")
                if lost
                else StoreRefused(str(error))
            )
        said = f"(error {code}){_told(error, code)}"
        if code in CONFLICTS:
            text = f"{self.product} ended this transaction in favor of another one {said}"
            return Conflict(text, of_row=code in OF_ROW)
        if code == _CLOSED:
            return StoreUnavailable(f"the connection to {self.product} was closed")
        if code in UNAVAILABLE:
            return StoreUnavailable(f"{self.product} is not available {said}")
        if code in _NO_TABLES:
            return SchemaOutdated(
                f"duerow's tables are missing or do not match this version {said}; run migrate, "
                "unless within= was given a connection to another database"
            )
        if code == _NO_DATABASE:
            return ConfigurationError(
                f"{self.product} has no such database {said}; name an existing one, or create this one: CREATE DATABASE"
            )
        if code == _NONE_NAMED:
            return StoreRefused(
                f"no database is named (error {code}): write mysql://user@host/DATABASE, or give schema= its name"
            )
        if code in _FORBIDDEN:
            return ConfigurationError(f"{self.product} does not let this user do that {said}")
        if code == _TOO_LARGE:
            text = f"a statement is larger than the server's max_allowed_packet {said}"
            return StoreRefused(text, of_row=True)
        return StoreRefused(f"{self.product} refused a statement {said}", of_row=code in OF_ROW)


def numbers_of(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, without any suffix."""
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


def commits_alone(raw: Any) -> bool:
    """Return whether a driver's connection is in autocommit mode, with no transaction open."""
    return bool(raw.get_autocommit()) and not raw.server_status & _IN_TRANSACTION


def check_charset(raw: Any) -> None:
    """Raise ConfigurationError unless a driver's connection can send any text, instead of question marks."""
    charset = raw.character_set_name()
    if charset != _ALL_TEXT:
        raise ConfigurationError(
            f"this connection uses {charset}, which lacks many characters: they would be read, and stored, as "
            f"question marks; connect with charset={_ALL_TEXT}"
        )


def code_of(error: BaseException | None) -> int | None:
    """Return the number of a driver's error."""
    code = error.args[0] if error is not None and error.args else None
    return code if isinstance(code, int) else None


def _told(error: BaseException, code: int) -> str:
    """Return the part of the server's message that contains only names: for a duplicate key, the name of the key."""
    text = str(error.args[1]) if len(error.args) > 1 else ""
    if code in _NAMES_ONLY:
        return f": {text}"
    found = _KEY.search(text) if code == _DUPLICATE else None
    return f": duplicate entry for key {found[1]}" if found else ""


def _catalogue(name: str, *columns: str) -> TableClause:
    """Return a table of the information schema."""
    names = ("table_schema", "table_name", *columns)
    return TableClause(name, *(column(each) for each in names), schema="information_schema")
