"""How an application may hold a transaction on MySQL and MariaDB: two drivers, three isolation levels, odd settings."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import asyncmy
import pymysql
from pymysql.cursors import DictCursor
from sqlalchemy import make_url

from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import AwaitedFace, Face
from tests.stores.callers import Opening, Transaction, Way, async_connection, async_session, connection, session

ODD_SETTINGS = [
    "SET time_zone = '+05:45'",
    "SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'",
    "SET collation_connection = 'utf8mb4_unicode_ci'",
    "SET sql_safe_updates = 1",
]


def arguments(url: str) -> dict[str, Any]:
    """What the drivers' own connect() takes for a URL."""
    said = make_url(url)
    return {
        "host": said.host,
        "port": said.port,
        "user": said.username,
        "password": said.password or "",
        "database": said.database,
    }


def opened(url: str, **options: Any) -> Any:
    """A connection of PyMySQL."""
    return pymysql.connect(**arguments(url), **options)


def raw(begin: str | None = None, settings: list[str] | None = None, **options: Any) -> Opening:
    """A connection of PyMySQL."""

    @contextmanager
    def opening(place: Place, face: Face) -> Iterator[Transaction]:
        with closing(opened(place.url, **options)) as own, own.cursor() as cursor:
            for setting in settings or []:
                cursor.execute(setting)
            if begin is not None:
                cursor.execute(begin)
            yield Transaction(own, own.commit, own.rollback)

    return opening


def awaited(begin: str | None = None, **options: Any) -> Opening:
    """A connection of asyncmy."""

    @contextmanager
    def opening(place: Place, face: AwaitedFace) -> Iterator[Transaction]:
        async def connect() -> Any:
            own = await asyncmy.connect(**arguments(place.url), **options)
            if begin is not None:
                async with own.cursor() as cursor:
                    await cursor.execute(begin)
            return own

        own = face.run(connect())
        try:
            yield Transaction(own, lambda: face.run(own.commit()), lambda: face.run(own.rollback()))
        finally:
            face.run(own.ensure_closed())

    return opening


def ways(server: str) -> list[Way]:
    """The ways, at REPEATABLE READ, the server's default, unless they say something else.

    Args:
        server: what its users may call it in a URL of SQLAlchemy's, mysql or mariadb.
    """
    return [
        Way("pymysql", "sync", connection("mysql+pymysql")),
        Way("session on pymysql", "sync", session(f"{server}+pymysql", isolation_level="SERIALIZABLE")),
        Way("raw begun by hand", "sync", raw("BEGIN", autocommit=True)),
        Way("raw with odd settings", "sync", raw(settings=ODD_SETTINGS, cursorclass=DictCursor)),
        Way("asyncmy", "async", async_connection("mysql+asyncmy", isolation_level="READ COMMITTED")),
        Way("session on asyncmy", "async", async_session("mysql+asyncmy")),
        Way("raw with prepared statements", "async", awaited("BEGIN", autocommit=True, stmt_cache_size=10)),
    ]
