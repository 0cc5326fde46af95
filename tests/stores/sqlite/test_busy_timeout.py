"""A write that waits for a transaction which cannot end, the caller's own, is told so after one busy timeout."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from duerow import Draft
from duerow.errors import Conflict
from duerow.stores.sql.connections.aio.connections import AwaitedConnections
from duerow.stores.sql.connections.sync.connections import BlockingConnections
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by one whenever a connection is taken for a try."""
    tries: list[str] = []
    for connections in (BlockingConnections, AwaitedConnections):
        monkeypatch.setattr(connections, "open", counted(connections.open, tries))
    return tries


def counted(method: Any, tries: list[str]) -> Any:
    def open_one(self: Any) -> Any:
        tries.append("one")
        return method(self)

    return open_one


@pytest.fixture
def ours(place: Place) -> Iterator[sqlite3.Connection]:
    """A connection of the application's, in the middle of a write."""
    with closing(sqlite3.connect(place.url.removeprefix("sqlite:///"))) as connection:
        connection.execute("CREATE TABLE business (total)")
        connection.execute("INSERT INTO business VALUES (1)")
        yield connection


def test_within_that_was_forgotten_is_told_after_one_try(
    face: Face, place: Place, ours: sqlite3.Connection, opened: list[str]
) -> None:
    db = face.connect(f"{place.url}?busy_timeout=20", **place.settings)
    queue = db.queue("mail")
    for write in (lambda: queue.push("hello"), lambda: queue.push_many([Draft("one"), Draft("two", key="two")])):
        opened.clear()
        with pytest.raises(Conflict, match="within=") as told:
            write()
        assert (told.value.waited, told.value.outcome, len(opened)) == (True, "none", 1)
    ours.rollback()
    assert queue.push("hello").outcome == "created"
    db.close()
