"""What a transactional handler writes stands there exactly once, wherever its worker was killed."""

import random
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text

import duerow
from duerow.testing.conformance.fixtures import Place
from tests.crash.conftest import Start
from tests.crash.transactional_consumer import NEXT, WORK, TransactionalConsumer, consume

NUMBERS = range(30)

POINTS = ["handler: written", "settle: before", "settle: step 1", "settle: done", "settle: committed"]


@pytest.fixture(params=["sync", "async"])
def consumer(place: Place, request: pytest.FixtureRequest) -> TransactionalConsumer:
    """A worker of each kind, with its numbers pushed and its table made."""
    consumer = TransactionalConsumer(request.param, place.url, dict(place.settings))
    with duerow.connect(place.url, **place.settings) as database:
        engine: Engine = database.connections.engine  # type: ignore[attr-defined]
        with engine.connect() as connection:
            connection.execute(text(f"CREATE TABLE {consumer.table} (number INTEGER)"))
            connection.commit()
        database.queue(WORK).push_many([duerow.Draft(number) for number in NUMBERS])
    return consumer


def check(consumer: TransactionalConsumer, numbers: Sequence[int] = NUMBERS) -> None:
    """Each number was written down once and pushed on once."""
    with duerow.connect(consumer.url, **consumer.settings) as database:
        engine: Engine = database.connections.engine  # type: ignore[attr-defined]
        with engine.connect() as connection:
            told = connection.execute(text(f"SELECT number FROM {consumer.table} ORDER BY number")).scalars().all()
            connection.rollback()
        assert list(told) == list(numbers)
        assert sorted(message.payload for message in database.queue(NEXT).find(limit=10_000)) == list(numbers)
        assert database.queues() == [NEXT]


@pytest.mark.parametrize("point", POINTS)
def test_a_worker_killed_at_this_point_has_made_each_effect_once(
    consumer: TransactionalConsumer,
    start: Start,
    count_killed: Callable[[int], None],
    which: Callable[[int, int], tuple[int, ...]],
    point: str,
) -> None:
    for nth in which(1, 5):
        process = start(consume, TransactionalConsumer(consumer.kind, consumer.url, consumer.settings, point, nth))
        process.join()
        assert process.exitcode == -signal.SIGKILL, f"{point} was not reached"
    count_killed(len(which(1, 5)))
    last = start(consume, consumer)
    last.join()
    assert last.exitcode == 0
    check(consumer)


def test_workers_killed_at_any_moment_have_made_each_effect_once(
    consumer: TransactionalConsumer, start: Start, count_killed: Callable[[int], None], scale: int
) -> None:
    numbers = range(120 * scale)
    with duerow.connect(consumer.url, **consumer.settings) as database:
        database.queue(WORK).push_many([duerow.Draft(number) for number in numbers if number not in NUMBERS])
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    killed = 0
    for _ in range(2 * scale):
        workers = [start(consume, replace(consumer, work=chance.uniform(0.001, 0.1))) for _ in range(2)]
        for worker in workers:
            worker.join()
            assert worker.exitcode in (0, -signal.SIGPROF)
            killed += worker.exitcode == -signal.SIGPROF
    count_killed(killed)
    last = start(consume, consumer)
    last.join()
    assert last.exitcode == 0
    check(consumer, numbers)
