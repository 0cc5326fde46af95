"""PostgreSQL: one set of tables, emptied before each test."""

import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest
from psycopg import sql

import duerow
from duerow.testing.conformance.fixtures import Hold, Place
from duerow.testing.faces import Face
from tests.stores.callers import begin, parametrize
from tests.stores.postgresql.callers import WAYS

__all__ = ["begin"]


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the promises of `within=` in every way that PostgreSQL's callers have."""
    parametrize(metafunc, WAYS)


@pytest.fixture(scope="session")
def superuser(postgresql_url: str) -> Iterator[psycopg.Connection]:
    """A connection that looks behind the scenes, and tidies up."""
    with closing(psycopg.connect(postgresql_url, autocommit=True)) as connection:
        connection.execute("SET client_min_messages = warning")
        yield connection


@pytest.fixture(scope="session")
def migrated(postgresql_url: str) -> Place:
    """Tables that all tests of a session use one after the other: to make them takes longer than most tests."""
    place = Place(postgresql_url, {"schema": "tested"})
    duerow.connect(place.url, migrate=True, **place.settings).close()
    return place


@pytest.fixture(scope="session")
def tidied(migrated: Place, superuser: psycopg.Connection) -> sql.Composed:
    """What empties all tables but the one that says which migrations were made.

    Messages may be many; to truncate the others, which hold a row or two, would take longer than most tests.
    """
    schema = migrated.settings["schema"]
    names = superuser.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [schema]).fetchall()
    few = [sql.Identifier(schema, name) for (name,) in names if name not in ("duerow_schema", "duerow_message")]
    emptied = [sql.SQL("DELETE FROM {}").format(table) for table in few]
    return sql.SQL("; ").join([sql.SQL("TRUNCATE {}").format(sql.Identifier(schema, "duerow_message")), *emptied])


@pytest.fixture
def place(migrated: Place, superuser: psycopg.Connection, tidied: sql.Composed) -> Place:
    """The queues of this test."""
    superuser.execute(tidied)
    return migrated


@pytest.fixture
def without_indexes(place: Place, superuser: psycopg.Connection) -> Iterator[None]:
    """Indexes of payload fields are gone when the test ends, as none was there when it began."""
    yield
    schema = place.settings["schema"]
    found = superuser.execute(
        "SELECT indexname FROM pg_indexes WHERE schemaname = %s AND indexname LIKE 'duerow_by_%%'", [schema]
    )
    for (name,) in found.fetchall():
        superuser.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(schema, name)))


@pytest.fixture
def bare_place(postgresql_url: str, superuser: psycopg.Connection) -> Iterator[Place]:
    """A place without any tables."""
    schema = f"test_{uuid.uuid4().hex[:12]}"
    yield Place(postgresql_url, {"schema": schema})
    superuser.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))


@pytest.fixture
def crowd(face: Face) -> int:
    """More than PostgreSQL takes parameters in one statement; once, since both faces run the same plans."""
    return 70_000 if face.name == "sync" else 6_000


@pytest.fixture
def hold(place: Place) -> Hold:
    """Another session has the table for itself, so that everybody else must wait."""

    @contextmanager
    def holding() -> Iterator[None]:
        message = sql.Identifier(place.settings["schema"], "duerow_message")
        with closing(psycopg.connect(place.url)) as connection:
            connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(message))
            yield
            connection.rollback()

    return holding
