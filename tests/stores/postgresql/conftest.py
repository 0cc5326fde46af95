"""PostgreSQL: one set of tables, emptied before each test."""

import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial

import psycopg
import pytest
from psycopg import sql

import duerow
from duerow.testing.conformance.fixtures import Harm, Hold, Place
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


MESSAGES_TIDIED = sql.SQL("""DO $$
    DECLARE name text;
    BEGIN
        IF pg_relation_size('{1}') > 500000 THEN TRUNCATE {1}; ELSE DELETE FROM {1}; END IF;
        FOR name IN SELECT relname FROM pg_class
            WHERE relnamespace = to_regnamespace({0}) AND relkind = 'i' AND relname LIKE 'duerow_by_%'
        LOOP EXECUTE format('DROP INDEX %I.%I', {0}, name); END LOOP;
    END $$""")


@pytest.fixture(scope="session")
def tidied(migrated: Place, superuser: psycopg.Connection) -> sql.Composed:
    """What empties all tables but the one that says which migrations were made, and drops indexes of payload fields.

    Messages may be many; to truncate a table that holds a row or two would take longer than most tests.
    """
    return emptying(superuser, migrated.settings["schema"])


def emptying(connection: psycopg.Connection, schema: str) -> sql.Composed:
    """Return the same for the tables in a schema."""
    names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [schema]).fetchall()
    few = [sql.Identifier(schema, name) for (name,) in names if name not in ("duerow_schema", "duerow_message")]
    emptied = [sql.SQL("DELETE FROM {}").format(table) for table in few]
    tidied = MESSAGES_TIDIED.format(sql.Literal(schema), sql.Identifier(schema, "duerow_message"))
    return sql.SQL("; ").join([tidied, *emptied])


@pytest.fixture
def place(migrated: Place, superuser: psycopg.Connection, tidied: sql.Composed) -> Place:
    """The queues of this test."""
    superuser.execute(tidied)
    return migrated


DEEP = "[" * 2_000 + "]" * 2_000

HARMS = {
    "due since ever": "due_at = '-infinity'",
    "due before Christ": "due_at = '0044-03-15 12:00:00+00 BC'",
    "created for ever": "created_at = 'infinity'",
    "created in the year 20,000": "created_at = '20000-01-01'",
    "first due since ever": "first_due_at = '-infinity'",
    "a payload nested too deep": f"payload = '{DEEP}'",
    "headers nested too deep": f"headers = '{DEEP}'",
    "headers that are a number": "headers = '5'",
    "attempts below 0": "attempts = -5",
}

HARMS_OUT_OF_LINE = {"due for ever": "due_at = 'infinity'", "due in the year 20,000": "due_at = '20000-01-01'"}


def ways(place: Place, superuser: psycopg.Connection, settings: dict[str, str]) -> dict[str, Harm]:
    """Return ways to damage a row, each of which sets columns."""

    def harm(setting: str, id: int) -> None:
        superuser.execute(f"UPDATE {place.settings['schema']}.duerow_message SET {setting} WHERE id = {id}".encode())

    return {name: partial(harm, setting) for name, setting in settings.items()}


@pytest.fixture
def harms(place: Place, superuser: psycopg.Connection) -> dict[str, Harm]:
    """Ways to damage a row."""
    return ways(place, superuser, HARMS)


@pytest.fixture
def harms_out_of_line(place: Place, superuser: psycopg.Connection) -> dict[str, Harm]:
    """Ways to damage a row so that no claim comes upon it."""
    return ways(place, superuser, HARMS_OUT_OF_LINE)


@pytest.fixture
def largest_token(place: Place, superuser: psycopg.Connection) -> Harm:
    """A token that a claim cannot raise."""
    return ways(place, superuser, {"": f"token = {2**63 - 1}"})[""]


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
