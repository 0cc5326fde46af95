"""How an application may hold the transaction that it gives to `within=`: one way for each test of that promise."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import AwaitedFace, Face


@dataclass(frozen=True)
class Transaction:
    """A transaction that belongs to the test."""

    handle: Any
    commit: Callable[[], object]
    rollback: Callable[[], object]


Opening = Callable[[Place, Any], AbstractContextManager[Transaction]]


@dataclass(frozen=True)
class Way:
    """One way to hold a transaction: its name, the face that it suits, and how it is opened."""

    name: str
    face: str
    open: Opening


def parametrize(metafunc: pytest.Metafunc, ways: Sequence[Way]) -> None:
    """Run each test that asks for `begin` in every one of these ways, on the face that suits it."""
    if "begin" in metafunc.fixturenames:
        pairs = [(way.face, way) for way in ways]
        names = [f"{way.face}-{way.name}" for way in ways]
        mark = pytest.mark.parametrize(("face", "begin"), pairs, ids=names, indirect=True)
        metafunc.definition.add_marker(mark)


@pytest.fixture
def begin(
    request: pytest.FixtureRequest, face: Face, place: Place
) -> Callable[[], AbstractContextManager[Transaction]]:
    """Opens a transaction in the way of this test."""
    way: Way = request.param
    return lambda: way.open(place, face)


# SQLAlchemy, on any database.


def connection(url: str, **options: Any) -> Opening:
    """A Connection of an Engine of the application's own."""

    @contextmanager
    def opening(place: Place, face: Face) -> Iterator[Transaction]:
        with engine_at(located(url, place), **options).connect() as own:
            yield Transaction(own, own.commit, own.rollback)

    return opening


def session(url: str, **options: Any) -> Opening:
    """An ORM Session."""

    @contextmanager
    def opening(place: Place, face: Face) -> Iterator[Transaction]:
        with Session(engine_at(located(url, place), **options)) as own:
            yield Transaction(own, own.commit, own.rollback)

    return opening


def async_connection(url: str, **options: Any) -> Opening:
    """An AsyncConnection."""

    @contextmanager
    def opening(place: Place, face: AwaitedFace) -> Iterator[Transaction]:
        own = face.run(async_engine_at(located(url, place), **options).connect().start())
        try:
            yield Transaction(own, lambda: face.run(own.commit()), lambda: face.run(own.rollback()))
        finally:
            face.run(own.close())

    return opening


def async_session(url: str, **options: Any) -> Opening:
    """An AsyncSession."""

    @contextmanager
    def opening(place: Place, face: AwaitedFace) -> Iterator[Transaction]:
        own = AsyncSession(async_engine_at(located(url, place), **options))
        try:
            yield Transaction(own, lambda: face.run(own.commit()), lambda: face.run(own.rollback()))
        finally:
            face.run(own.close())

    return opening


@lru_cache(maxsize=4)
def engine_at(url: str, **options: Any) -> Engine:
    """An engine without a pool; an application has one for all its transactions."""
    return create_engine(url, poolclass=NullPool, **options)


@lru_cache(maxsize=4)
def async_engine_at(url: str, **options: Any) -> AsyncEngine:
    """Its awaited twin; each connection is of the loop that opens it."""
    return create_async_engine(url, poolclass=NullPool, **options)


def located(driver: str, place: Place) -> str:
    """The URL of the test's database, by another driver."""
    return driver + place.url[place.url.index("://") :]
