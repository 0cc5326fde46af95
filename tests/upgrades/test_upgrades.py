"""What a released version left behind, this version takes over; see README.md beside it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import psycopg
import pymysql
import pytest
from psycopg import sql
from sqlalchemy import make_url

import duerow
from duerow.stores.sql.migrations import MIGRATIONS
from tests.upgrades.freeze import TABLES, pipeline

RELEASED = sorted(folder.name for folder in TABLES.iterdir())


def later_than(version: str) -> list[str]:
    """The names of the migrations since a version."""
    return [name for name, _ in MIGRATIONS[int(version) :]]


@pytest.fixture(params=RELEASED)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def sqlite_left(version: str, tmp_path: Path) -> str:
    """The URL of a database that a released version made and worked with."""
    path = tmp_path / "left.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((TABLES / version / "sqlite.sql").read_text())
    return f"sqlite:///{path}"


@pytest.fixture
def postgresql_left(version: str, postgresql_url: str) -> Iterator[str]:
    name = f"upgraded_{uuid4().hex[:12]}"
    with closing(psycopg.connect(postgresql_url, autocommit=True)) as superuser:
        superuser.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        url = f"{postgresql_url.rpartition('/')[0]}/{name}"
        with closing(psycopg.connect(url, autocommit=True)) as connection:
            connection.execute((TABLES / version / "postgresql.sql").read_text().encode())
        yield url
        superuser.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def mariadb_left(version: str, mariadb_url: str) -> Iterator[str]:
    name, url = f"upgraded_{uuid4().hex[:12]}", make_url(mariadb_url)
    place = {"host": url.host, "port": url.port or 3306, "user": url.username, "password": url.password or ""}
    with closing(pymysql.connect(**place, autocommit=True)) as connection:
        cursor = connection.cursor()
        cursor.execute(f"CREATE DATABASE {name}")
        cursor.execute(f"USE {name}")
        for statement in (TABLES / version / "mariadb.sql").read_text().split(";\n"):
            if statement.strip():
                cursor.execute(statement)
        yield url.set(database=name).render_as_string(hide_password=False)
        cursor.execute(f"DROP DATABASE {name}")


def test_what_a_release_left_on_sqlite_is_migrated_and_every_row_is_still_there(version: str, sqlite_left: str) -> None:
    with duerow.connect(sqlite_left, migrate=True) as db:
        mail = db.as_defined("mail")
        assert {key: db.queue("mail").contains(key) for key in ("leased", "ready-0", "ready-2")} == {
            "leased": True,
            "ready-0": True,
            "ready-2": True,
        }
        assert [(one.payload, one.key) for one in mail.find(status="dead")] == [("refused", "refused")]
        assert {one.payload for one in mail.history() if one.outcome == "done"} == {"handled"}
        assert mail.push("again", key="handled").outcome != "created"
        assert [one.name for one in db.schedules()] == ["nightly"]
        assert db.pipelines() == [pipeline().graph]
        assert [one.name for one in db.definitions() if one.paused] == ["halted"]


def test_a_worker_goes_on_where_the_released_version_stopped(sqlite_left: str) -> None:
    handled: list[object] = []
    with duerow.connect(sqlite_left, migrate=True) as db:
        worker = duerow.Worker(db.as_defined("mail"), lambda message: handled.append(message.payload))
        worker.run(until="idle")
        db.queue("halted").resume()
        assert "leased" in handled
        assert [payload for payload in handled if payload != "leased"] == [{"n": 0}, {"n": 1}, {"n": 2}]
        assert db.queue("halted").pop() is not None


@pytest.mark.parametrize("database", ["postgresql_left", "mariadb_left"])
def test_the_tables_of_a_release_are_migrated_and_worked_with(
    version: str, database: str, request: pytest.FixtureRequest
) -> None:
    handled: list[object] = []
    with duerow.connect(request.getfixturevalue(database), migrate=True) as db:
        queue = db.queue("mail")
        queue.push("hello", key="a")
        duerow.Worker(queue, lambda message: handled.append(message.payload)).run(until="empty")
        assert db.migrate() == []
    assert handled == ["hello"]


def test_migrating_makes_only_what_came_after_the_release(version: str, sqlite_left: str) -> None:
    with closing(sqlite3.connect(sqlite_left.removeprefix("sqlite:///"))) as connection:
        duerow.connect(sqlite_left, migrate=True).close()
        made = [name for number, name in connection.execute("SELECT version, name FROM duerow_schema ORDER BY 1")]
    assert made[int(version) :] == later_than(version)
