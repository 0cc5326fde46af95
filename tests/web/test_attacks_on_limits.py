"""Nobody sends more than is allowed, changes what is read-only, or reads what is redacted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest

from duerow import Commit, aio
from duerow.web import Accounts, application
from tests.web.conftest import QUEUES, Opened, form_token, logged_in, push_to

# Read-only, sizes and rates.


async def test_nothing_is_changed_through_a_read_only_window(memory: aio.Database, opened: Opened, accounts: Accounts):
    await memory.queue("orders").push(1)
    browser = opened(memory, users=accounts, read_only=True)
    assert (await logged_in(browser, "ana")).status_code == 303
    headers = {"X-CSRF-Token": form_token(await browser.get("/login"))}
    path, body = push_to("orders")
    for target, content in ((path, body), (f"{QUEUES}/orders/reservations", {}), (f"{QUEUES}/orders/pause", None)):
        refused = await browser.post(target, json=content, headers=headers)
        assert (refused.status_code, refused.json()["type"]) == (403, "urn:duerow:problem:read-only")
    assert (await browser.get(f"{QUEUES}/orders/stats")).json()["ready"] == 1
    assert (await browser.delete("/api/v1/schedules/x", headers=headers)).status_code == 403


async def test_a_body_that_is_too_large_is_refused_said_or_not(memory: aio.Database, opened: Opened):
    browser = opened(memory, max_body_bytes=1_000)
    path, _ = push_to("orders")

    async def endless() -> Any:
        while True:
            yield b"[" * 100

    json_ = {"Content-Type": "application/json"}
    said = await browser.post(path, content=b" " * 1_001, headers=json_)
    assert (said.status_code, said.json()["type"]) == (413, "urn:duerow:problem:too-large")
    assert (await browser.post(path, content=endless(), headers=json_)).status_code == 413
    for length in ("-1", "1e9", "²"):
        odd = await browser.post(path, content=b"{}", headers=[*json_.items(), ("Content-Length", length.encode())])
        assert odd.status_code == 413


async def test_strangers_send_little(memory: aio.Database, opened: Opened, accounts: Accounts):
    browser = opened(memory, users=accounts)
    long = {"name": "x" * 100_000, "csrf_token": form_token(await browser.get("/login"))}
    assert (await browser.post("/login", data=long)).status_code == 413


async def test_what_only_looks_like_a_public_path_is_none(memory: aio.Database, opened: Opened, accounts: Accounts):
    browser = opened(memory, users=accounts)
    for path in ("/login/../api/v1/queues", "/logins", "/healthz/x", "/static", "//login", "/api/v1/queues;/login"):
        response = await browser.get(path)
        assert response.status_code in (303, 401), path


async def test_requests_are_rate_limited(memory: aio.Database, opened: Opened):
    browser = opened(memory, rate="3/minute")
    assert [(await browser.get(QUEUES)).status_code for _ in range(4)] == [200, 200, 200, 429]


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"messages": NaN}', b"\xff", b"", b'{"messages": [{"payload": 1e999}]}']
)
async def test_a_body_that_is_no_json_is_a_problem(memory: aio.Database, opened: Opened, body: bytes):
    path, _ = push_to("orders")
    refused = await opened(memory).post(path, content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code in (400, 422)
    assert refused.headers["content-type"] == "application/problem+json"


async def test_a_fault_tells_nothing_of_the_server(
    memory: aio.Database, opened: Opened, monkeypatch: pytest.MonkeyPatch
):
    async def broken() -> Any:
        raise RuntimeError("secret path /srv")

    monkeypatch.setattr(memory, "known_queues", broken)
    transport = httpx.ASGITransport(application(memory), client=("127.0.0.1", 1), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
        failed = await browser.get(QUEUES)
    assert failed.status_code == 500
    assert "secret" not in failed.text


async def test_no_websocket_is_spoken(memory: aio.Database):
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await application(memory)({"type": "websocket", "path": "/", "headers": []}, lambda: None, send)  # type: ignore[arg-type]
    assert sent == [{"type": "websocket.close", "code": 1008}]


# Redaction.


def masked(queue: str, payload: Any) -> Any:
    return {**payload, "card": "…"}


async def test_what_is_redacted_is_told_by_no_way(memory: aio.Database, opened: Opened):
    queue = memory.queue("orders", dead_letter="orders-dead")
    await queue.declare()
    await queue.push_many([*_drafts({"card": "4111-1111", "city": "Split"}, {"card": "4222-2222", "city": "Zagreb"})])
    first, second = await queue.reserve_many(2)
    await queue.rollback(first, error="no card 4111-1111")
    logged = memory.queue("logged", history=timedelta(days=1))
    await logged.push("paid")
    assert await logged.settle([(one, Commit(log="card 4111-1111")) for one in await logged.reserve_many(1)]) == []
    await queue.bury(second, "no card 4222-2222")
    browser = opened(memory, redact=masked, searchable={"orders*": ["city"]})
    texts = []
    for path in (
        "orders/messages",
        f"orders/messages/{first.message.id}",
        f"orders/messages/{first.message.id}/why",
        "orders-dead/messages",
        f"orders-dead/messages/{second.message.id}/why",
        "orders/history",
        "logged/history",
        "orders/messages?where=payload.city%20%3D%20'Split'",
    ):
        response = await browser.get(f"{QUEUES}/{path}")
        assert response.status_code == 200, response.text
        texts.append(response.text)
    assert "Split" in texts[0]
    assert "4111-1111" not in "".join(texts)
    assert "4222-2222" not in "".join(texts)
    for condition in (
        "payload.card = '4111-1111'",
        "not payload.card = '4111-1111'",
        "payload.city = 'Split' and (priority > 3 or payload.card like '4%')",
        "payload.city.card = '4111-1111'",
        "headers.\"dead-letter-reason\" like '%4222-2222%'",
    ):
        for name in ("orders", "orders-dead"):
            found = await browser.get(f"{QUEUES}/{name}/messages", params={"where": condition})
            assert (found.status_code, found.json()["type"]) == (403, "urn:duerow:problem:redacted"), condition
            counted = await browser.get(f"{QUEUES}/{name}/count", params={"where": condition})
            assert counted.status_code == 403
            body = {"where": condition, "dry_run": True}
            assert (await browser.post(f"{QUEUES}/{name}/remove", json=body)).status_code == 403
            assert (await browser.post(f"{QUEUES}/{name}/redrive", json=body)).status_code == 403
    assert (await browser.get(f"{QUEUES}/orders/count", params={"by": "payload.card"})).status_code == 403
    for condition in ("error.message like '%4111-1111%'", "payload.card = '4111-1111'"):
        found = await browser.get(f"{QUEUES}/orders/history", params={"where": condition})
        assert (found.status_code, found.json()["type"]) == (403, "urn:duerow:problem:redacted"), condition


async def test_operators_do_not_read_redacted_payloads_by_reserving_them(
    memory: aio.Database, opened: Opened, accounts: Accounts, as_shop: dict[str, str]
):
    await memory.queue("orders").push({"card": "4111-1111"})
    browser = opened(memory, redact=masked, users=accounts)
    await logged_in(browser, "ana")
    headers = {"X-CSRF-Token": form_token(await browser.get("/login"))}
    assert (await browser.post(f"{QUEUES}/orders/reservations", json={}, headers=headers)).status_code == 403
    program = opened(memory, redact=masked, users=accounts, headers=as_shop)
    taken = (await program.post(f"{QUEUES}/orders/reservations", json={})).json()["reservations"]
    assert taken[0]["message"]["payload"] == {"card": "4111-1111"}  # a program that works on it needs it whole


async def test_a_function_that_fails_to_redact_shows_nothing(memory: aio.Database, opened: Opened):
    await memory.queue("orders").push(["card 4111-1111"])
    found = await opened(memory, redact=masked).get(f"{QUEUES}/orders/messages")
    assert found.json()["messages"][0]["payload"] == "(hidden)"


def _drafts(*payloads: Any) -> list[Any]:
    from duerow import Draft

    return [Draft(one) for one in payloads]
