"""How statements reach a MySQL or MariaDB server through PyMySQL, and at which isolation level."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from duerow.errors import ConfigurationError
from duerow.stores.sql.connections.callers import driver_of
from duerow.stores.sql.connections.compiled import Texts
from duerow.stores.sql.connections.ownership import Whose
from duerow.stores.sql.connections.sync.connections import BlockingConnections
from duerow.stores.sql.connections.sync.in_parts import RawInParts
from duerow.stores.sql.connections.sync.raw import Raw
from duerow.stores.sql.connections.sync.through_sqlalchemy import ThroughSqlalchemy
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.dialects.mysql.server import check_charset
from duerow.stores.sql.dialects.mysql.versions import adopt
from duerow.stores.sql.errors import explained

READ_COMMITTED = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"
"""Makes the next transaction lock no gaps, whatever the isolation level of the user's connections."""


class RawSteps(RawInParts):
    """Executes steps on PyMySQL's connection."""

    def __init__(self, raw: Any, dialect: Dialect, texts: Texts, whose: Whose) -> None:
        super().__init__(raw, dialect, texts, whose)
        self._told_level = False

    def cursor_of(self, raw: Any) -> Any:
        """Return a cursor that returns plain tuples."""
        from pymysql.cursors import Cursor

        return raw.cursor(Cursor)

    def __call__(self, step: Any) -> Any:
        """Execute one step with all of its parts."""
        if self.whose == "lent" and not self._told_level and not self.raw.get_autocommit():
            self._read_committed()  # the first statement begins the transaction
        return super().__call__(step)

    def _begin(self) -> None:
        if self.begun or self.whose == "joined":
            return
        self.begun = True
        if self.raw.get_autocommit():
            if self.whose == "lent":
                self._read_committed()
            self._cursor.execute("BEGIN")

    def _read_committed(self) -> None:
        self._told_level = True
        try:
            self._cursor.execute(READ_COMMITTED)
        except Exception as error:  # this is not part of a step, so its errors are not translated elsewhere
            raise (explained(self.dialect, error) or error) from error

    def rolled_back(self) -> bool:
        """Roll back any open transaction; return whether that worked and the connection still exists."""
        return super().rolled_back() and bool(self.raw.open)

    def _open(self) -> bool:
        return self.begun or not self.raw.get_autocommit()

    def _ended(self) -> None:
        super()._ended()
        self._told_level = False


class MySQLConnections(BlockingConnections):
    """Connections of one engine on PyMySQL; as `BlockingConnections`."""

    def detect_server(self, raw: Any) -> None:
        """Use the statements for the server at the other end of a connection."""
        driver = driver_of(raw, self.dialect.callers)
        if driver != "pymysql":
            raise ConfigurationError(
                f"this engine connects with {driver}; queues on MySQL and MariaDB need mysql+pymysql://"
            )
        adopt(self, raw)

    def steps_in_parts(self, raw: Any, texts: Texts, whose: Whose) -> Raw:
        """Return the object that executes steps on PyMySQL's connection."""
        check_charset(raw)
        return RawSteps(raw, self.dialect, texts, whose)

    def steps_through(self, connection: Connection, texts: Texts) -> ThroughSqlalchemy:
        """Return the object that executes steps on an SQLAlchemy connection."""
        check_charset(connection.connection.driver_connection)
        return super().steps_through(connection, texts)
