"""MySQL and MariaDB: one set of tables, emptied before each test. `server_url` says where."""

import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import pytest

import duerow
from duerow.testing.conformance.fixtures import Harm, Hold, Place
from duerow.testing.faces import Face
from tests.stores.mariadb.callers import opened


@pytest.fixture(scope="session")
def superuser(server_url: str) -> Iterator[Any]:
    """A cursor that looks behind the scenes, and tidies up."""
    with closing(opened(server_url, autocommit=True)) as connection:
        yield connection.cursor()


@pytest.fixture(scope="session")
def migrated(server_url: str) -> Place:
    """Tables that all tests of a session use one after the other: to make them takes longer than most tests."""
    place = Place(server_url, {"schema": f"tested_{uuid.uuid4().hex[:8]}"})
    duerow.connect(place.url, migrate=True, **place.settings).close()
    return place


@pytest.fixture(scope="session")
def tidied(migrated: Place, superuser: Any) -> list[str]:
    """What empties all tables but the one that says which migrations were made."""
    schema = migrated.settings["schema"]
    superuser.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = %s AND table_type = 'BASE TABLE'",
        [schema],
    )
    names = [name for (name,) in superuser.fetchall() if name != "duerow_schema"]
    return [f"DELETE FROM `{schema}`.`{name}`" for name in names]


@pytest.fixture
def place(migrated: Place, superuser: Any, tidied: list[str]) -> Place:
    """The queues of this test."""
    for statement in tidied:
        superuser.execute(statement)
    drop_indexes(migrated, superuser)
    return migrated


DEEP = "[" * 2_000 + "]" * 2_000

HARMS = {
    "created on no day": "created_at = '0000-00-00 00:00:00'",
    "first due on no day": "first_due_at = '0000-00-00 00:00:00'",
    "due on no day": "due_at = '0000-00-00 00:00:00'",
    "a payload that is no JSON": "payload = '{'",
    "a payload nested too deep": f"payload = '{DEEP}'",
    "headers nested too deep": f"headers = '{DEEP}'",
    "headers that are a number": "headers = '5'",
    "attempts below 0": "attempts = -5",
}


def ways_to_harm(place: Place, superuser: Any, settings: dict[str, str]) -> dict[str, Harm]:
    """Return ways to damage a row, each of which sets columns past what a strict session would let through."""

    def harm(setting: str, id: int) -> None:
        superuser.execute("SELECT @@sql_mode")
        ((mode,),) = superuser.fetchall()
        superuser.execute("SET sql_mode = ''")
        superuser.execute(f"UPDATE `{place.settings['schema']}`.duerow_message SET {setting} WHERE id = {id}")
        superuser.execute("SET sql_mode = %s", [mode])

    return {name: partial(harm, setting) for name, setting in settings.items()}


@pytest.fixture
def harms(place: Place, superuser: Any) -> dict[str, Harm]:
    """Ways to damage a row."""
    return ways_to_harm(place, superuser, HARMS)


@pytest.fixture
def largest_token(place: Place, superuser: Any) -> Harm:
    """A token that a claim cannot raise."""
    return ways_to_harm(place, superuser, {"": f"token = {2**63 - 1}"})[""]


def drop_indexes(place: Place, superuser: Any) -> None:
    """Leave no index of a payload field, whatever ran before: each is a column."""
    table = f"`{place.settings['schema']}`.duerow_message"
    superuser.execute(f"SHOW COLUMNS FROM {table} LIKE 'duerow_by_%'")
    for name, *_ in superuser.fetchall():
        superuser.execute(f"SHOW INDEX FROM {table} WHERE key_name = '{name}'")
        index = f"DROP INDEX `{name}`, " if superuser.fetchall() else ""
        superuser.execute(f"ALTER TABLE {table} {index}DROP COLUMN `{name}`")


@pytest.fixture
def bare_place(server_url: str, superuser: Any) -> Iterator[Place]:
    """A place without any tables."""
    schema = f"test_{uuid.uuid4().hex[:12]}"
    yield Place(server_url, {"schema": schema})
    superuser.execute(f"DROP DATABASE IF EXISTS `{schema}`")


@pytest.fixture
def crowd(face: Face) -> int:
    """More than one statement takes; once, since both faces run the same plans."""
    return 20_000 if face.name == "sync" else 6_000


@pytest.fixture
def hold(place: Place) -> Hold:
    """Another session has the table for itself, so that everybody else must wait."""

    @contextmanager
    def holding() -> Iterator[None]:
        with closing(opened(place.url)) as connection, connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLES `{place.settings['schema']}`.duerow_message WRITE")
            yield
            cursor.execute("UNLOCK TABLES")

    return holding
