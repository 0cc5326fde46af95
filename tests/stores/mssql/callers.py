"""How an application may hold a transaction on SQL Server: two drivers, levels at which rows can be passed over."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from sqlalchemy import create_engine, make_url
from sqlalchemy.pool import NullPool

from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face
from tests.stores.callers import Opening, Transaction, Way, async_connection, async_session, connection, session

DRIVER = {"driver": "ODBC Driver 18 for SQL Server"}


def driven(url: str, driver: str) -> str:
    """A URL for a driver, which is told what to load unless the URL says so."""
    said = make_url(url)
    return said.set(drivername=f"mssql+{driver}", query={**DRIVER, **said.query}).render_as_string(False)


def opened(url: str, autocommit: bool = False) -> Any:
    """A connection of pyodbc, which nobody else has."""
    engine = create_engine(driven(url, "pyodbc"), poolclass=NullPool)
    lent = engine.raw_connection()
    raw = lent.driver_connection
    lent.detach()
    raw.autocommit = autocommit
    return raw


def raw(begin: list[str]) -> Opening:
    """A connection of pyodbc."""

    @contextmanager
    def opening(place: Place, face: Face) -> Iterator[Transaction]:
        with closing(opened(place.url)) as own:
            for statement in begin:
                own.cursor().execute(statement)
            yield Transaction(own, own.commit, own.rollback)

    return opening


WAYS = [
    Way("pyodbc", "sync", connection("mssql+pyodbc")),
    Way("session on pyodbc", "sync", session("mssql+pyodbc", isolation_level="REPEATABLE READ")),
    Way("raw with odd settings", "sync", raw(["SET DATEFORMAT dmy", "SET LANGUAGE German", "SET XACT_ABORT ON"])),
    Way("aioodbc", "async", async_connection("mssql+aioodbc", isolation_level="READ COMMITTED")),
    Way("session on aioodbc", "async", async_session("mssql+aioodbc")),
]
"""At READ COMMITTED, the server's default, unless they say something else."""
