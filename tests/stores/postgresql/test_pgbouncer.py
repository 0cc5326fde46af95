"""Behind PgBouncer itself, in both modes: pushes, workers and transactions of the caller's own."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import create_engine

import duerow
from duerow import aio
from duerow.testing.conformance.fixtures import Place
from tests.servers import pgbouncer


@pytest.fixture(params=pgbouncer.MODES)
def pooled(request: pytest.FixtureRequest, postgresql_url: str) -> Iterator[Place]:
    """A migrated database behind a pooler that has two connections to the server."""
    with pgbouncer.pooling(postgresql_url, request.param, 2 if request.param == "transaction" else 20) as url:
        place = Place(url, {"prefix": f"pooled_{request.param}_"})
        duerow.connect(place.url, migrate=True, **place.settings).close()
        yield place


def test_workers_handle_every_message_once(pooled: Place):
    handled: list[int] = []
    with duerow.connect(pooled.url, **pooled.settings) as database:
        queue = database.queue("mail")
        queue.push_many([duerow.Draft(number) for number in range(30)])
        poll = timedelta(milliseconds=50)
        duerow.Worker(queue, lambda message: handled.append(message.payload), batch=4, concurrency=3, poll=poll).run(
            until="empty", signals=False
        )
    assert sorted(handled) == list(range(30))


def test_async_code_pushes_reserves_and_settles(pooled: Place):
    async def work() -> int:
        async with await aio.connect(pooled.url, **pooled.settings) as database:
            queue = database.queue("post")
            await queue.push_many([duerow.Draft(number) for number in range(30)])
            done = 0
            while reservations := await queue.reserve_many(7):
                assert await queue.commit_many(reservations) == []
                done += len(reservations)
            return done

    assert asyncio.run(work()) == 30


def test_a_push_within_the_callers_transaction_is_undone_with_it(pooled: Place):
    plain = pooled.url.partition("?")[0].replace("postgresql://", "postgresql+psycopg://")
    engine = create_engine(plain, connect_args={"prepare_threshold": None})
    with duerow.connect(pooled.url, **pooled.settings) as database, engine.connect() as connection:
        queue = database.queue("orders")
        queue.push(1, within=connection)
        connection.rollback()
        queue.push(2, within=connection)
        connection.commit()
        assert [message.payload for message in queue.find()] == [2]
    engine.dispose()
