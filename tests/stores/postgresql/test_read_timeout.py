"""The limit of a read for people is PostgreSQL's statement_timeout, for that read alone."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import create_engine, func, make_url, select, text
from sqlalchemy.ext.asyncio import create_async_engine

import duerow
import duerow.aio
from duerow.conditions.model import In, some
from duerow.errors import InvalidCondition
from duerow.plan import BEGIN, Plan
from duerow.stores.sql.statements import Statement, Step
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face
from tests.stores.held_reads import *  # noqa: F403 - where a lock keeps readers waiting

SHOWN = select(func.current_setting("statement_timeout"))

LEVELS = [None, "AUTOCOMMIT"]


def told() -> Plan[list[str]]:
    """Read the setting as a read for people, and as any other before and after it."""
    found: list[str] = []
    yield BEGIN
    for bounded in (False, True, False):
        rows = yield Step(Statement(SHOWN, kept=False, bounded=bounded), {})
        found.append(rows[0][0])
    return found


def told_alone() -> Plan[list[str]]:
    """The same without a transaction around it."""
    rows = yield Step(Statement(SHOWN, kept=False, bounded=True), {})
    again = yield Step(Statement(SHOWN, kept=False), {})
    return [rows[0][0], again[0][0]]


def test_the_limit_holds_for_the_read_alone(face: Face, place: Place) -> None:
    with closing(face.connect(place.url, read_timeout=timedelta(seconds=7), **place.settings)) as database:
        assert database.run(told) == ["0", "7s", "0"]
        assert database.run(told_alone) == ["7s", "0"]
    with closing(face.connect(place.url, **place.settings)) as database:
        assert database.run(told) == ["0", "30s", "0"]
    with closing(face.connect(place.url, read_timeout=None, **place.settings)) as database:
        assert database.run(told) == ["0", "0", "0"]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_so_it_does_on_an_engine_of_the_users_own_and_a_shorter_limit_there_is_kept(
    driver: str, level: str | None, place: Place
) -> None:
    arguments: dict[str, Any] = {} if level is None else {"isolation_level": level}
    url = make_url(place.url).set(drivername=f"postgresql+{driver}")
    engine = create_engine(url, connect_args={"options": "-c statement_timeout=8s"}, **arguments)
    for limit, shown in ((7, "7s"), (9, "8s")):
        database = duerow.connect(engine, read_timeout=timedelta(seconds=limit), **place.settings)
        assert database.run(told) == ["8s", shown, "8s"]
        assert database.run(told_alone) == [shown, "8s"]
    engine.dispose()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
async def test_so_it_does_on_an_async_engine(driver: str, level: str | None, place: Place) -> None:
    arguments: dict[str, Any] = {} if level is None else {"isolation_level": level}
    engine = create_async_engine(make_url(place.url).set(drivername=f"postgresql+{driver}"), **arguments)
    database = await duerow.aio.connect(engine, read_timeout=timedelta(seconds=7), **place.settings)
    assert await database.run(told) == ["0", "7s", "0"]
    assert await database.run(told_alone) == ["7s", "0"]
    await engine.dispose()


@pytest.mark.parametrize("face", ["sync", pytest.param("async", marks=pytest.mark.soak)], indirect=True)
def test_more_values_than_a_statement_takes_are_refused_before_they_are_sent(face: Face, place: Place) -> None:
    def plan() -> Plan[Any]:
        values = {f"v{number}": number for number in range(32_767)}
        asked = text("SELECT 1 WHERE 1 IN (" + ", ".join(f":{name}" for name in values) + ")").bindparams(**values)
        return (yield Step(Statement(asked, kept=False), {}))

    with closing(face.connect(place.url, **place.settings)) as database:
        with pytest.raises(InvalidCondition, match=r"at most 32,766 values here, and this one has 32,767"):
            database.run(plan)
        most = some(*(In(("payload", "a"), tuple(range(1_000))) for _ in range(10)))
        assert database.queue("mail").find(most) == []
