"""Transactions of other databases of a server are refused, unless the queue's tables are named with theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy.engine import make_url

import duerow
from duerow import Database, Queue
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face
from tests.stores.callers import Way
from tests.stores.mariadb.callers import ways
from tests.stores.other_databases import in_ways, refuse_elsewhere


@pytest.fixture(scope="module")
def databases(server_url: str, superuser: Any) -> Iterator[list[str]]:
    """The URLs of two databases."""
    names = ("here", "elsewhere")
    for name in names:
        superuser.execute(f"DROP DATABASE IF EXISTS `{name}`")
        superuser.execute(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
    url = make_url(server_url)
    yield [url.set(database=name).render_as_string(hide_password=False) for name in names]
    for name in names:
        superuser.execute(f"DROP DATABASE `{name}`")


@pytest.fixture
def place(databases: list[str]) -> Place:
    """The queues of this test, whose tables are in whichever database the connection uses."""
    with duerow.connect(databases[0], migrate=True) as db:
        db.queue("mail").remove(where="attempts >= 0")
    return Place(databases[0])


@pytest.fixture
def elsewhere(databases: list[str]) -> Place:
    """Another database of the server."""
    return Place(databases[1])


@in_ways(ways("mariadb"))
def test_a_transaction_of_another_database_is_refused(
    db: Database, queue: Queue, place: Place, elsewhere: Place, face: Face, way: Way
) -> None:
    refuse_elsewhere(db, queue, place, elsewhere, face, way)
