"""Two databases, of every two families that messages can go between."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import pymongo
import pytest

import duerow
from duerow import Database, aio
from duerow.queue.copy import Copied
from duerow.testing.clock import MovableClock
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import AwaitedFace, BlockingFace, Face, unwrapped
from tests.stores.mongodb import conftest as mongodb
from tests.stores.postgresql import conftest as postgresql

PAIRS = [
    ("memory", "sqlite", "sync"),
    ("sqlite", "memory", "async"),
    ("sqlite", "postgresql", "async"),
    ("postgresql", "sqlite", "sync"),
    ("memory", "postgresql", "sync"),
    ("postgresql", "memory", "async"),
    ("sqlite", "sqlite", "sync"),
    ("postgresql", "postgresql", "async"),
    ("sqlite", "mongodb", "sync"),
    ("mongodb", "sqlite", "async"),
]


@dataclass
class Pair:
    """Two databases, and what opens and copies by the face of this test."""

    face: Face
    places: dict[str, Place]
    clock: MovableClock | None
    opened: ExitStack = field(default_factory=ExitStack)

    def open(self, which: str, **more: Any) -> Database:
        """Open the `source` or the `target`."""
        place = self.places[which]
        settings = {"clock": self.clock, **place.settings, **more}
        return self.opened.enter_context(self.face.connect(place.url, migrate=True, **settings))

    def copy(self, source: Database, target: Database, queue: str = "mail", **terms: Any) -> Copied:
        """Copy by the face."""
        if isinstance(self.face, AwaitedFace):
            bare: Any = aio.copy(unwrapped(source), unwrapped(target), queue, **terms)  # type: ignore[arg-type]
            return self.face.run(bare)  # type: ignore[no-any-return]
        return duerow.copy(source, target, queue, **terms)


Make = Callable[[str, str, str], Pair]


class Shared:
    """Tables for sources on a server, and others for targets.

    One test after the other uses them, since to make them takes longer than many tests.

    Args:
        url: the server.
        empty: empties the tables of a place.
    """

    def __init__(self, url: str, empty: Callable[[Place], object]) -> None:
        self._url, self._empty = url, empty
        self._made: set[str] = set()

    def place(self, which: str) -> Place:
        """Return the place of the `source` or the `target`, with empty tables."""
        place = Place(self._url, {"schema": f"copy_{which}"})
        if which not in self._made:
            duerow.connect(place.url, migrate=True, **place.settings).close()
            self._made.add(which)
        self._empty(place)
        return place


@pytest.fixture(scope="package")
def on_postgresql(postgresql_url: str) -> Iterator[Shared]:
    """Tables of PostgreSQL."""
    with closing(psycopg.connect(postgresql_url, autocommit=True)) as connection:
        connection.execute("SET client_min_messages = warning")
        emptying = cache(partial(postgresql.emptying, connection))
        yield Shared(postgresql_url, lambda place: connection.execute(emptying(place.settings["schema"])))


@pytest.fixture(scope="package")
def on_mongodb(mongodb_url: str) -> Iterator[Shared]:
    """Collections of MongoDB."""
    with pymongo.MongoClient[dict[str, Any]](mongodb_url) as client:
        yield Shared(mongodb_url, lambda place: mongodb.tidy(place, client))


@pytest.fixture
def make_pair(
    request: pytest.FixtureRequest, tmp_path: Path, sqlite_tables: Path, clock: MovableClock
) -> Iterator[Make]:
    """A function that makes a pair of two families and a face, under the movable clock."""
    with ExitStack() as ended:

        def place(family: str, which: str) -> Place:
            if family == "memory":
                return Place(f"memory://{uuid.uuid4().hex}")
            if family == "sqlite":
                file = shutil.copyfile(sqlite_tables, tmp_path / f"{which}.db")
                return Place(f"sqlite:///{file}?synchronous=NORMAL")
            shared: Shared = request.getfixturevalue(f"on_{family}")
            return shared.place(which)

        def make(source: str, target: str, face: str) -> Pair:
            awaited = BlockingFace() if face == "sync" else ended.enter_context(AwaitedFace())
            pair = Pair(awaited, {"source": place(source, "source"), "target": place(target, "target")}, clock)
            ended.callback(pair.opened.close)
            return pair

        yield make


@pytest.fixture(params=PAIRS, ids="-".join)
def pair(request: pytest.FixtureRequest, make_pair: Make, at_once: None) -> Pair:
    """Every two families, by one face or the other."""
    return make_pair(*request.param)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else is there who would have to see that a queue is paused."""
    for face in ("sync", "aio"):
        monkeypatch.setattr(import_module(f"duerow.{face}.copy_checks"), "PAUSE_SEEN", 0.0)
