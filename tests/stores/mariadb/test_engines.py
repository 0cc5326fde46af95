"""A write of several statements is one transaction at READ COMMITTED, also on an engine of the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar

import pytest
from sqlalchemy import Engine, NullPool, create_engine, func, make_url, select
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

import duerow
import duerow.aio
from duerow import Draft
from duerow.entity import EntityQueue, QueueState, queue_state
from duerow.errors import ConfigurationError, StoreUnavailable
from duerow.testing.clock import MovableClock, hours
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face

LEVELS = [None, "AUTOCOMMIT", "READ COMMITTED", "SERIALIZABLE"]


def options(level: str | None) -> dict[str, Any]:
    return {} if level is None else {"isolation_level": level}


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> str | None:
    """How the user's engine ends its transactions; None: as the driver does by default."""
    found: str | None = request.param
    return found


@pytest.fixture
def engine(place: Place, level: str | None) -> Iterator[Engine]:
    """A blocking engine of the user's own, whose sessions live in another time zone."""
    url = make_url(place.url).set(drivername="mysql+pymysql")
    made = create_engine(url, connect_args={"init_command": "SET time_zone = '+05:45'"}, **options(level))
    yield made
    made.dispose()


def seen_by_others(superuser: Any, place: Place) -> list[str]:
    superuser.execute(f"SELECT status FROM `{place.settings['schema']}`.duerow_message ORDER BY id")
    return [status for (status,) in superuser.fetchall()]


def spoil(superuser: Any, place: Place) -> None:
    """Give all messages headers that nobody can read."""
    superuser.execute(f"UPDATE `{place.settings['schema']}`.duerow_message SET headers = '[]'")


def test_what_was_written_in_several_steps_is_there_for_all(engine: Engine, place: Place, superuser: Any) -> None:
    clock = MovableClock()
    db = duerow.connect(engine, clock=clock, **place.settings)
    queue = db.queue("mail")
    queue.push_many([Draft(1), Draft(2, key="two")])
    assert seen_by_others(superuser, place) == ["new", "new"]
    queue.push(3)
    reservation = queue.reserve()
    assert reservation is not None
    queue.rollback(reservation, delay=hours(1))
    assert seen_by_others(superuser, place) == ["error", "new", "new"]
    spoil(superuser, place)
    assert queue.pop() is None
    assert seen_by_others(superuser, place) == ["error", "dead", "dead"]
    first = db.schedule("hourly", every=hours(1), queue="mail", payload={"a": 1})
    assert db.schedule("hourly", every=hours(1), queue="mail", payload={"a": 1}) == first
    clock.advance(hours(1))
    assert (db.maintain().pushed, db.maintain().pushed) == (1, 0)
    assert db.unschedule("hourly")


def refusal(act: Any) -> str:
    with pytest.raises(ConfigurationError) as refused:
        act()
    return str(refused.value)


def test_an_engine_on_a_driver_that_nobody_tried_is_refused(place: Place) -> None:
    own = type("Connection", (), {"__module__": "MySQLdb.connections", "close": lambda self: None})
    url = make_url(place.url).set(drivername="mysql+pymysql")
    engine = create_engine(url, creator=own, poolclass=NullPool, _initialize=False)
    assert "MySQLdb; queues on MySQL and MariaDB need mysql+pymysql" in refusal(
        lambda: duerow.connect(engine, **place.settings)
    )


async def test_a_connection_that_would_make_question_marks_of_text_is_refused(place: Place) -> None:
    latin = make_url(place.url).update_query_dict({"charset": "latin1"})
    blocking, awaited = (latin.set(drivername=f"mysql+{driver}") for driver in ("pymysql", "asyncmy"))
    said = [refusal(lambda: duerow.connect(latin.render_as_string(hide_password=False), **place.settings))]
    engine, others = create_engine(blocking), create_async_engine(awaited)
    with duerow.connect(place.url, **place.settings) as db, engine.connect() as own:
        queue = db.queue("mail")
        queue.push("é😀", key="😀")
        said += [refusal(lambda: duerow.connect(engine, **place.settings))]
        said += [refusal(partial(queue.pop, within=one)) for one in (own, own.connection.driver_connection)]
        assert [(message.payload, message.key) for message in queue.find()] == [("é😀", "😀")]
    async with await duerow.aio.connect(place.url, **place.settings) as db, others.connect() as own:
        with pytest.raises(ConfigurationError) as refused:
            await db.queue("mail").pop(within=own)
        said.append(str(refused.value))
    assert all("charset=utf8mb4" in one for one in said)
    engine.dispose()
    await others.dispose()


async def test_so_it_is_through_an_async_engine(place: Place, level: str | None, superuser: Any) -> None:
    engine = create_async_engine(make_url(place.url).set(drivername="mysql+asyncmy"), **options(level))
    db = await duerow.aio.connect(engine, **place.settings)
    queue = db.queue("mail")
    await queue.push_many([Draft(1), Draft(2, key="two")])
    assert seen_by_others(superuser, place) == ["new", "new"]
    reservation = await queue.reserve()
    assert reservation is not None
    await queue.rollback(reservation, delay=hours(1))
    assert seen_by_others(superuser, place) == ["error", "new"]
    spoil(superuser, place)
    assert await queue.pop_many(2) == []
    assert seen_by_others(superuser, place) == ["error", "dead"]
    await engine.dispose()


def test_moments_are_in_utc_whatever_the_session_says(engine: Engine, place: Place) -> None:
    queue = duerow.connect(engine, **place.settings).queue("mail")
    with duerow.connect(place.url, **place.settings) as db:
        pushed = queue.push(1, delay=timedelta(minutes=1))
        db.queue("mail").push(2)
        theirs, ours = queue.find()
        assert ours.payload == 2
        assert theirs.id == pushed.id
        assert abs(theirs.created_at - ours.created_at) < timedelta(seconds=30)
        assert theirs.due_at == theirs.created_at + timedelta(minutes=1)


def test_a_backslash_is_one_where_the_server_takes_it_for_one(place: Place) -> None:
    url = make_url(place.url).set(drivername="mysql+pymysql")
    engine = create_engine(url, connect_args={"init_command": "SET sql_mode = 'NO_BACKSLASH_ESCAPES'"})
    queue = duerow.connect(engine, **place.settings).queue("mail")
    texts = ["\\", 'a"|', "a\\b%"]
    with engine.connect() as connection:
        for text in texts:
            queue.push({"a": "is to be replaced"}, key=text, within=connection)
            queue.push({"a": text}, key=text, on_duplicate="replace", within=connection)
        connection.commit()
    assert [message.payload["a"] for message in queue.find()] == texts
    assert [queue.count(f"payload.a like '{pattern}'") for pattern in (r"\\", "a_|", r"a\\b\%", r"%\%")] == [1] * 4
    engine.dispose()


def test_a_server_that_nobody_runs_is_an_error_of_duerows_own(face: Face) -> None:
    with pytest.raises(StoreUnavailable) as refused:
        face.connect("mysql://nobody@127.0.0.1:1/none")
    assert refused.value.outcome == "none"


def test_a_connection_of_the_users_engine_that_was_lost_is_an_error_of_duerows_own(
    engine: Engine, place: Place, superuser: Any
) -> None:
    queue = duerow.connect(engine, **place.settings).queue("mail")
    with engine.connect() as connection:
        id = connection.scalar(select(func.connection_id()))
    superuser.execute(f"KILL {id}")  # while it rests in the pool
    with pytest.raises(StoreUnavailable):
        queue.reserve()
    assert queue.reserve() is None


async def test_so_it_is_if_an_async_engine_has_lost_it(place: Place, level: str | None, superuser: Any) -> None:
    engine = create_async_engine(make_url(place.url).set(drivername="mysql+asyncmy"), **options(level))
    queue = (await duerow.aio.connect(engine, **place.settings)).queue("mail")
    async with engine.connect() as connection:
        id = await connection.scalar(select(func.connection_id()))
    superuser.execute(f"KILL {id}")
    with pytest.raises(StoreUnavailable):
        await queue.reserve()
    assert await queue.reserve() is None
    await engine.dispose()


def test_a_setting_that_there_is_none_of_is_refused(place: Place) -> None:
    with pytest.raises(ConfigurationError, match="has no setting busy_timeout"):
        duerow.connect(place.url, busy_timeout=5)


class Base(DeclarativeBase):
    """The application's own tables."""


class Sms(Base):
    """A row that would be a message."""

    __tablename__ = "sms"
    __table_args__: ClassVar = {"mysql_engine": "MyISAM"}
    id: Mapped[int] = mapped_column(primary_key=True)
    sending: Mapped[QueueState] = queue_state("sending")


def test_a_table_of_the_users_own_without_transactions_is_refused_as_a_queue(place: Place) -> None:
    engine = create_engine(make_url(place.url).set(drivername="mysql+pymysql"))
    Base.metadata.create_all(engine)
    try:
        with pytest.raises(ConfigurationError, match=r"table sms uses MyISAM.* ENGINE=InnoDB"):
            EntityQueue(Sms.sending, engine).check()
    finally:
        Base.metadata.drop_all(engine)
        engine.dispose()
