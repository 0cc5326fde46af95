"""One application over several databases: each under its name, with one login for all."""

from __future__ import annotations

import uuid

import httpx
import pytest

from duerow import aio
from duerow.cli.dashboard import named
from duerow.errors import ConfigurationError
from duerow.web import Accounts, SeveralApplications, application
from tests.web.conftest import PASSWORD, Opened, form_token


async def test_each_database_is_under_its_name_and_a_menu_leads_from_one_to_another(
    memory: aio.Database, opened: Opened
) -> None:
    async with await aio.connect(f"memory://{uuid.uuid4()}", migrate=True) as other:
        await memory.queue("orders").push(1)
        await other.queue("letters").push(2)
        browser = opened({"shop": memory, "mail": other})
        first = await browser.get("/")
        assert first.headers["location"] == "/shop/"
        assert (await browser.get("/mail")).headers["location"] == "/mail/"
        shop, mail = (await browser.get("/shop/")).text, (await browser.get("/mail/")).text
        assert "/shop/queues/orders" in shop
        assert "queues/letters" not in shop
        assert "/mail/queues/letters" in mail
        assert 'href="/mail/"' in shop
        assert (await browser.get("/mail/api/v1/queues")).json() == {"queues": ["letters"]}
        assert (await browser.get("/shop/readyz")).status_code == 200
        assert (await browser.get("/nowhere/")).status_code == 404
        token = form_token(await browser.get("/mail/queues/letters"))
        paused = await browser.post("/mail/queues/letters/pause", data={"csrf_token": token})
        assert paused.headers["location"].startswith("/mail/queues/letters")
        assert (await other.queue("letters").stats()).paused


async def test_people_log_in_once_and_out_once(memory: aio.Database, opened: Opened, accounts: Accounts) -> None:
    browser = opened({"shop": memory, "mail": memory}, users=accounts, root_path="/queues", login_rate="2/minute")
    asked = await browser.get("/mail/dead")
    assert asked.headers["location"].startswith("/queues/mail/login")
    page = await browser.get("/shop/login")
    assert "Path=/queues/;" in page.headers["set-cookie"]
    cookies = page.headers["set-cookie"].partition(";")[0]
    said = {"name": "ana", "password": PASSWORD, "csrf_token": form_token(page)}
    done = await browser.post("/shop/login", data=said, headers={"Cookie": cookies})
    mine = {"Cookie": done.headers["set-cookie"].partition(";")[0]}
    for name in ("shop", "mail"):
        assert (await browser.get(f"/{name}/dead", headers=mine)).status_code == 200
    token = form_token(await browser.get("/mail/dead", headers=mine))
    await browser.post("/mail/logout", data={"csrf_token": token}, headers=mine)
    for name in ("shop", "mail"):
        assert (await browser.get(f"/{name}/dead", headers=mine)).status_code == 303
    page = await browser.get("/mail/login", headers={"Cookie": cookies})
    tried = [
        await browser.post(f"/{name}/login", data={**said, "csrf_token": form_token(page)}, headers={"Cookie": cookies})
        for name in ("mail", "shop")
    ]
    assert tried[-1].status_code == 429  # they count together


def test_names_are_taken_from_urls_unless_they_are_given() -> None:
    urls = ["sqlite:///data/shop.db", "mail=postgresql://app@localhost/mail?a=b", "mongodb://localhost:27017/late"]
    assert list(named(urls)) == ["shop", "mail", "late"]
    assert named(urls)["mail"] == "postgresql://app@localhost/mail?a=b"
    with pytest.raises(ConfigurationError, match="two databases are called 'shop'"):
        named(["sqlite:///shop.db", "postgresql://app@localhost/shop"])


async def test_names_that_no_path_can_have_and_queues_of_ones_own_are_refused(memory: aio.Database) -> None:
    for databases in ({"a/b": memory}, {}, {"": memory}):
        with pytest.raises(ConfigurationError):
            application(databases)
    window = application({"shop": memory})
    assert isinstance(window, SeveralApplications)
    await window.open()
    transport = httpx.ASGITransport(window, client=("127.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
        assert (await browser.get("/shop/")).status_code == 200
    await window.close()
