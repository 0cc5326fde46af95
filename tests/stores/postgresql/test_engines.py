"""A write of several steps is one, whether an engine of the user's own commits each statement by itself or not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import Engine, create_engine, func, make_url, select
from sqlalchemy.ext.asyncio import create_async_engine

import duerow
import duerow.aio
from duerow import Draft, Join, Pipeline
from duerow.errors import Conflict, StoreUnavailable
from duerow.plan import BEGIN, Plan
from duerow.stores.sql.statements import Statement, Step
from duerow.testing.clock import MovableClock, hours
from duerow.testing.conformance.fixtures import Place
from duerow.testing.pipeline_steps import carry

LEVELS = [None, "AUTOCOMMIT", "READ COMMITTED", "SERIALIZABLE"]


def options(level: str | None) -> dict[str, Any]:
    return {} if level is None else {"isolation_level": level}


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> str | None:
    """How the user's engine ends its transactions; None: as the driver does by default."""
    found: str | None = request.param
    return found


@pytest.fixture(params=["psycopg", "psycopg2"])
def engine(request: pytest.FixtureRequest, place: Place, level: str | None) -> Iterator[Engine]:
    """A blocking engine of the user's own."""
    made = create_engine(make_url(place.url).set(drivername=f"postgresql+{request.param}"), **options(level))
    yield made
    made.dispose()


def spoil(superuser: psycopg.Connection, place: Place) -> None:
    """Give all messages headers that nobody can read."""
    message = sql.Identifier(place.settings["schema"], "duerow_message")
    superuser.execute(sql.SQL("UPDATE {} SET headers = '[]'").format(message))


def seen_by_others(superuser: psycopg.Connection, place: Place) -> list[str]:
    message = sql.Identifier(place.settings["schema"], "duerow_message")
    return [row[0] for row in superuser.execute(sql.SQL("SELECT status FROM {} ORDER BY id").format(message))]


def test_what_was_written_in_several_steps_is_there_for_all(
    engine: Engine, place: Place, superuser: psycopg.Connection
) -> None:
    queue = duerow.connect(engine, **place.settings).queue("mail")
    queue.push_many([Draft(1), Draft(2, key="two")])
    assert seen_by_others(superuser, place) == ["new", "new"]
    queue.push(3)
    assert seen_by_others(superuser, place) == ["new", "new", "new"]


def test_a_pop_that_cannot_be_read_is_undone_and_buried(
    engine: Engine, place: Place, superuser: psycopg.Connection
) -> None:
    queue = duerow.connect(engine, **place.settings).queue("mail")
    queue.push(1)
    spoil(superuser, place)
    assert queue.pop() is None
    assert seen_by_others(superuser, place) == ["dead"]


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
async def test_so_it_is_through_an_async_engine(
    driver: str, place: Place, level: str | None, superuser: psycopg.Connection
) -> None:
    engine = create_async_engine(make_url(place.url).set(drivername=f"postgresql+{driver}"), **options(level))
    queue = (await duerow.aio.connect(engine, **place.settings)).queue("mail")
    await queue.push_many([Draft(1), Draft(2, key="two")])
    assert seen_by_others(superuser, place) == ["new", "new"]
    spoil(superuser, place)
    assert await queue.pop_many(2) == []
    assert seen_by_others(superuser, place) == ["dead", "dead"]
    await engine.dispose()


def test_a_schedule_ticks_and_goes_on_to_its_next_tick(engine: Engine, place: Place) -> None:
    clock = MovableClock()
    db = duerow.connect(engine, clock=clock, **place.settings)
    first = db.schedule("hourly", every=hours(1), queue="mail", payload={"a": 1})
    assert db.schedule("hourly", every=hours(1), queue="mail", payload={"a": 1}) == first
    clock.advance(hours(1))
    assert (db.maintain().pushed, db.maintain().pushed) == (1, 0)
    with duerow.connect(place.url, **place.settings) as other:
        assert other.schedules()[0].last_at == clock.now()
        assert [message.payload for message in other.queue("mail").find()] == [{"a": 1}]
    assert db.unschedule("hourly")


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
async def test_so_it_does_through_an_async_engine(driver: str, place: Place, level: str | None) -> None:
    engine = create_async_engine(make_url(place.url).set(drivername=f"postgresql+{driver}"), **options(level))
    clock = MovableClock()
    db = await duerow.aio.connect(engine, clock=clock, **place.settings)
    await db.schedule("hourly", every=hours(1), queue="mail", payload={"a": 1})
    clock.advance(hours(1))
    assert [(await db.maintain()).pushed for _ in range(2)] == [1, 0]
    assert await db.queue("mail").count() == 1
    assert [kept.last_at for kept in await db.schedules()] == [clock.now()]
    assert await db.unschedule("hourly")
    await engine.dispose()


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
async def test_a_server_that_nobody_runs_is_an_error_of_duerows_own(driver: str) -> None:
    engine = create_async_engine(f"postgresql+{driver}://nobody@127.0.0.1:1/none")
    with pytest.raises(StoreUnavailable) as refused:
        await duerow.aio.connect(engine)
    assert refused.value.outcome == "none"


def test_a_turn_that_pushes_several_begins_one_transaction(place: Place) -> None:
    notices: list[str] = []
    with duerow.connect(place.url, **place.settings) as db:
        queue = db.queue("mail")
        queue.push(1)
        reservation = queue.reserve()
        assert reservation is not None
        with db.connections.open() as execute:
            raw: Any = execute
            raw.raw.add_notice_handler(lambda notice: notices.append(notice.message_primary))
        queue.commit(reservation, then=[Draft(1, queue="mail"), Draft(2, queue="mail")])
        assert queue.count() == 2
    assert notices == []


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_join_makes_each_set_once_on_engines_of_a_stricter_isolation(place: Place, level: str) -> None:
    join = Join("pair", len, by=lambda part: part.payload // 3, count=3, to="whole", lease=timedelta(milliseconds=200))
    pipeline = Pipeline("p", [join], outputs=["whole"])
    with duerow.connect(place.url, **place.settings) as database:
        database.queue("pair").push_many([Draft(part * 77 % 90) for part in range(90)])

    def work(engine: Engine) -> None:
        own = duerow.connect(engine, **place.settings)
        for _ in range(20):
            with suppress(Conflict):
                carry(own, pipeline, chunk=4)

    engines = [create_engine(make_url(place.url).set(drivername="postgresql+psycopg"), isolation_level=level)] * 3
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(work, engines))
    engines[0].dispose()
    with duerow.connect(place.url, **place.settings) as database:
        pipeline.run(database, until="empty")  # also what a lost transaction had claimed
        assert [message.payload for message in database.queue("whole").find()] == [3] * 30
        assert database.queue("pair/sets").count() == 0


@pytest.mark.parametrize("threshold", ["5", "none"], ids=["a session of its own", "behind a pooler"])
def test_its_own_transactions_are_read_committed_whatever_the_role_has_by_default(place: Place, threshold: str) -> None:
    strict = f"{place.url}{'&' if '?' in place.url else '?'}options=-c%20default_transaction_isolation%3Dserializable"

    def level() -> Plan[str]:
        yield BEGIN
        return (yield SHOW)[0][0]  # type: ignore[no-any-return]

    async def awaited() -> str:
        async with await duerow.aio.connect(strict, prepare_threshold=threshold, **place.settings) as database:
            return await database.run(level)

    with duerow.connect(strict, prepare_threshold=threshold, **place.settings) as database:
        assert database.run(level) == "read committed"
        if threshold != "none":
            assert database.run(lambda: only(SHOW)) == [("read committed",)]
    assert asyncio.run(awaited()) == "read committed"


SHOW = Step(Statement(select(func.current_setting("transaction_isolation"))), {})


def only(step: Step) -> Plan[list[Any]]:
    return (yield step)  # type: ignore[no-any-return]
