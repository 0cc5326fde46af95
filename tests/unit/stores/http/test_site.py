"""What a URL of an API says, and what no error shows."""

from __future__ import annotations

import logging
import sys
from typing import Any

import pytest

import duerow
from duerow.errors import ConfigurationError
from duerow.store import Settings
from duerow.stores.http.site import Site, site_of

TOKEN = "duerow_a-secret"


def site(target: str, **options: Any) -> Site:
    return site_of(target, Settings(options=options))


@pytest.mark.parametrize(
    ("target", "url", "token"),
    [
        ("https://host", "https://host", None),
        ("https://host/", "https://host", None),
        (f"https://{TOKEN}@host/shop/", "https://host/shop", TOKEN),
        (f"https://worker:{TOKEN}@host:8443/shop", "https://host:8443/shop", TOKEN),
        ("https://duerow_a%2Fb@host/shop/api/v1", "https://host/shop", "duerow_a/b"),
        ("http://[::1]:8000/?timeout=5&retries=0", "http://[::1]:8000", None),
    ],
)
def test_a_url_says_where_the_api_is_and_with_which_token(target: str, url: str, token: str | None) -> None:
    found = site(target)
    assert (found.url, found.token) == (url, token)


def test_options_come_from_the_url_and_from_the_call() -> None:
    assert (site("https://host?timeout=5&retries=7").timeout, site("https://host?retries=7").retries) == (5.0, 7)
    assert site("https://host", token=TOKEN, timeout=1.5).token == TOKEN


@pytest.mark.parametrize(
    ("target", "options", "said"),
    [
        (f"https://{TOKEN}@", {}, "names no host"),
        (f"https://{TOKEN}@host/#there", {}, "names no host, or has a #"),
        (f"https://{TOKEN}@[host", {}, "an IPv6 address is written in brackets"),
        (f"https://{TOKEN}@host:port", {}, "the port in this URL is not a number"),
        (f"https://{TOKEN}@host:99999", {}, "the port in this URL is not a number"),
        (f"https://host?token={TOKEN}", {}, "ends up in logs"),
        (f"https://{TOKEN}@host?odd=1", {}, "no option 'odd'; its options are timeout, retries, token, client"),
        (f"https://{TOKEN}@host?timeout=soon", {}, "timeout= must be a number, not 'soon'"),
        (f"https://{TOKEN}@host?timeout=0", {}, "timeout= must be a number of seconds"),
        (f"https://{TOKEN}@host?retries=-1", {}, "retries= must be a number from 0"),
        (f"https://{TOKEN}@host", {"retries": True}, "retries= must be a number"),
        (f"https://{TOKEN}%0d%0aX: y@host", {}, "the token is not one"),
        ("https://host", {"token": f"{TOKEN}\n"}, "the token is not one"),
        ("https://host", {"token": 7}, "the token is not one"),
        (f"https://{TOKEN}@host", {"client": 7}, "client= must be a function"),
        (f"https:/{TOKEN}@host", {}, "is not a URL"),
        (f"{TOKEN}@host", {}, "is not a URL"),
    ],
)
def test_what_cannot_be_is_refused_without_showing_the_token(target: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as refused:
        duerow.connect(target, **options)
    error: BaseException | None = refused.value
    while error is not None:
        assert "secret" not in str(error)
        error = None if error.__suppress_context__ else error.__cause__ or error.__context__


def test_a_site_shows_no_token() -> None:
    assert TOKEN not in repr(site(f"https://{TOKEN}@host"))


@pytest.mark.parametrize(
    ("target", "warned"),
    [(f"http://{TOKEN}@host", True), ("http://host", False), (f"https://{TOKEN}@host", False)]
    + [(f"http://{TOKEN}@{host}", False) for host in ("localhost", "127.0.0.1:8000", "[::1]")],
)
def test_a_token_that_travels_unencrypted_is_told(target: str, warned: bool, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        site(target)
    assert caplog.messages == (["the token for http://host travels unencrypted: use https://"] if warned else [])


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_without_httpx_it_is_said_what_to_install(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for loaded in [name for name in sys.modules if name.startswith("duerow.stores.http")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, "httpx", None)
    said = rf"{scheme}:// needs the module httpx; run pip install 'duerow\[http\]'"
    with pytest.raises(ConfigurationError, match=said):
        duerow.connect(f"{scheme}://{TOKEN}@host")


def test_a_client_of_the_other_face_is_refused() -> None:
    import httpx

    made = site("https://host", client=httpx.AsyncClient)
    with pytest.raises(ConfigurationError, match=r"client= returns 'AsyncClient'; this face needs httpx\.Client"):
        made.client(httpx.Client)
