"""What the doctor finds on SQLite alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import create_engine, event

import duerow
from duerow.doctor import examine
from duerow.stores.sql.dialects.sqlite import diagnosis
from duerow.testing.conformance.fixtures import Place


def codes(database: duerow.Database) -> set[str]:
    return {one.code for one in examine(database)}


@pytest.fixture
def database(place: Place) -> Iterator[duerow.Database]:
    with duerow.connect(place.url) as database:
        yield database


def test_an_index_that_was_dropped_is_found(database: duerow.Database, file: Path):
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP INDEX duerow_message_due")
    (found,) = examine(database)
    assert (found.code, found.where) == ("index-missing", "duerow_message_due")
    statement = found.todo.removeprefix("Create it: ")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(statement)
    assert codes(database) == set()


@pytest.mark.parametrize(
    ("pragma", "code"),
    [
        ("PRAGMA journal_mode = DELETE", "journal-mode"),
        ("PRAGMA synchronous = OFF", "synchronous-off"),
        ("PRAGMA busy_timeout = 0", "short-wait"),
    ],
)
def test_a_setting_of_the_users_own_engine_that_does_harm_is_found(place: Place, pragma: str, code: str):
    engine = create_engine(place.url)

    @event.listens_for(engine, "connect")
    def settle(connection, _):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(pragma)

    with duerow.connect(engine) as database:
        assert code in codes(database)
    engine.dispose()


def test_a_file_in_memory_is_found():
    with TemporaryDirectory(dir="/dev/shm") as folder, duerow.connect(f"sqlite:///{folder}/q.db", migrate=True) as here:
        assert codes(here) == {"fleeting-files"}


def test_a_file_of_another_host_is_found(database: duerow.Database, file: Path, monkeypatch, tmp_path: Path):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/data {file.parent} nfs4 rw 0 0\n")
    monkeypatch.setattr(diagnosis, "MOUNTS", mounts)
    assert codes(database) == {"remote-files"}


def test_a_log_that_a_reader_keeps_from_being_emptied_is_found(database: duerow.Database, file: Path, monkeypatch):
    monkeypatch.setattr(diagnosis, "LARGE_LOG", 100_000)
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM duerow_message").fetchall()
        for _ in range(20):
            database.queue("mail").push("x" * 10_000)
        assert "large-log" in codes(database)
