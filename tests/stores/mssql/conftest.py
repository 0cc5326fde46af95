"""SQL Server: one set of tables, emptied before each test, where DUEROW_TEST_MSSQL_URL names a server.

Without one the tests that need it are not collected, and the report says so: no server can be started for them.
"""

import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import duerow
from duerow.errors import NotSupported
from duerow.testing.conformance.fixtures import Hold, Place
from duerow.testing.faces import Face
from tests.servers.fixtures import MISSING
from tests.servers.process import given_url
from tests.stores.callers import begin, parametrize
from tests.stores.mssql.callers import WAYS, opened

__all__ = ["begin"]

URL = given_url("mssql")
WITHOUT_SERVER = ("test_errors.py", "test_steps.py")

collect_ignore = [
    path.name for path in Path(__file__).parent.glob("test_*.py") if URL is None and path.name not in WITHOUT_SERVER
]


def pytest_configure(config: pytest.Config) -> None:
    """Have the report say that the promises were not checked, which is no failure: nobody can start a server here."""
    if URL is None:
        why = "DUEROW_TEST_MSSQL_URL names no server, and none can be started: its statements were only parsed"
        config.stash.setdefault(MISSING, {})["mssql"] = why


NEVER = frozenset(
    (
        "test_conditions_find_the_same_with_indexes",
        "test_every_number_is_found_by_its_index_as_without",
        "test_changes_by_an_indexed_field_change_the_same_messages",
        "test_no_payload_makes_a_push_into_an_indexed_queue_fail",
        "test_what_is_declared_is_kept_and_rules_those_who_know_the_name_alone",
        "test_indexed_fields_have_to_stay_readable",
    )
)
"""Promises that rest on an index of a payload field."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say of which promises it is known that they are not kept: they must be refused."""
    why = "never: a computed column cannot call OPENJSON, so a payload field can have no index"
    mark = pytest.mark.xfail(reason=why, raises=NotSupported, strict=True)
    for item in items:
        if getattr(item, "originalname", None) in NEVER and item.path.parent == Path(__file__).parent:
            item.add_marker(mark)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the promises of `within=` in every way that SQL Server's callers have."""
    if URL is not None:
        parametrize(metafunc, WAYS)


@pytest.fixture(scope="session")
def superuser(mssql_url: str) -> Iterator[Any]:
    """A cursor that looks behind the scenes, and tidies up."""
    with closing(opened(mssql_url, autocommit=True)) as connection:
        yield connection.cursor()


@pytest.fixture(scope="session")
def migrated(mssql_url: str, superuser: Any) -> Iterator[Place]:
    """Tables that all tests of a session use one after the other: to make them takes longer than most tests."""
    place = Place(mssql_url, {"schema": f"tested_{uuid.uuid4().hex[:8]}"})
    duerow.connect(place.url, migrate=True, **place.settings).close()
    yield place
    drop(superuser, place.settings["schema"])


@pytest.fixture
def place(migrated: Place, superuser: Any) -> Place:
    """The queues of this test."""
    schema = migrated.settings["schema"]
    for name in tables(superuser, schema):
        if name != "duerow_schema":
            superuser.execute(f"DELETE FROM [{schema}].[{name}]")
    return migrated


@pytest.fixture
def bare_place(mssql_url: str, superuser: Any) -> Iterator[Place]:
    """A place without any tables."""
    schema = f"test_{uuid.uuid4().hex[:12]}"
    yield Place(mssql_url, {"schema": schema})
    drop(superuser, schema)


@pytest.fixture
def crowd(face: Face) -> int:
    """More messages than one statement takes, and than it may have parameters."""
    return 20_000 if face.name == "sync" else 6_000


@pytest.fixture
def hold(place: Place) -> Hold:
    """Another session has the table for itself, so that everybody else must wait."""

    @contextmanager
    def holding() -> Iterator[None]:
        table = f"[{place.settings['schema']}].duerow_message"
        with closing(opened(place.url)) as connection:
            connection.cursor().execute(f"SELECT TOP (1) 1 FROM {table} WITH (TABLOCKX, HOLDLOCK)").fetchall()
            yield
            connection.rollback()

    return holding


def tables(superuser: Any, schema: str) -> list[str]:
    """The names of a schema's tables."""
    superuser.execute("SELECT name FROM sys.tables WHERE schema_id = SCHEMA_ID(?)", schema)
    return [name for (name,) in superuser.fetchall()]


def drop(superuser: Any, schema: str) -> None:
    """Take a schema away, with all that is in it."""
    for name in tables(superuser, schema):
        superuser.execute(f"DROP TABLE [{schema}].[{name}]")
    superuser.execute("SELECT name FROM sys.sequences WHERE schema_id = SCHEMA_ID(?)", schema)
    for (name,) in superuser.fetchall():
        superuser.execute(f"DROP SEQUENCE [{schema}].[{name}]")
    superuser.execute(f"DROP SCHEMA IF EXISTS [{schema}]")
