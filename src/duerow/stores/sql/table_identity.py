"""Which tables an engine and a store lead to: a name by which two ways to the same ones are known."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Final

from sqlalchemy import Engine

from duerow.stores.sql.plans.context import Context

_WHERE: Final = ("host", "port", "dbname", "service", "options")
"""What a URL may say behind its question mark about where the tables are; all else is how to get there."""


def place_of(engine: Engine, context: Context) -> Hashable:
    """Return the name of the tables: that of the database with the tables' own, whatever the driver.

    An engine whose URL does not say where it goes leads to a place of its own.
    """
    url, table = engine.url, context.tables.message.fullname
    said = tuple((name, url.query[name]) for name in _WHERE if name in url.query)
    if url.database is None and not said:
        return engine, table
    file = engine.dialect.name == "sqlite" and not str(url.database).startswith((":memory:", "file:"))
    database = str(Path(str(url.database)).resolve()) if file else url.database
    return context.dialect.name, url.username, url.host, url.port, database, said, table
