"""Payloads that somebody wrote with plain SQL, on SQLite."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import duerow
from duerow.testing.conformance.fixtures import Place
from tests.stores.foreign_payloads import *  # noqa: F403
from tests.stores.foreign_payloads import Write


@pytest.fixture
def write(file: Path) -> Write:
    def write(text: str, id: int) -> None:
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE duerow_message SET payload = ? WHERE id = ?", [text, id])

    return write


def test_headers_that_are_no_json_are_passed_over(place: Place, file: Path) -> None:
    with duerow.connect(place.url, migrate=True) as database:
        queue = database.queue("mail")
        queue.push("a", headers={"x": 1})
        queue.push("b", headers={"x": 1})
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE duerow_message SET headers = 'x' WHERE id = 1")
        assert queue.count("headers.x = 1") == 1
        assert queue.count("headers.x is null") == 1
