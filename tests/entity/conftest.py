"""Rows of a user's own tables as queues, on each family of databases and on both faces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, delete
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

from duerow import Worker, aio
from duerow.aio.entity import EntityQueue as AwaitedEntityQueue
from duerow.entity import EntityQueue
from duerow.testing.clock import MovableClock
from duerow.testing.faces import AwaitedFace, Face
from duerow.testing.worker_harness import blocking
from tests.entity.faces import engine_of_face, queue_of_face
from tests.entity.models import Base, Mail, engine_of
from tests.entity.modes import AT_ONCE, Handler
from tests.servers.fixtures import ON_MSSQL, ON_MYSQL
from tests.stores.mssql.callers import driven


@pytest.fixture(params=["sqlite", "postgresql", "mariadb", *ON_MYSQL, *ON_MSSQL])
def store(request: pytest.FixtureRequest) -> str:
    """The family of databases."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def prepared() -> Iterator[dict[str, Engine]]:
    """The engine of each family on which the tables were made already."""
    engines: dict[str, Engine] = {}
    yield engines
    for engine in engines.values():
        engine.dispose()


@pytest.fixture
def engine(
    store: str, prepared: dict[str, Engine], request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Engine:
    """The user's engine, over empty tables."""
    if store not in prepared:
        prepared[store] = engine_of(_url(store, request, tmp_path_factory))
        Base.metadata.create_all(prepared[store])
    engine = prepared[store]
    with engine.begin() as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(delete(table))
    return engine


@pytest.fixture
def url(engine: Engine, face: Face) -> str:
    """The URL of the same database for the face's own engine."""
    url = make_url(engine.url)
    if url.get_backend_name() == "sqlite":
        return f"sqlite+aiosqlite:///{url.database}" if face.name == "async" else f"sqlite:///{url.database}"
    if url.get_backend_name() == "mysql" and face.name == "async":
        url = url.set(drivername="mysql+asyncmy")
    if url.get_backend_name() == "mssql" and face.name == "async":
        url = url.set(drivername="mssql+aioodbc")
    return url.render_as_string(hide_password=False)


@pytest.fixture
def own_engine(face: Face, engine: Engine, url: str) -> Iterator[Any]:
    """The engine of the face under test."""
    if isinstance(face, AwaitedFace):
        with engine_of_face(face, url) as awaited:
            yield awaited
    else:
        yield engine


@pytest.fixture
def open_queue(face: Face, own_engine: Any, clock: MovableClock) -> Callable[..., Any]:
    """Makes entity queues of the face under test, by default of `Mail.sending`, under the movable clock."""

    def open_queue(state: Any = Mail.sending, **terms: Any) -> Any:
        return queue_of_face(face, state, own_engine, terms.pop("clock", clock), terms)

    return open_queue


@pytest.fixture
def add(engine: Engine, clock: MovableClock) -> Callable[..., list[int]]:
    """Inserts rows that are due now; returns their ids."""

    def add(*payloads: Any, model: Any = Mail) -> list[int]:
        with Session(engine) as session, session.begin():
            rows = [model(payload=payload, headers={}) for payload in payloads]
            for row in rows:
                row.sending.schedule(clock.now())
            session.add_all(rows)
            session.flush()
            return [row.id for row in rows]

    return add


@pytest.fixture
def look(engine: Engine) -> Callable[[int], Any]:
    """Reads a row anew; None if it is gone."""

    def look(id: int, model: Any = Mail) -> Any:
        with Session(engine) as session:
            return session.get(model, id)

    return look


@pytest.fixture
def work(face: Face, engine: Engine, url: str) -> Callable[..., None]:
    """Lets a worker over a state work until nothing is due, by the database's own clock."""

    def work(
        handler: Handler, retry: Any = AT_ONCE, on_done: Any = "keep", state: Any = Mail.sending, **terms: Any
    ) -> None:
        if not isinstance(face, AwaitedFace):
            queue: EntityQueue[Any] = EntityQueue(state, engine, retry=retry, on_done=on_done)
            Worker(queue, blocking(handler), **terms).run(until="idle")
            return

        async def run() -> None:
            own = create_async_engine(url)
            queue: AwaitedEntityQueue[Any] = AwaitedEntityQueue(state, own, retry=retry, on_done=on_done)
            await aio.Worker(queue, handler, **terms).run(until="idle")
            await own.dispose()

        asyncio.run(run())

    return work


def _url(store: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if store == "sqlite":
        file: Path = tmp_path_factory.mktemp("entity") / "app.db"
        return f"sqlite:///{file}"
    url: str = request.getfixturevalue(f"{store}_url")
    if store == "mssql":
        return driven(url, "pyodbc")
    return url.replace("postgresql://", "postgresql+psycopg://").replace("mysql://", "mysql+pymysql://")
