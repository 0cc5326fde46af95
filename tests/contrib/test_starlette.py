"""Queues in a FastAPI application."""

import logging
import threading
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import anyio
import pytest
from fastapi import Depends, FastAPI
from fastapi.testclient import TestClient

import duerow
from duerow.aio import Queue
from duerow.contrib.starlette import StarletteQueues
from duerow.errors import ConfigurationError
from duerow.web import Viewer, roles_of


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/shop.db"


class Shop:
    """An application with a queue, a handler and the dashboard."""

    def __init__(self, url: str, **options: Any) -> None:
        self.sent: list[Any] = []
        self.done = anyio.Event()
        self.queues = queues = StarletteQueues(url, migrate=True, **options)
        self.mail = mail = queues.queue("mail")
        self.app = app = FastAPI(lifespan=queues.lifespan)

        @mail.handler
        async def send(message: Any) -> None:
            self.sent.append(message.payload)

        async def order(item: str, queue: Annotated[Queue[Any], Depends(mail)]) -> str:
            return (await queue.push({"item": item})).outcome

        app.post("/orders/{item}")(order)
        app.mount("/queues", queues.dashboard(authenticate=lambda request: Viewer("ana", roles_of("viewer"))))

    def client(self) -> TestClient:
        return TestClient(self.app)


def test_a_queue_is_a_dependency_and_its_handler_runs_in_the_lifespan(url: str) -> None:
    shop = Shop(url)
    with shop.client() as client:
        assert client.post("/orders/lamp").json() == "created"
        assert shop.queues.health.alive
        while not shop.sent:  # the worker is woken by the push
            client.get("/nothing")
    assert shop.sent == [{"item": "lamp"}]


def test_without_workers_the_application_only_pushes(url: str) -> None:
    shop = Shop(url, workers=False)
    for _ in range(2):  # an application may be started again
        with shop.client() as client:
            client.post("/orders/lamp")
            assert client.get("/queues/api/v1/queues").json()["queues"] == ["mail"]
    with duerow.connect(url) as database:
        assert database.queue("mail").count() == 2
    assert shop.sent == []


async def test_tasks_run_beside_the_handlers(url: str) -> None:
    queues = StarletteQueues(url, migrate=True)
    tasks = queues.tasks(results=timedelta(hours=1))

    @tasks.task
    async def double(number: int) -> int:
        return 2 * number

    async with queues.lifespan():
        handle = await double.push(21)
        assert await handle.result(timeout=timedelta(seconds=60)) == 42


def test_a_plain_function_handles_messages_in_a_thread(url: str) -> None:
    queues, seen = StarletteQueues(url, migrate=True), []
    mail = queues.queue("mail")

    @mail.handler
    def send(message: Any) -> None:
        seen.append((message.payload, duerow.current().cancelled, threading.current_thread()))

    async def push() -> None:
        await mail.opened.push("hello")

    app = FastAPI(lifespan=queues.lifespan)
    app.post("/")(push)
    with TestClient(app) as client:
        client.post("/")
        while not seen:
            client.get("/nothing")
        while client.portal and client.portal.call(mail.opened.count):  # it is settled, not tried again
            pass
    [(payload, cancelled, thread)] = seen
    assert (payload, cancelled) == ("hello", False)
    assert thread is not threading.main_thread()


async def test_a_plain_function_cannot_have_an_awaited_connection(url: str) -> None:
    queues = StarletteQueues(url, migrate=True)
    queues.queue("mail").handler(lambda message, connection: None, transactional=True)
    with pytest.raises(ConfigurationError, match="async def"):
        await queues.workers()
    await queues.database.close()


async def test_a_plain_function_that_cannot_be_called_is_refused_at_the_start(url: str) -> None:
    queues = StarletteQueues(url, migrate=True)
    queues.queue("mail").handler(lambda: None)
    with pytest.raises(ConfigurationError, match="the handler is called with"):
        await queues.workers()
    await queues.database.close()


async def test_the_workers_can_be_run_elsewhere(url: str) -> None:
    shop = Shop(url)
    [worker] = await shop.queues.workers()
    await shop.mail.opened.push("hello")
    await worker.run("empty")
    await shop.queues.database.close()
    assert shop.sent == ["hello"]


def test_an_application_that_is_not_running_has_no_queues(url: str) -> None:
    shop = Shop(url)
    with pytest.raises(ConfigurationError, match="lifespan"):
        shop.mail.opened  # noqa: B018 - reading it is what fails


def test_a_queue_is_declared_once(url: str) -> None:
    shop = Shop(url)
    with pytest.raises(ConfigurationError, match="declared twice"):
        shop.queues.queue("mail")
    with pytest.raises(duerow.DuerowError, match="cannot be called"):
        shop.queues.queue("a b")


def test_a_lifespan_of_ones_own_runs_inside(url: str) -> None:
    queues, seen = StarletteQueues(url, migrate=True), []

    @asynccontextmanager
    async def own(app: Any) -> Any:
        seen.append(await queues.database.queues())
        yield {"own": True}
        seen.append(await queues.database.queues())

    with TestClient(FastAPI(lifespan=queues.lifespan_with(own))) as client:
        assert set(client.app_state) == {"own", "duerow"}
    assert seen == [[], []]


def test_a_worker_that_ends_by_itself_is_told_of(url: str, caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop(url)
    with duerow.connect(url, migrate=True) as database, caplog.at_level(logging.ERROR), shop.client() as client:
        database.run(lambda: _drop(database))
        while not caplog.records:
            client.get("/nothing")
    assert "a worker of this application ended" in caplog.text


def _drop(database: Any) -> Any:
    from sqlalchemy import text

    from duerow.stores.sql.statements import Statement

    yield database.store.context.step(Statement(text("DROP TABLE duerow_message"), kept=False), {})
