"""A worker outlives a database that comes and goes, and says so."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from duerow import Draft, Message, fixed
from duerow.errors import ConfigurationError, StoreUnavailable
from duerow.testing.worker_harness import Gate, Workshop, eventually

ASKED: ContextVar[set[str]] = ContextVar("asked")
"""What the store was asked for on the connection that is open."""


def failing(faults: Iterator[Exception | None], *after: str) -> Callable[[Any], None]:
    """Return what makes a database's connections fail as the faults say, one for each that is opened.

    Args:
        faults: what each connection fails with.
        after: fail only once the store was asked for one of these, and has done it.
    """

    def strike() -> None:
        if (fault := next(faults, None)) is not None:
            raise fault

    def begin() -> None:
        ASKED.set(set())
        if not after:
            strike()

    def end() -> None:
        if not ASKED.get().isdisjoint(after):
            strike()

    def prepare(db: Any) -> None:
        opened = db.connections.open

        @contextmanager
        def open_blocking() -> Iterator[Any]:
            begin()
            with opened() as execute:
                yield execute
            end()

        @asynccontextmanager
        async def open_async() -> Any:
            begin()
            async with opened() as execute:
                yield execute
            end()

        is_async = type(db).__module__.startswith("duerow.aio")
        db.connections.open = open_async if is_async else open_blocking
        for name in after:
            note(db.store, name)

    return prepare


def note(store: Any, name: str) -> None:
    """Note on its connection that the store was asked for this."""
    part = store.messages
    method = getattr(part, name, None)
    if method is None:  # an optional one that this store lacks
        return

    def asked(*values: Any) -> Any:
        ASKED.get().add(name)
        return method(*values)

    setattr(part, name, asked)


def seldom(fault: Callable[[], Exception], every: int, times: int) -> Iterator[Exception | None]:
    """One fault in so many connections, so many times."""
    for _ in range(times):
        yield from [None] * (every - 1)
        yield fault()


def unreachable() -> Exception:
    return StoreUnavailable("the server is being restarted")


def cut_off() -> Exception:
    return StoreUnavailable("the connection broke", outcome="unknown")


@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize("every", [1, 2])
def test_nothing_is_lost_or_done_twice_while_the_database_cannot_be_reached(
    shop: Workshop, batch: int, every: int, caplog: pytest.LogCaptureFixture
) -> None:
    shop.queue.push_many([Draft(number) for number in range(20)])
    seen: list[int] = []
    shop.prepare = failing(seldom(unreachable, every, 4))

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    shop.work(handle, "empty", batch=batch)
    assert sorted(seen) == list(range(20))
    assert shop.queue.count() == 0
    told = [record for record in caplog.records if "is being restarted" in record.getMessage()]
    assert told
    assert {record.levelno for record in told} == {logging.WARNING}


@pytest.mark.parametrize("batch", [1, 5])
def test_a_settlement_of_unknown_outcome_is_told_and_left_to_the_lease(
    shop: Workshop, batch: int, caplog: pytest.LogCaptureFixture
) -> None:
    shop.queue.push("hello")
    shop.prepare = failing(iter([cut_off()]), "settle", "settle_and_reserve")
    seen: list[int] = []

    async def handle(message: Message) -> None:
        seen.append(message.attempts)

    shop.work(handle, "empty", batch=batch)
    assert seen == [1]
    assert shop.queue.count() == 0
    assert [record.getMessage() for record in caplog.records if "cannot tell whether 1 of mail" in record.getMessage()]


def test_a_claim_whose_answer_is_lost_is_made_good_by_the_lease(shop: Workshop) -> None:
    shop.queue.push("hello")
    shop.prepare = failing(iter([cut_off()]), "reserve")
    seen: list[int] = []

    async def handle(message: Message) -> None:
        seen.append(message.attempts)

    shop.work(handle, "empty", lease=timedelta(milliseconds=200))
    assert seen == [2]


def test_a_stop_during_an_outage_is_bounded_and_leaves_the_rest_to_the_lease(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("duerow.worker.supervisor.PATIENCE", 0.05)
    shop.queue.push("hello")
    begun, gate = Gate(), Gate()
    broken: list[Exception] = []

    def faults() -> Iterator[Exception | None]:
        while True:
            yield unreachable() if broken else None

    shop.prepare = failing(faults())

    async def handle(message: Message) -> None:
        begun.open()
        await gate.passed()

    running = shop.start(handle)
    begun.block()
    broken.append(unreachable())
    gate.open()
    eventually(lambda: [record for record in caplog.records if "cannot settle on mail" in record.getMessage()])
    running.stop()
    running.join()
    (message,) = shop.queue.find()
    assert message.leased_by is not None
    eventually(lambda: [record for record in caplog.records if "stopped before 1 of mail" in record.getMessage()])


@pytest.mark.parametrize("working", [0, 1, 2])
def test_what_trying_again_does_not_cure_ends_the_worker(shop: Workshop, working: int) -> None:
    shop.queue.push("hello")

    def faults() -> Iterator[Exception | None]:
        yield from [None] * working  # the claim, the settlement
        while True:
            yield ConfigurationError("no such table")

    shop.prepare = failing(faults())

    async def handle(message: Message) -> None:
        raise ValueError("again")

    with pytest.raises(ConfigurationError, match="no such table"):
        shop.work(handle, "empty", retry=fixed(timedelta(0)))


def test_a_worker_that_cannot_hear_polls_and_listens_again(shop: Workshop, caplog: pytest.LogCaptureFixture) -> None:
    deaf = iter([unreachable(), unreachable()])

    def prepare(db: Any) -> None:
        listen = db.connections.listen

        def listen_blocking(queues: Any) -> Any:
            if (fault := next(deaf, None)) is not None:
                raise fault
            return listen(queues)

        async def listen_async(queues: Any) -> Any:
            return await listen_blocking(queues)

        db.connections.listen = listen_async if shop.is_async else listen_blocking

    shop.prepare = prepare
    seen: list[str] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    running = shop.start(handle)
    shop.queue.push("while it is deaf")
    eventually(lambda: seen == ["while it is deaf"])
    eventually(lambda: next(deaf, None) is None)
    shop.queue.push("when it hears")
    eventually(lambda: len(seen) == 2)
    running.stop()
    running.join()
    assert len([record for record in caplog.records if "cannot listen for pushes" in record.getMessage()]) <= 1


def test_cut_connections_lose_nothing(postgresql_url: str, kind: str, request: pytest.FixtureRequest) -> None:
    name = f"cut_{kind}"
    shop = Workshop(kind, postgresql_url, {"prefix": f"{name}_"}, f"{postgresql_url}?application_name={name}")
    request.addfinalizer(shop.close)
    shop.queue.push_many([Draft(number) for number in range(2_000)])
    seen: list[int] = []
    halves = [Gate(), Gate()]

    async def handle(message: Message) -> None:
        seen.append(message.payload)
        if len(seen) in (500, 1_500):
            halves[len(seen) // 1_000].open()

    running = shop.start(handle, "empty", batch=50, concurrency=3, lease=timedelta(seconds=1))
    cut = 0
    with psycopg.connect(postgresql_url, autocommit=True) as operator:
        for half in halves:
            half.block()
            terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
            cut += len(operator.execute(terminate, (name,)).fetchall())
    running.join()
    assert cut > 0
    assert set(seen) == set(range(2_000))
    assert shop.queue.count() == 0
