"""Transactional handlers write through the user's own engine as well, whatever its driver and its isolation are."""

from __future__ import annotations

import asyncio
import itertools
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, event, text
from sqlalchemy.ext.asyncio import create_async_engine

import duerow
from duerow import Draft, Message, aio, fixed, limited
from duerow.sync.worker import Worker
from duerow.testing.conformance.fixtures import Place

ONCE = limited(1, fixed(timedelta(0)))
BLOCKING = ["sqlite+pysqlite", "postgresql+psycopg", "postgresql+psycopg2"]
AWAITED = ["sqlite+aiosqlite", "postgresql+psycopg_async", "postgresql+asyncpg"]
ISOLATIONS = [{}, {"isolation_level": "AUTOCOMMIT"}, {"isolation_level": "SERIALIZABLE"}]

_numbers = itertools.count()


@pytest.fixture
def urls(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    """A function that gives the URL of a database for a driver, where its tables are, and a name for one more."""

    def url(driver: str) -> tuple[str, dict[str, str], str]:
        if driver.startswith("sqlite"):
            return f"{driver}:///{tmp_path}/own.db", {}, "effect"
        request.getfixturevalue("superuser").execute(request.getfixturevalue("tidied"))
        place: Place = request.getfixturevalue("migrated")
        return place.url.replace("postgresql://", f"{driver}://"), place.settings, f"effect{next(_numbers)}"

    return url


@pytest.mark.parametrize("isolation", ISOLATIONS, ids=str)
@pytest.mark.parametrize("driver", BLOCKING)
def test_blocking(urls: Any, driver: str, isolation: dict[str, Any]) -> None:
    url, where, effect = urls(driver)
    engine = create_engine(url, **isolation)
    with duerow.connect(engine, migrate=True, **where) as db:
        mail = db.queue("mail", retry=ONCE)
        with engine.begin() as connection:
            connection.execute(text(f"CREATE TABLE {effect} (n INTEGER)"))
        mail.push_many([Draft(number) for number in range(6)])

        def handle(message: Message, connection: Any) -> None:
            connection.execute(text(f"SELECT count(*) FROM {effect}")).scalar_one()
            connection.execute(text(f"INSERT INTO {effect} VALUES (:n)"), {"n": message.payload})
            if message.payload % 2:
                raise ValueError("odd")

        Worker(mail, handle, transactional=True).run("empty")
        with engine.connect() as connection:
            assert connection.execute(text(f"SELECT n FROM {effect} ORDER BY n")).scalars().all() == [0, 2, 4]
        assert [(one.payload, one.status) for one in mail.find()] == [(1, "dead"), (3, "dead"), (5, "dead")]
    engine.dispose()


@pytest.mark.parametrize("isolation", ISOLATIONS, ids=str)
@pytest.mark.parametrize("driver", AWAITED)
def test_awaited(urls: Any, driver: str, isolation: dict[str, Any]) -> None:
    asyncio.run(_awaited(*urls(driver), isolation))


async def _awaited(url: str, where: dict[str, Any], effect: str, isolation: dict[str, Any]) -> None:
    engine = create_async_engine(url, **isolation)
    async with await aio.connect(engine, migrate=True, **where) as db:
        mail = db.queue("mail", retry=ONCE)
        async with engine.begin() as connection:
            await connection.execute(text(f"CREATE TABLE {effect} (n INTEGER)"))
        await mail.push_many([Draft(number) for number in range(6)])

        async def handle(message: Message, connection: Any) -> None:
            (await connection.execute(text(f"SELECT count(*) FROM {effect}"))).scalar_one()
            await connection.execute(text(f"INSERT INTO {effect} VALUES (:n)"), {"n": message.payload})
            if message.payload % 2:
                raise ValueError("odd")

        await aio.Worker(mail, handle, transactional=True).run("empty")
        async with engine.connect() as connection:
            found = await connection.execute(text(f"SELECT n FROM {effect} ORDER BY n"))
            assert found.scalars().all() == [0, 2, 4]
        assert [(one.payload, one.status) for one in await mail.find()] == [(1, "dead"), (3, "dead"), (5, "dead")]
    await engine.dispose()


def test_sqlite_with_the_recipe_that_begins_by_hand(urls: Any) -> None:
    url, *_ = urls("sqlite+pysqlite")
    engine = create_engine(url)

    @event.listens_for(engine, "connect")
    def leave_it_alone(connection: Any, _: Any) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN")

    with duerow.connect(engine, migrate=True) as db:
        mail = db.queue("mail", retry=ONCE)
        mail.push_many([Draft(number) for number in range(3)])
        Worker(mail, lambda message, connection: connection.execute(text("SELECT 1")), transactional=True).run("empty")
        assert mail.count() == 0
        mail.push("after")
        assert mail.pop() is not None
    engine.dispose()
