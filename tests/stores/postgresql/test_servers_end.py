"""An ended session, a server that only reads or has no space: an outage, and the connection is discarded."""

from __future__ import annotations

import asyncio
import gc
import time

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import event
from sqlalchemy.exc import SAWarning

import duerow
from duerow import Draft, aio
from duerow.errors import StoreUnavailable
from duerow.stores.sql.connections.engines import AT_HAND, RESTED
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face
from duerow.testing.worker_harness import eventually

IDLE_SESSION, IDLE_IN_TRANSACTION, DROPPED, READ_ONLY = "57P05", "25P03", "57P04", "25006"
FULL_DISK = "53100"


@pytest.mark.parametrize("state", [IDLE_SESSION, IDLE_IN_TRANSACTION, DROPPED, READ_ONLY, FULL_DISK])
def test_it_is_worth_trying_again(state: str) -> None:
    error = psycopg.errors.lookup(state)("as the server says")
    assert isinstance(PostgreSQL().explain(error), StoreUnavailable)


def test_a_standby_takes_no_push_but_may_become_the_primary(place: Place) -> None:
    standby = f"{place.url}{'&' if '?' in place.url else '?'}options=-c%20default_transaction_read_only%3Don"
    with duerow.connect(standby, **place.settings) as db, pytest.raises(StoreUnavailable, match="25006"):
        db.queue("mail").push(1)


def named(place: Place) -> str:
    """The URL of sessions that `end` ends."""
    return f"{place.url}{'&' if '?' in place.url else '?'}application_name=to_be_ended"


def sessions(superuser: psycopg.Connection) -> set[int]:
    """The processes of the server for these sessions."""
    asking = "SELECT pid FROM pg_stat_activity WHERE application_name = 'to_be_ended'"
    return {pid for (pid,) in superuser.execute(asking)}


def waits(superuser: psycopg.Connection, session: int) -> bool:
    """Whether it waits for a lock."""
    asking = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"
    return superuser.execute(asking, [session]).fetchone() == (True,)


def let_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Move the clock, so that idle connections have rested long enough to be tested before they are used."""
    now = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + 2 * RESTED)


def end(superuser: psycopg.Connection) -> None:
    """Wait until the session is gone."""
    ending = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'to_be_ended'"
    assert superuser.execute(ending).fetchall() == [(True,)]


def test_a_session_that_was_ended_is_not_used_again(face: Face, place: Place, superuser: psycopg.Connection) -> None:
    with face.connect(named(place), **place.settings) as db:
        queue = db.queue("mail")
        queue.push(1)
        end(superuser)
        with pytest.raises(StoreUnavailable) as broken:
            queue.push(2)
        assert broken.value.outcome == "unknown"
        queue.push(3)
        assert [message.payload for message in queue.find()] == [1, 3]


def test_a_session_that_ended_while_it_rested_is_replaced_before_it_is_used(
    face: Face, place: Place, superuser: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with face.connect(named(place), **place.settings) as db:
        queue = db.queue("mail")
        queue.push(1)
        end(superuser)
        let_rest(monkeypatch)
        queue.push(2)
        assert [message.payload for message in queue.find()] == [1, 2]


def test_calls_one_after_the_other_have_the_same_session_even_after_a_rest(
    face: Face, place: Place, superuser: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with face.connect(named(place), **place.settings) as db:
        queue = db.queue("mail")
        queue.push(1)
        first = sessions(superuser)
        let_rest(monkeypatch)
        queue.push(2)
        queue.push_many([Draft(3), Draft(4)])
        assert sessions(superuser) == first
        assert len(first) == 1


async def test_awaited_calls_one_after_the_other_ask_the_pool_once(place: Place) -> None:
    asked: list[object] = []
    async with await aio.connect(place.url, **place.settings) as db:
        await db.queue("mail").push(0)
        event.listen(db.connections.engine.sync_engine, "checkout", lambda *given: asked.append(given))
        for number in range(5):
            await db.queue("mail").push(number)
    assert asked == []


async def test_after_many_awaited_calls_at_once_close_leaves_no_session(
    place: Place, superuser: psycopg.Connection, recwarn: pytest.WarningsRecorder
) -> None:
    async with await aio.connect(named(place), **place.settings) as db:
        queue = db.queue("mail")
        for _ in range(3):
            await asyncio.gather(*(queue.push(number) for number in range(3 * AT_HAND)))
        assert len(sessions(superuser)) > AT_HAND
        assert await queue.count() == 9 * AT_HAND
    await asyncio.to_thread(eventually, lambda: not sessions(superuser))
    assert [str(one.message) for one in recwarn if issubclass(one.category, ResourceWarning)] == []


async def test_a_cancelled_call_ends_its_session_even_if_its_task_is_kept(
    place: Place, superuser: psycopg.Connection
) -> None:
    async with await aio.connect(named(place), **place.settings) as db:
        queue = db.queue("mail")
        await queue.push(0)  # this session is now at hand
        [session] = sessions(superuser)
        table = sql.Identifier(place.settings["schema"], "duerow_message")
        with psycopg.connect(place.url) as locking:  # in a transaction, `superuser` would see the same sessions forever
            locking.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(table))
            waiting = asyncio.ensure_future(queue.push(1))
            await asyncio.to_thread(eventually, lambda: waits(superuser, session))
            waiting.cancel()
            await asyncio.wait([waiting])
            await asyncio.to_thread(eventually, lambda: session not in sessions(superuser))
        assert waiting.cancelled()
        assert [message.payload for message in await queue.find()] == [0]


def test_a_handle_outlives_an_event_loop_that_did_not_close_it(place: Place, recwarn: pytest.WarningsRecorder) -> None:
    async def push(number: int, db: aio.Database | None) -> aio.Database:
        db = db or await aio.connect(place.url, **place.settings)
        await db.queue("mail").push(number)
        await db.queue("mail").push(number)
        return db

    async def end(db: aio.Database) -> list[int]:
        found = [message.payload for message in await db.queue("mail").find()]
        await db.close()
        return found

    db = asyncio.run(push(1, None))
    asyncio.run(push(2, db))
    gc.collect()
    assert asyncio.run(end(db)) == [1, 1, 2, 2]
    assert [one for one in recwarn if issubclass(one.category, SAWarning)] == []
