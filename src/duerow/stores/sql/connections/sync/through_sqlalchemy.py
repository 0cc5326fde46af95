"""Steps run through the caller's SQLAlchemy connection."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from duerow.stores.sql.connections.compiled import Texts
from duerow.stores.sql.connections.lenient_reads import read_by, told_text
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.errors import explained


class ThroughSqlalchemy:
    """Runs steps through the caller's SQLAlchemy connection, so that SQLAlchemy keeps track of them."""

    def __init__(self, connection: Connection, dialect: Dialect, texts: Texts) -> None:
        self.raw = connection.connection.driver_connection
        self.connection, self.dialect, self.texts = connection, dialect, texts

    def __call__(self, step: Any) -> Any:
        """Execute one step."""
        text, values = self.texts.of(step)
        try:
            with read_by(self.raw, told_text if self.texts.lenient else str):
                result = self.connection.exec_driver_sql(text, values)
                return result.fetchall() if result.returns_rows else []
        except Exception as error:
            raise (explained(self.dialect, error) or error) from error
