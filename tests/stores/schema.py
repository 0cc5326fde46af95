"""Tables are made by `migrate` and checked when a handle is opened. Taken in by each store that has tables."""

from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, make_url, text

import duerow
from duerow import Draft
from duerow.errors import SchemaNewer, SchemaOutdated
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face
from tests.processes import forking

PREFIX = "duerow_"


def engine_of(place: Place) -> Engine:
    """An engine of nobody's, which looks behind the scenes."""
    url = make_url(place.url)
    drivers = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mssql": "mssql+pyodbc"}
    return create_engine(url.set(drivername=drivers.get(url.drivername, url.drivername)))


def alter(place: Place, statement: str) -> None:
    """Do to the tables what a release of the past or the future would have done."""
    schema = place.settings.get("schema")
    version = f"{schema}.{PREFIX}schema" if schema else f"{PREFIX}schema"
    engine = engine_of(place)
    with engine.begin() as connection:
        connection.execute(text(statement.format(version=version)))
    engine.dispose()


def version_of(place: Place) -> int:
    """The version of the tables."""
    schema = place.settings.get("schema")
    engine = engine_of(place)
    with engine.begin() as connection:
        found = connection.execute(text(f"SELECT max(version) FROM {f'{schema}.' if schema else ''}{PREFIX}schema"))
        version = found.scalar_one()
    engine.dispose()
    return int(version)


def open_handle(face: Face, place: Place, **more: Any) -> duerow.Database:
    return face.connect(place.url, **place.settings, **more)


def test_a_database_without_tables_is_refused_and_told_how_to_get_them(face: Face, bare_place: Place) -> None:
    with pytest.raises(SchemaOutdated, match=r"duerow migrate.*migrate=True"):
        open_handle(face, bare_place)


def test_migrating_makes_the_tables_once_and_names_what_it_did(face: Face, bare_place: Place) -> None:
    with open_handle(face, bare_place, migrate=True) as database:
        assert database.migrate() == []
        assert database.queue("mail").push("hello").outcome == "created"
    with open_handle(face, bare_place) as database:
        assert database.queue("mail").count() == 1


def test_tables_of_an_older_version_are_refused_until_they_are_migrated(face: Face, bare_place: Place) -> None:
    open_handle(face, bare_place, migrate=True).close()
    alter(bare_place, "DELETE FROM {version}")
    with pytest.raises(SchemaOutdated, match="version 0"):
        open_handle(face, bare_place)


def test_tables_of_a_newer_version_are_refused_and_left_alone(face: Face, bare_place: Place) -> None:
    open_handle(face, bare_place, migrate=True).close()
    alter(bare_place, "INSERT INTO {version} (version, name) VALUES (9999, '9999 of the future')")
    for migrate in (False, True):
        with pytest.raises(SchemaNewer, match=r"9999.*upgrade duerow"):
            open_handle(face, bare_place, migrate=migrate)


def test_tables_that_a_newer_version_only_added_to_are_worked_with_beside_it(face: Face, bare_place: Place) -> None:
    with open_handle(face, bare_place, migrate=True) as before:
        known = version_of(bare_place)
        alter(bare_place, f"INSERT INTO {{version}} (version, name) VALUES (9999, '9999 of the future [from {known}]')")
        before.queue("mail").push("by a process that was there before")
    with open_handle(face, bare_place) as started_later:
        assert started_later.queue("mail").count() == 1
        assert started_later.migrate() == []


def test_tables_that_only_newer_versions_can_work_with_are_refused(face: Face, bare_place: Place) -> None:
    open_handle(face, bare_place, migrate=True).close()
    later = version_of(bare_place) + 1
    alter(bare_place, f"INSERT INTO {{version}} (version, name) VALUES (9999, '9999 of the future [from {later}]')")
    with pytest.raises(SchemaNewer):
        open_handle(face, bare_place)


def test_what_a_dba_would_run_is_given_as_text_and_makes_the_same_tables(face: Face, bare_place: Place) -> None:
    with open_handle(face, Place(bare_place.url, {**bare_place.settings, "prefix": "other_"}), migrate=True) as other:
        script = other.migration_sql().replace("other_", PREFIX)
    engine = engine_of(bare_place)
    with engine.begin() as connection:
        for statement in filter(str.strip, script.split(";\n")):
            connection.exec_driver_sql(
                statement.replace("%", "%%") if connection.dialect.name != "sqlite" else statement
            )
    engine.dispose()
    with open_handle(face, bare_place) as database:
        assert database.migrate() == []
        queue = database.queue("mail")
        queue.push_many([Draft(1, key="a"), Draft(2, key="a")])
        assert [one.message.payload for one in queue.reserve_many(5)] == [1]


def test_two_prefixes_share_a_database_and_nothing_else(face: Face, bare_place: Place) -> None:
    other_place = Place(bare_place.url, {**bare_place.settings, "prefix": "other_"})
    with (
        open_handle(face, bare_place, migrate=True) as database,
        open_handle(face, other_place, migrate=True) as other,
    ):
        database.queue("mail").push("ours", key="m-1")
        assert other.queue("mail").push("theirs", key="m-1").outcome == "created"
        message = other.queue("mail").pop()
        assert message is not None
        assert message.payload == "theirs"
        assert database.queue("mail").count() == 1


def migrate(url: str, settings: dict[str, Any], start: Any) -> list[str]:
    """What each of many processes does at once."""
    start.wait()
    with duerow.connect(url, migrate=True, **settings) as database:
        database.queue("mail").push("hello")
        return database.migrate()


def test_processes_that_migrate_at_once_make_the_tables_once_and_all_work_on_them(
    bare_place: Place, scale: int
) -> None:
    processes = 10 * scale
    context = forking()
    with context.Manager() as manager, context.Pool(processes) as pool:
        start = manager.Barrier(processes, timeout=600)
        jobs = [(bare_place.url, bare_place.settings, start) for _ in range(processes)]
        assert pool.starmap(migrate, jobs, chunksize=1) == [[]] * processes
    with duerow.connect(bare_place.url, **bare_place.settings) as database:
        assert database.queue("mail").count() == processes
