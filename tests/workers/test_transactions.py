"""A transactional handler's writes and the settlement are one transaction: both happen, once, or neither."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from inspect import isawaitable
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.orm import Session

import duerow
from duerow import Draft, Message, aio, current, fixed, limited
from duerow.errors import ConfigurationError, NotSupported, StoreUnavailable
from duerow.sync.worker import Worker
from duerow.testing.faults import fail_at, watch
from duerow.testing.worker_harness import Gate, Workshop, eventually

AT_ONCE = fixed(timedelta(0))
ONCE = limited(1, AT_ONCE)
WAYS = [
    pytest.param({"batch": 1}, id="one-by-one"),
    pytest.param({"batch": 10}, id="batches"),
    pytest.param({"batch": 10, "concurrency": 3}, id="batches-in-three"),
]


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> str:
    """The families of databases that keep the user's rows as well."""
    name: str = request.param
    return name


class Effects:
    """A table of the user's own, in which handlers write."""

    def __init__(self, shop: Workshop) -> None:
        self.table = "effect"
        self._engine = shop.db.connections.engine
        with self._engine.connect() as connection:
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS {self.table}")  # that of the test before
            connection.exec_driver_sql(f"CREATE TABLE {self.table} (payload TEXT)")
            connection.commit()

    async def write(self, connection: Any, payload: Any) -> None:
        """Write a row, as a handler of either kind does."""
        await do(connection, f"INSERT INTO {self.table} VALUES (:payload)", payload=str(payload))

    def seen(self) -> list[str]:
        """What was written and has lasted."""
        with self._engine.connect() as connection:
            rows = connection.exec_driver_sql(f"SELECT payload FROM {self.table} ORDER BY payload").scalars().all()
            connection.rollback()
        return list(rows)


async def do(connection: Any, statement: str, **values: Any) -> Any:
    """Execute, awaited or not."""
    done = connection.execute(text(statement), values)
    return await done if isawaitable(done) else done


async def call(function: Any) -> None:
    """Call a method of a connection, awaited or not."""
    done = function()
    if isawaitable(done):
        await done


@pytest.fixture
def effects(shop: Workshop) -> Iterator[Effects]:
    """The user's table."""
    return Effects(shop)


def test_the_handler_is_given_a_connection_of_sqlalchemy(shop: Workshop) -> None:
    shop.queue.push("hello")
    given: list[Any] = []

    async def handle(message: Message, connection: Any) -> None:
        attempt = current()
        given.append((connection, attempt is not None and attempt.message is message))

    shop.work(handle, transactional=True)
    ((connection, asked),) = given
    assert isinstance(connection, AsyncConnection if shop.is_async else Connection)
    assert asked


def meddle(shop: Workshop, first: Any) -> None:
    """Have something called with the worker's way to its database each time before a handler's transaction begins."""

    def prepare(db: Any) -> None:
        begin = db.connections.begin

        def begin_later() -> Any:
            first()
            return begin()

        db.connections.begin = begin_later

    shop.prepare = prepare


def test_an_orm_session_joins_the_transaction(shop: Workshop, effects: Effects) -> None:
    shop.queue.push_many([Draft("kept"), Draft("undone")])

    async def handle(message: Message, connection: Any) -> None:
        if isinstance(connection, AsyncConnection):
            async with AsyncSession(connection) as awaited:
                await effects.write(awaited, message.payload)
                await awaited.commit()
        else:
            with Session(connection) as session:
                await effects.write(session, message.payload)
                session.commit()
        if message.payload == "undone":
            raise ValueError("no")

    shop.work(handle, transactional=True, retry=ONCE)
    assert effects.seen() == ["kept"]
    assert [(one.payload, one.last_error and one.last_error.type) for one in shop.queue.find()] == [
        ("undone", "ValueError")
    ]


@pytest.mark.parametrize("way", ["method", "text"])
@pytest.mark.parametrize("ending", ["returns", "raises"])
def test_a_handler_that_commits_is_found_out_and_not_called_again(
    shop: Workshop, effects: Effects, way: str, ending: str
) -> None:
    shop.queue.push("hello")

    async def handle(message: Message, connection: Any) -> None:
        await effects.write(connection, "committed")
        await call(connection.commit if way == "method" else lambda: connection.exec_driver_sql("COMMIT"))
        if ending == "raises":
            raise ValueError("after that")

    shop.work(handle, transactional=True, retry=AT_ONCE)
    assert effects.seen() == ["committed"]
    (message,) = shop.queue.find()
    assert (message.status, message.attempts) == ("dead", 1)
    assert message.last_error is not None
    assert message.last_error.type == "TransactionEnded"
    assert f"message {message.id}: its handler committed" in message.last_error.message


def test_a_handler_that_commits_and_goes_on_writing_is_found_out(shop: Workshop, effects: Effects) -> None:
    shop.queue.push("hello")

    async def handle(message: Message, connection: Any) -> None:
        await effects.write(connection, "before")
        await call(lambda: connection.exec_driver_sql("COMMIT"))
        await effects.write(connection, "after")

    shop.work(handle, transactional=True, retry=AT_ONCE)
    assert "before" in effects.seen()
    (message,) = shop.queue.find()
    assert (message.status, message.last_error and message.last_error.type) == ("dead", "TransactionEnded")


def test_a_handler_that_rolls_back_and_returns_has_failed(shop: Workshop, effects: Effects) -> None:
    shop.queue.push("hello")

    async def handle(message: Message, connection: Any) -> None:
        await effects.write(connection, "before")
        await call(connection.rollback)
        await effects.write(connection, "after")

    shop.work(handle, transactional=True, retry=limited(2, AT_ONCE))
    assert effects.seen() == []
    (message,) = shop.queue.find()
    assert (message.status, message.attempts) == ("dead", 2)
    assert message.last_error is not None
    assert "rolled back the transaction" in message.last_error.message


def test_a_handler_that_rolls_back_and_raises_has_failed_for_that_reason(shop: Workshop, effects: Effects) -> None:
    shop.queue.push("hello")

    async def handle(message: Message, connection: Any) -> None:
        await effects.write(connection, "before")
        await call(connection.rollback)
        raise ValueError("no")

    shop.work(handle, transactional=True, retry=limited(2, AT_ONCE))
    assert effects.seen() == []
    (message,) = shop.queue.find()
    assert (message.attempts, message.last_error and message.last_error.message) == (2, "ValueError: no")


def test_a_handler_can_undo_a_part(shop: Workshop, effects: Effects) -> None:
    shop.queue.push("hello")

    async def handle(message: Message, connection: Any) -> None:
        await effects.write(connection, "kept")
        part = connection.begin_nested()
        part = await part if isawaitable(part) else part
        await effects.write(connection, "undone")
        await call(part.rollback)

    shop.work(handle, transactional=True)
    assert effects.seen() == ["kept"]
    assert shop.queue.count() == 0


def test_an_error_of_the_database_that_the_handler_passes_over_is_not_forgotten(
    shop: Workshop, effects: Effects
) -> None:
    shop.queue.push("hello")

    async def handle(message: Message, connection: Any) -> None:
        await effects.write(connection, "hello")
        with pytest.raises(DBAPIError, match="nowhere"):
            await do(connection, "SELECT * FROM nowhere")

    shop.work(handle, transactional=True, retry=ONCE)
    left = shop.queue.find()
    if shop.url.startswith("sqlite"):  # its transactions survive an error
        assert (effects.seen(), left) == (["hello"], [])
    else:
        assert effects.seen() == []
        assert [(one.status, one.last_error and one.last_error.type) for one in left] == [("dead", "StoreRefused")]


@pytest.mark.parametrize("point", ["settle: before", "settle: step 1", "settle: done"])
def test_when_the_settlement_breaks_the_effect_is_undone_and_the_attempt_has_failed(
    shop: Workshop, effects: Effects, point: str
) -> None:
    shop.queue.push("hello")
    shop.prepare = lambda db: watch(db, fail_at(point, StoreUnavailable("gone")))

    async def handle(message: Message, connection: Any) -> None:
        await effects.write(connection, f"attempt {message.attempts}")

    shop.work(handle, "empty", transactional=True, retry=AT_ONCE)
    assert effects.seen() == ["attempt 2"]
    assert shop.queue.count() == 0


def test_a_commit_that_did_not_happen_is_a_failed_attempt(shop: Workshop, effects: Effects) -> None:
    shop.queue.push("hello")
    broken: list[Any] = []

    class Broken:
        def __init__(self, own: Any) -> None:
            self.own = own

        def __getattr__(self, name: str) -> Any:
            return getattr(self.own, name)

        def commit(self) -> Any:
            undone = None if broken else self.own.roll_back()
            if broken:
                return self.own.commit()
            broken.append(self)
            if isawaitable(undone):
                return self._raise_later(undone)
            raise StoreUnavailable("gone", outcome="unknown")

        async def _raise_later(self, undone: Any) -> None:
            await undone
            raise StoreUnavailable("gone", outcome="unknown")

    def prepare(db: Any) -> None:
        begin = db.connections.begin

        async def awaited() -> Any:
            return Broken(await begin())

        db.connections.begin = awaited if shop.is_async else lambda: Broken(begin())

    shop.prepare = prepare

    async def handle(message: Message, connection: Any) -> None:
        await effects.write(connection, f"attempt {message.attempts}")

    shop.work(handle, "empty", transactional=True, retry=AT_ONCE)
    assert effects.seen() == ["attempt 2"]
    assert shop.queue.count() == 0


def test_a_message_for_which_no_transaction_can_be_had_was_not_begun(shop: Workshop, effects: Effects) -> None:
    shop.queue.push("hello")
    refused: list[str] = []
    attempts: list[int] = []

    def refuse() -> None:
        if len(refused) < 2:
            refused.append("no")
            raise StoreUnavailable("no connection")

    async def handle(message: Message, connection: Any) -> None:
        attempts.append(message.attempts)
        await effects.write(connection, "hello")

    meddle(shop, refuse)
    shop.work(handle, "empty", transactional=True, retry=ONCE)
    assert (len(refused), attempts, effects.seen()) == (2, [1], ["hello"])


def test_what_a_handler_wrote_that_took_too_long_is_undone(shop: Workshop, effects: Effects) -> None:
    shop.queue.push("hangs")
    gate, attempts = Gate(), []

    async def handle(message: Message, connection: Any) -> None:
        await effects.write(connection, "too late")
        attempts.append(current())
        await gate.passed()

    running = shop.start(handle, "empty", transactional=True, timeout=timedelta(milliseconds=50), retry=ONCE)
    eventually(lambda: attempts and attempts[0].over)
    gate.open()
    running.join()
    assert effects.seen() == []
    (message,) = shop.queue.find()
    assert (message.status, message.last_error and message.last_error.type) == ("dead", "TimedOut")


def test_who_waits_for_a_transaction_does_not_run_out_of_time(shop: Workshop, effects: Effects) -> None:
    # The first ones are quick, so that more are claimed ahead than is handled.
    payloads = [f"quick {number}" for number in range(10)] + ["hangs", "works", "as well"]
    shop.queue.push_many([Draft(payload) for payload in payloads])
    gate, attempts = Gate(), []

    async def handle(message: Message, connection: Any) -> None:
        await effects.write(connection, message.payload)
        if message.payload == "hangs":
            attempts.append(current())
            await gate.passed()

    timeout = timedelta(milliseconds=200)
    running = shop.start(handle, "empty", transactional=True, timeout=timeout, retry=ONCE)
    eventually(lambda: attempts and attempts[0].over)
    # On SQLite in threads the file is held until the handler returns, for longer than others would have had.
    Gate().wait(3 * timeout.total_seconds())
    gate.open()
    running.join()
    assert [one.payload for one in shop.queue.find()] == ["hangs"]
    assert effects.seen() == sorted(payload for payload in payloads if payload != "hangs")


def test_a_write_beside_the_transaction_works_or_says_that_it_would_wait_for_ever(
    shop: Workshop, effects: Effects
) -> None:
    shop.queue.push("hello")
    told: list[str] = []
    databases: list[Any] = []
    shop.prepare = databases.append

    async def handle(message: Message, connection: Any) -> None:
        beside = databases[0].queue("beside")
        waiting = beside.peek()
        assert (await waiting if isawaitable(waiting) else waiting) == []  # reading is no harm
        try:
            await call(lambda: beside.push("pushed"))
        except ConfigurationError as error:
            told.append(str(error))
            await call(lambda: beside.push("pushed", within=connection))

    shop.work(handle, transactional=True)
    assert [one.payload for one in shop.db.queue("beside").find()] == ["pushed"]
    if shop.url.startswith("sqlite"):
        assert "within=connection" in told[0]
    else:
        assert told == []


def test_on_sqlite_one_handler_runs_at_a_time(shop: Workshop, effects: Effects) -> None:
    shop.queue.push_many([Draft(number) for number in range(20)])
    running: set[int] = set()
    most: list[int] = []

    async def handle(message: Message, connection: Any) -> None:
        running.add(message.id)
        most.append(len(running))
        await effects.write(connection, message.payload)
        if shop.is_async:
            await asyncio.sleep(0)
        running.remove(message.id)

    shop.work(handle, transactional=True, concurrency=4)
    assert len(effects.seen()) == 20
    if shop.url.startswith("sqlite"):
        assert max(most) == 1


def test_a_store_without_such_transactions_says_so_when_the_worker_is_made() -> None:
    blocking = duerow.connect("memory://").queue("mail")
    awaited = asyncio.run(aio.connect("memory://")).queue("mail")
    for kind, queue in ((Worker, blocking), (aio.Worker, awaited)):
        with pytest.raises(NotSupported, match="transactional"):
            kind(queue, print, transactional=True)  # type: ignore[operator, arg-type]


def test_one_transaction_is_not_given_to_a_batch(shop: Workshop) -> None:
    with pytest.raises(ConfigurationError, match="whole_batch and transactional"):
        Worker(shop.queue, print, transactional=True, whole_batch=True)
