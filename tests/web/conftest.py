"""Databases to look into, and windows on them that answer without a network."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from argon2 import PasswordHasher

import duerow
from duerow import aio
from duerow.web import Account, Accounts, application, digest
from duerow.web.dashboard import live
from duerow.web.security import accounts as keeping

PASSWORD = "correct horse"
TOKEN = "duerow_token-of-the-shop"
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)  # as cheap as it can be
HASH = CHEAP.hash(PASSWORD)

QUEUES = "/api/v1/queues"

Opened = Callable[..., httpx.AsyncClient]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages wait for their lists, which a busy machine may read slowly; tests of the wait set it themselves."""
    monkeypatch.setattr(live, "LIST_WAIT", 60.0)


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are hashed in a moment: what it takes to guess one is told by the cost that is set, not by time."""
    monkeypatch.setattr(keeping, "_HASHER", CHEAP)
    monkeypatch.setattr(keeping, "_NOBODY", keeping._of_nobody())


@pytest.fixture(scope="session")
def postgresql_tables(postgresql_url: str) -> str:
    """Tables that all tests here share; each has queues of its own."""
    duerow.connect(postgresql_url, schema="web", migrate=True).close()
    return postgresql_url


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request: pytest.FixtureRequest) -> AsyncIterator[aio.Database]:
    """A database of each family."""
    if request.param == "sqlite":
        opened = await aio.connect(request.getfixturevalue("sqlite_url"))
    else:
        opened = await aio.connect(request.getfixturevalue("postgresql_tables"), schema="web")
    async with opened:
        yield opened


@pytest.fixture
async def memory() -> AsyncIterator[aio.Database]:
    """A database for what is the same on all of them."""
    async with await aio.connect(f"memory://{uuid.uuid4()}", migrate=True) as opened:
        yield opened


@pytest.fixture
def name() -> str:
    """The name of a queue that no other test has."""
    return f"orders-{uuid.uuid4().hex[:8]}"


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    """Open a window and return a browser, or another program, that looks through it."""
    async with AsyncExitStack() as ends:
        made: list[httpx.AsyncClient] = []

        def open_(database: Any, *, address: str = "127.0.0.1", base: str = "http://localhost", **options: Any) -> Any:
            headers = options.pop("headers", {})
            transport = httpx.ASGITransport(application(database, **options), client=(address, 4321))
            made.append(httpx.AsyncClient(transport=transport, base_url=base, headers=headers))
            ends.push_async_callback(made[-1].aclose)
            return made[-1]

        yield open_


@pytest.fixture
def accounts() -> Accounts:
    """One person of each kind, and a program."""
    return Accounts(
        {
            "ana": Account("operator", HASH),
            "vera": Account("viewer", HASH),
            "owen": Account({"orders*": "operator", "mail": "viewer"}, HASH),
            "shop": Account({"orders*": "worker"}, None, {"default": digest(TOKEN)}),
        }
    )


def form_token(page: httpx.Response) -> str:
    """Return the token of the forms of a page."""
    return page.text.partition('name="csrf_token" value="')[2].partition('"')[0]


async def logged_in(browser: httpx.AsyncClient, name: str, password: str = PASSWORD) -> httpx.Response:
    """Log in as a person does."""
    page = await browser.get("/login")
    return await browser.post("/login", data={"name": name, "password": password, "csrf_token": form_token(page)})


@pytest.fixture
def as_shop() -> dict[str, str]:
    """The headers of the shop's program."""
    return {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests of tests go nowhere else."""
    monkeypatch.setenv("NO_PROXY", "*")


def push_to(queue: str) -> tuple[str, dict[str, Any]]:
    """The path and the body of a request that pushes."""
    return f"{QUEUES}/{queue}/messages", {"messages": [{"payload": 1}], "create": True}
