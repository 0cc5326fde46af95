"""A name for the tables that an engine and a store use, to recognize two connections to the same tables."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Final

from sqlalchemy import Engine

from duerow.stores.sql.plans.context import Context

_WHERE: Final = ("host", "port", "dbname", "service", "options")
"""The query parameters of a URL that say where the tables are; all others say how to connect."""


def place_of(engine: Engine, context: Context) -> Hashable:
    """Return a name for the tables, made of the database and the table name; the driver does not matter.

    If the URL does not name a database, the engine itself identifies the tables.
    """
    url, table = engine.url, context.tables.message.fullname
    said = tuple((name, url.query[name]) for name in _WHERE if name in url.query)
    if url.database is None and not said:
        return engine, table
    file = engine.dialect.name == "sqlite" and not str(url.database).startswith((":memory:", "file:"))
    database = str(Path(str(url.database)).resolve()) if file else url.database
    return context.dialect.name, url.username, url.host, url.port, database, said, table
