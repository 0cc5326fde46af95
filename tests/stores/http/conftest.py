"""Queues behind an HTTP API: a server in this process, with a database in memory for each test."""

from __future__ import annotations

import asyncio
import socket
import threading
import uuid
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from duerow import aio
from duerow.clock import Clock
from duerow.errors import CodecError, ConfigurationError, NotSupported
from duerow.testing.conformance.fixtures import Place
from duerow.web import Account, Accounts, application, digest
from duerow.web.api.application import api
from duerow.web.api.repeats import Repeats
from duerow.web.application import Application
from duerow.web.security.guard import Guard
from duerow.web.web import Web

TOKEN = "duerow_token-of-the-tests"
ACCOUNTS = Accounts({"tests": Account(["operator", "worker"], None, {"default": digest(TOKEN)})})


NEVER: Final = {
    "never: the server alone says how long a read may take": (
        ConfigurationError,
        (
            "test_what_looks_through_a_queue_for_longer_than_it_may_is_ended_and_told",
            "test_what_workers_do_and_a_look_at_one_message_have_no_limit",
            "test_a_change_within_the_callers_own_transaction_has_no_limit",
            "test_without_a_limit_a_look_takes_as_long_as_it_takes",
        ),
    ),
    "never: the API accepts no payload that duerow does not write, such as numbers out of range": (
        CodecError,
        ("test_no_payload_makes_a_push_into_an_indexed_queue_fail",),
    ),
    "never: each operation is a transaction of its own, and a transfer takes several": (
        NotSupported,
        (
            "test_a_message_in_work_is_transferred_only_when_that_is_said",
            "test_a_transferred_message_is_new_in_the_other_queue_at_its_due_time",
            "test_all_messages_that_meet_a_condition_are_transferred_and_counted_first",
        ),
    ),
    "not yet: the API keeps the queues of duerow's own to itself, and charts are messages of one": (
        ConfigurationError,
        (
            "test_a_quarter_of_an_hour_is_kept_with_the_work_of_all_processes_and_what_was_ready",
            "test_periods_are_kept_for_a_day_and_those_without_work_are_not_kept",
        ),
    ),
}
"""Promises that are not kept, and the error with which they are refused, by the reason."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say of which promises it is known that they are not kept: they must be refused."""
    here = Path(__file__).parent
    own = [item for item in items if isinstance(item, pytest.Function) and item.path.parent == here]
    for why, (error, names) in NEVER.items():
        for item in own:
            if item.originalname in names:
                item.add_marker(pytest.mark.xfail(reason=why, raises=error, strict=True))


@dataclass
class Houses:
    """Applications, each under a path of its own."""

    address: str
    mounted: dict[str, Any] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on to the application that its path names."""
        if scope["type"] == "lifespan":
            return
        name = scope["path"].split("/")[1]
        await self.mounted[name]({**scope, "root_path": f"/{name}"}, receive, send)

    def open(self, target: Any, token: str = TOKEN, **options: Any) -> str:
        """Mount an application without pages, which take long to make; return the URL for `connect`."""
        name = uuid.uuid4().hex
        self.mounted[name] = Api(application(target, **{"users": ACCOUNTS, "rate": "1000000/minute", **options}))
        return f"http://{token}@{self.address}/{name}"


class Api(Application):
    """The API of an application; what carries requests out is the same for all, but for the database."""

    ROUTES: ClassVar[Any] = None

    def __init__(self, whole: Application) -> None:
        super().__init__(whole._target, whole._options)

    async def _opened(self) -> ASGIApp:
        if Api.ROUTES is None:
            routes = [Mount("/api/v1", Repeats(api()))]
            Api.ROUTES = Starlette(routes=routes)
        if self._app is None:
            self.web = Web(await self._database(), self._options)
            self._app = Guard(Api.ROUTES, self.web)
        return self._app


@pytest.fixture(scope="session")
def houses() -> Iterator[Houses]:
    """A server for all tests here."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio does so with sockets of its own alone
        made = Houses(f"127.0.0.1:{listening.getsockname()[1]}")
        config = uvicorn.Config(
            made, log_level="error", proxy_headers=False, lifespan="off", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
        thread.start()
        yield made
        server.should_exit = True
        thread.join(30)


@pytest.fixture
def memory_url() -> str:
    """A database in memory, which this process can look into by this URL."""
    return f"memory://{uuid.uuid4().hex}"


@pytest.fixture
def place(request: pytest.FixtureRequest, houses: Houses, memory_url: str) -> Place:
    """A server on a database of its own; with the test's clock, unless its workers have the server's."""
    clock: Clock | None = None if "shop" in request.fixturenames else request.getfixturevalue("clock")

    async def opening() -> aio.Database:
        return await aio.connect(memory_url, clock=clock)

    return Place(houses.open(opening))


@pytest.fixture
def in_loop() -> Set[str]:
    """Before it uses a connection again, httpcore asks whether it was closed, without waiting for it."""
    return frozenset({"poll.poll in is_socket_readable"})
