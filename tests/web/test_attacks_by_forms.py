"""Other sites send no forms in the name of a person, and nothing that was typed runs on a page."""

from __future__ import annotations

import pytest

from duerow import aio
from duerow.web import Accounts
from tests.web.conftest import PASSWORD, QUEUES, Opened, form_token, logged_in, push_to

# Forms of other sites.


async def test_a_form_without_the_token_of_its_session_is_refused(
    memory: aio.Database, opened: Opened, accounts: Accounts
):
    browser, other = (opened(memory, users=accounts) for _ in range(2))
    foreign = form_token(await other.get("/login"))
    await browser.get("/login")
    for token in ("", "x", ".", foreign, foreign.partition(".")[2], "é.é"):
        refused = await browser.post("/login", data={"name": "ana", "password": PASSWORD, "csrf_token": token})
        assert (refused.status_code, refused.json()["type"]) == (403, "urn:duerow:problem:csrf")


async def test_a_token_from_before_the_login_is_none_after_it(memory: aio.Database, opened: Opened, accounts: Accounts):
    browser = opened(memory, users=accounts)
    before = form_token(await browser.get("/login"))
    await logged_in(browser, "ana")
    path, body = push_to("orders")
    assert (await browser.post(path, json=body, headers={"X-CSRF-Token": before})).status_code == 403
    assert (await browser.post(path, json=body)).status_code == 403
    after = form_token(await browser.get("/login"))
    assert (await browser.post(path, json=body, headers={"X-CSRF-Token": after})).status_code == 201


@pytest.mark.parametrize(
    "onward",
    ["https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil", "javascript:alert(1)", "/\t/evil"],
)
async def test_a_login_leads_to_no_other_site(memory: aio.Database, opened: Opened, accounts: Accounts, onward: str):
    browser = opened(memory, users=accounts)
    page = await browser.get("/login", params={"next": onward})
    assert "evil" not in page.text
    assert "javascript:" not in page.text
    form = {"name": "ana", "password": PASSWORD, "csrf_token": form_token(page), "next": onward}
    assert (await browser.post("/login", data=form)).headers["location"] == "/"


async def test_what_was_typed_is_text_on_the_page(memory: aio.Database, opened: Opened, accounts: Accounts):
    page = await opened(memory, users=accounts).get("/login", params={"next": '/"><script>alert(1)</script>'})
    assert "<script" not in page.text


async def test_every_response_forbids_what_the_pages_do_not_need(
    memory: aio.Database, opened: Opened, accounts: Accounts
):
    browser = opened(memory, users=accounts)
    for path in ("/login", QUEUES, "/nothing", "/static/nothing"):
        headers = (await browser.get(path)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
        if not path.startswith("/static"):
            assert headers["cache-control"] == "no-store"
