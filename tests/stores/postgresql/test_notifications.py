"""Workers hear of pushes, on whichever engine they listen."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import Any

import psycopg
import psycopg.sql
import pytest
from sqlalchemy import create_engine, make_url
from sqlalchemy.ext.asyncio import create_async_engine

import duerow
import duerow.aio
from duerow.errors import StoreUnavailable
from duerow.stores.sql.connections.listeners import AsyncNotifyListener, NotifyListener
from duerow.stores.sql.plans import next_due
from duerow.testing.conformance.fixtures import Place

LISTENING = "SELECT pid, state FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND pid != pg_backend_pid()"
LONG = 60.0
"""Seconds that a listener waits at most; it ends at once when it hears of a push."""


def notify(superuser: psycopg.Connection, database: Any) -> None:
    """Tell what a push tells while a consumer sleeps."""
    channel = database.connections.context.statements.context.channel
    superuser.execute("SELECT pg_notify(%s, 'mail')", [channel])


def listening(superuser: psycopg.Connection) -> dict[int, str]:
    """Return who listens, and what they do; other tests of this process may have left some."""
    return dict(superuser.execute(LISTENING).fetchall())


def test_a_push_is_heard_on_an_engine_of_the_users_own(place: Place, superuser: psycopg.Connection) -> None:
    engine, before = create_engine(make_url(place.url).set(drivername="postgresql+psycopg")), listening(superuser)
    with (
        duerow.connect(engine, **place.settings) as database,
        closing(database.connections.listen(["mail"])) as listener,
    ):
        assert [state for pid, state in listening(superuser).items() if pid not in before] == ["idle"]
        notify(superuser, database)
        assert listener.wait(LONG)
    engine.dispose()


async def test_a_push_is_heard_on_an_awaited_engine_of_the_users_own(
    place: Place, superuser: psycopg.Connection
) -> None:
    engine, before = create_async_engine(make_url(place.url).set(drivername="postgresql+psycopg")), listening(superuser)
    async with await duerow.aio.connect(engine, **place.settings) as database:
        listener = await database.connections.listen(["mail"])
        try:
            assert [state for pid, state in listening(superuser).items() if pid not in before] == ["idle"]
            notify(superuser, database)
            assert await listener.wait(LONG)
        finally:
            await listener.close()
    await engine.dispose()


AT_ONCE = """heard"; NOTIFY "heard", 'mail'; LISTEN "heard"""
"""A channel whose name has the server send a notification together with the answer to LISTEN."""


def test_a_push_is_heard_that_comes_with_the_answer_to_listen(postgresql_url: str) -> None:
    with closing(NotifyListener(psycopg.connect(postgresql_url), AT_ONCE, ["mail"])) as listener:
        assert listener.wait(LONG)


async def test_an_awaited_listener_hears_a_push_that_comes_with_the_answer_to_listen(postgresql_url: str) -> None:
    listener = AsyncNotifyListener(await psycopg.AsyncConnection.connect(postgresql_url), AT_ONCE, ["mail"])
    await listener.start()
    try:
        assert await listener.wait(LONG)
    finally:
        await listener.close()


def test_a_listener_that_the_server_hangs_up_on_says_so(postgresql_url: str, superuser: psycopg.Connection) -> None:
    connection = psycopg.connect(postgresql_url)
    with closing(NotifyListener(connection, "heard", ["mail"])) as listener:
        superuser.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
        with pytest.raises(StoreUnavailable, match="the connection that listens for pushes broke"):
            listener.wait(LONG)


async def test_an_awaited_listener_that_the_server_hangs_up_on_says_so(
    postgresql_url: str, superuser: psycopg.Connection
) -> None:
    connection = await psycopg.AsyncConnection.connect(postgresql_url)
    listener = AsyncNotifyListener(connection, "heard", ["mail"])
    await listener.start()
    superuser.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
    try:
        assert await listener.wait(LONG)
        with pytest.raises(StoreUnavailable, match="the connection that listens for pushes broke"):
            await listener.wait(LONG)
    finally:
        await listener.close()


def test_a_consumer_that_is_known_to_sleep_says_so_again_without_a_write(
    place: Place, superuser: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_due, "NOTE", timedelta(hours=1))
    noted = psycopg.sql.SQL("SELECT xmin::text, xmax::text FROM {}").format(
        psycopg.sql.Identifier(place.settings["schema"], "duerow_waiting")
    )
    with duerow.connect(place.url, **place.settings) as database:
        seen = []
        for _ in range(3):
            database.run(lambda: database.store.messages.next_due(["mail"], timedelta(seconds=5)))
            seen += superuser.execute(noted).fetchall()  # who wrote the row, and who locked it since
    assert len(seen) == 3
    assert len({*seen}) == 1
