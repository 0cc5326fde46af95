"""What answers mean that are not of duerow's store: of its guard, of proxies, of other servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

import duerow
from duerow.errors import ConfigurationError, DuerowError, InvalidMessage, StoreUnavailable
from duerow.store.wire.calls import PROTOCOL, About
from duerow.store.wire.operations import encoded

TOKEN = "duerow_a-secret"
PROBLEM = "application/problem+json"

Answer = Callable[[httpx.Request], httpx.Response]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are sent again without delay."""
    monkeypatch.setattr("duerow.stores.http.exchange.FIRST_DELAY", 0.0)
    monkeypatch.setattr("duerow.stores.http.exchange.LONGEST_DELAY", 0.0)


def asked(answer: Answer, token: str | None = TOKEN) -> duerow.Database:
    """Connect to a server that answers so, but for the first question."""

    def answering(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("schema.check"):
            about = About(PROTOCOL, "1.0", True, ["operations"], 1_000)
            return httpx.Response(200, content=encoded(about), headers={"content-type": "application/json"})
        return answer(request)

    return connected(answering, token)


def connected(answer: Answer, token: str | None = TOKEN) -> duerow.Database:
    def client(**settings: Any) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(answer), **settings)

    return duerow.connect("https://queues.example.org/shop", token=token, client=client)


def problem(status: int, detail: str, **more: Any) -> Answer:
    members = {"type": "urn:duerow:problem:x", "status": status, "detail": detail, **more}
    return lambda request: httpx.Response(status, json=members, headers={"content-type": PROBLEM})


def plain(status: int, text: str = "<html>", **headers: str) -> Answer:
    return lambda request: httpx.Response(status, text=text, headers={"content-type": "text/html", **headers})


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (problem(401, "log in"), ConfigurationError, "refuses this token"),
        (problem(403, "shop may not push queue 'mail'"), ConfigurationError, "does not allow.*may not push"),
        (problem(413, "at most 9 bytes"), InvalidMessage, "a request as large as this: at most 9 bytes"),
        (problem(422, "odd"), ConfigurationError, r"does not understand messages\.push: odd"),
        (problem(500, "a fault"), DuerowError, "failed at messages.push with 500: a fault"),
        (problem(404, "no"), ConfigurationError, "no duerow API.*without /api/v1"),
        (plain(200), ConfigurationError, "no duerow API.*HTTP 200"),
        (plain(301, location="https://elsewhere"), ConfigurationError, "no duerow API.*HTTP 301"),
        (problem(429, "no more than 9/minute"), StoreUnavailable, "answered 429: no more than 9/minute"),
        (plain(503), StoreUnavailable, "answered 503"),
        (plain(502), StoreUnavailable, "answered 502"),
        (problem(500, "odd", error="NoSuchError"), DuerowError, "^odd$"),
        (lambda request: httpx.Response(200, json={"odd": 1}), ConfigurationError, "does not understand"),
    ],
)
def test_each_answer_is_an_error_that_says_what_to_do_and_shows_no_token(
    answer: Answer, kind: type[Exception], said: str
) -> None:
    with asked(answer) as database, pytest.raises(kind, match=said) as raised:
        database.queue("mail").push("hello")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(("status", "outcome"), [(429, "none"), (503, "none"), (502, "unknown"), (504, "unknown")])
def test_a_proxy_that_had_sent_it_on_leaves_it_unknown_what_happened(status: int, outcome: str) -> None:
    seen: list[httpx.Request] = []

    def answering(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(status)

    with asked(answering) as database, pytest.raises(StoreUnavailable) as gone:
        database.queue("mail").push("hello")
    assert gone.value.outcome == outcome
    assert len(seen) == 4
    assert len({one.headers["idempotency-key"] for one in seen}) == 1
    assert ["duerow-repeated" in one.headers for one in seen] == [False] + [outcome == "unknown"] * 3


def test_a_read_that_a_proxy_lost_has_changed_nothing() -> None:
    with asked(plain(504)) as database, pytest.raises(StoreUnavailable) as gone:
        database.queue("mail").find()
    assert gone.value.outcome == "none"


def test_without_a_token_one_is_asked_for() -> None:
    with pytest.raises(ConfigurationError, match="asks for a token: write https://TOKEN@host/path"):
        connected(problem(401, "log in"), token=None)


@pytest.mark.parametrize(("protocol", "which"), [(PROTOCOL + 1, "client"), (PROTOCOL - 1, "server")])
def test_a_server_that_speaks_another_way_is_refused(protocol: int, which: str) -> None:
    about = encoded(About(protocol, "9.9", True, []))

    def answering(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=about, headers={"content-type": "application/json"})

    with pytest.raises(ConfigurationError, match=f"runs duerow 9.9, .*: upgrade the {which}"):
        connected(answering)


def test_what_the_database_behind_the_server_lacks_is_lacking_here() -> None:
    with asked(plain(500)) as database:
        assert database.store.capabilities.parts == {"operations", "schema"}
        with pytest.raises(duerow.errors.NotSupported, match="keeps no history"):
            database.queue("mail").history()


def test_a_request_that_is_too_large_is_not_sent() -> None:
    with asked(plain(500)) as database, pytest.raises(InvalidMessage, match="takes at most 1,000 at once"):
        database.queue("mail").push("x" * 1_000)
