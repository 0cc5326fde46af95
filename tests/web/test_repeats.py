"""A request that is sent again with its key is answered as the first time, and carried out once."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from duerow import aio
from duerow.web import Account, Accounts, digest
from duerow.web.api import repeats
from duerow.web.api.repeats import Repeats
from duerow.web.security.viewer import Viewer
from tests.web.conftest import Opened

TOKENS = {"one": "duerow_one", "two": "duerow_two"}
ACCOUNTS = Accounts({name: Account("worker", None, {"t": digest(token)}) for name, token in TOKENS.items()})

PUSH = {"create": True, "messages": [{"payload": 1}]}


async def push(client: httpx.AsyncClient, key: str, who: str = "one", body: Any = PUSH) -> httpx.Response:
    headers = {"Authorization": f"Bearer {TOKENS[who]}", "Idempotency-Key": key}
    return await client.post("/api/v1/queues/mail/messages", json=body, headers=headers)


async def test_a_push_without_a_message_key_is_repeated_by_the_key_of_its_request(
    memory: aio.Database, opened: Opened
) -> None:
    client = opened(memory, users=ACCOUNTS)
    first, again, other = await push(client, "a"), await push(client, "a"), await push(client, "b")
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json() != other.json()
    assert ["idempotent-replayed" in one.headers for one in (first, again, other)] == [False, True, False]
    assert await memory.queue("mail").count() == 2


async def test_the_key_of_a_request_belongs_to_its_account(memory: aio.Database, opened: Opened) -> None:
    client = opened(memory, users=ACCOUNTS)
    assert (await push(client, "a")).json() != (await push(client, "a", "two")).json()


@pytest.mark.parametrize("key", ["", "k" * 201])
async def test_a_key_has_a_length(memory: aio.Database, opened: Opened, key: str) -> None:
    response = await push(opened(memory, users=ACCOUNTS), key)
    assert (response.status_code, response.headers["content-type"]) == (422, "application/problem+json")


async def test_a_key_does_not_answer_another_request(memory: aio.Database, opened: Opened) -> None:
    client = opened(memory, users=ACCOUNTS)
    await push(client, "a")
    response = await push(client, "a", body={"messages": [{"payload": 2}]})
    assert (response.status_code, response.json()["type"]) == (422, "urn:duerow:problem:key-reused")
    assert await memory.queue("mail").count() == 1


async def test_a_refusal_is_repeated_as_well(memory: aio.Database, opened: Opened) -> None:
    client = opened(memory, users=ACCOUNTS)
    refused = await push(client, "a", body={"messages": [{"payload": 1}]})
    await memory.queue("mail").push(1)
    assert (refused.status_code, (await push(client, "a", body={"messages": [{"payload": 1}]})).status_code) == (
        404,
        404,
    )


# What it does with an application, whatever that does.


class Worker:
    """Carries requests out when it may, and counts them."""

    def __init__(self, status: int = 200, size: int = 1) -> None:
        self.may = asyncio.Event()
        self.status, self.size, self.done = status, size, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.may.wait()
        self.done += 1
        await PlainTextResponse(str(self.done) * self.size, self.status)(scope, receive, send)


async def ask(app: Repeats, key: str = "a", body: bytes = b"") -> str:
    """Ask for something, and return the answer."""
    parts: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        parts.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "headers": [(b"idempotency-key", key.encode())],
        "state": {"viewer": Viewer("ana")},
    }
    await app(scope, receive, send)
    return b"".join(one.get("body", b"") for one in parts).decode()


async def test_who_asks_again_while_it_is_carried_out_waits_for_that() -> None:
    worker = Worker()
    app = Repeats(worker)
    asking = [asyncio.create_task(ask(app)) for _ in range(3)]
    for _ in range(10):
        await asyncio.sleep(0)
    worker.may.set()
    assert await asyncio.gather(*asking) == ["1", "1", "1"]


async def test_what_nobody_waits_for_any_more_is_carried_out_to_its_end() -> None:
    worker = Worker()
    app = Repeats(worker)
    asking = asyncio.create_task(ask(app))
    for _ in range(10):
        await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    worker.may.set()
    assert await ask(app) == "1"


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_failed_for_a_time_is_carried_out_again(status: int) -> None:
    worker = Worker(status)
    worker.may.set()
    app = Repeats(worker)
    assert [await ask(app), await ask(app)] == ["1", "2"]


async def test_answers_are_kept_for_a_time_and_as_long_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr(repeats.time, "monotonic", lambda: now)
    worker = Worker(size=10)
    worker.may.set()
    app = Repeats(worker, lasting=60, most_bytes=2 * repeats.OVERHEAD + 25)
    assert [(await ask(app, key))[0] for key in "ab"] == ["1", "2"]
    assert (await ask(app, "c"))[0] == "3"  # there is no room for the first one any more
    assert [(await ask(app, key))[0] for key in "bca"] == ["2", "3", "4"]
    now += 61
    assert [(await ask(app, key))[0] for key in "ca"] == ["5", "6"]


async def test_an_answer_that_is_too_large_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "LARGEST", 3)
    worker = Worker(size=4)
    worker.may.set()
    app = Repeats(worker)
    assert [await ask(app), await ask(app)] == ["1111", "2222"]


async def test_a_fault_is_answered_as_the_application_answers_it_and_carried_out_again() -> None:
    class Faulty(Worker):
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            await super().__call__(scope, receive, send)
            raise ZeroDivisionError

    worker = Faulty(500)
    worker.may.set()
    app = Repeats(worker)
    assert [await ask(app), await ask(app)] == ["1", "2"]


async def test_a_request_that_breaks_off_is_not_carried_out() -> None:
    worker = Worker()
    worker.may.set()
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "headers": [(b"idempotency-key", b"a")],
    }
    await Repeats(worker)(scope, receive, send)
    assert (sent, worker.done) == ([], 0)
