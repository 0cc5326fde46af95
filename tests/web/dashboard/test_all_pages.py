"""What must hold on every page, whatever it shows: text of messages is no markup, and what is redacted stays hidden."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import String
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from starlette.routing import Route

from duerow import Commit, Draft, Relay, Sink, aio, fixed, limited
from duerow.aio.entity import EntityQueue
from duerow.entity import QueueState, queue_state
from duerow.pipeline import Pipeline
from duerow.web import Web
from duerow.web.dashboard.routes import routes
from duerow.web.options import WebOptions
from tests.web.conftest import Opened
from tests.web.dashboard.test_forms import Forms

QUOTES = "'\"{{ 7 * 7 }}"
MARKUP = f"<img src=x onerror=alert(1)>{QUOTES}"
SECRET = "HR12 3456"


class Base(DeclarativeBase):
    pass


class Account(Base):
    __tablename__ = "account"
    id: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(String(80))
    sending: Mapped[QueueState] = queue_state("sending")


class Filled:
    """A database with the same text wherever messages bring some along; the pages that show it.

    Args:
        db: the database.
        text: the text.
        around: put it also where nobody redacts: into keys, groups and headers.
    """

    def __init__(self, db: aio.Database, text: str, around: bool) -> None:
        self.db, self.text, self.around = db, text, around
        self.payload = {"iban": text, "n": 1} | ({text: text} if around else {})

    def draft(self, number: int) -> Draft[Any]:
        more: dict[str, Any] = {}
        if self.around:
            more = {"key": f"{self.text}{number}", "group": self.text, "headers": {"x": self.text, self.text: 1}}
        return Draft(self.payload, **more)

    async def fill(self) -> dict[str, str]:
        """Bring about all that pages can show; return their addresses by their routes."""
        kept: dict[str, Any] = {"history": timedelta(days=1), "retry": limited(1, fixed(timedelta(0)))}
        orders = self.db.queue("orders", indexed={"iban": str}, **kept)
        mail = self.db.queue("mail", dead_letter="mail-dead", **kept)
        for queue in (orders, mail):
            await queue.declare()
        await self.db.declare_pipeline(Pipeline("p", [Relay("orders", print, to="mail"), Sink("mail", print)]))
        await self.db.schedule("s", every=timedelta(hours=1), queue="orders", payload=self.payload)
        parent = await orders.push(self.payload)
        for queue in (orders, mail):
            for number in range(3):
                await queue.push_many([self.draft(number)])
                reservation = (await queue.reserve_many(1))[0]
                if number == 0:
                    assert await queue.settle([(reservation, Commit(log=self.text))]) == []
                else:
                    await queue.rollback(reservation, error=_raised(self.text))
        made = Draft(self.payload, headers={"parent": parent.id})
        await mail.push_many([made, self.draft(8)])
        await mail.reserve_many(1)
        dead = (await orders.find(status="dead", limit=1))[0]
        at = "/queues/orders"
        return {
            "/": "/",
            "/queues/{queue}": at,
            "/queues/{queue}/messages/{id:int}": f"{at}/messages/{dead.id}",
            "/queues/{queue}/messages/{id:int}/way": f"{at}/messages/{parent.id}/way",
            "/dead": "/dead",
            "/pipelines": "/pipelines",
            "/pipelines/{name}": "/pipelines/p",
            "/schedules": "/schedules",
            "/schedules/{name}": "/schedules/s",
            "/workers": "/workers",
            "/history": "/history?queue=orders",
            "/audit": "/audit",
            "/jobs": "/jobs",
            "an ended message": f"/queues/mail/messages/{(await mail.history(limit=50))[-1].id}",
            "dead letters": "/queues/mail-dead",
            "dead in place": f"{at}?tab=dead",
            "the last day": "/history?queue=mail&span=day",
        }

    async def forms(self, forms: Forms) -> dict[str, httpx.Response]:
        """Send the forms that show messages before they change them; return the pages."""
        (parent,) = [one for one in await self.db.queue("orders").find(status="new") if one.attempts == 0][:1]
        at = f"/queues/orders/messages/{parent.id}"
        asked = {"verb": "edit", "scope": "all", "patch": '{"n": 2}'}
        shown = {
            "confirm": await forms.send("/queues/orders/many", **asked),
            "purge": await forms.send("/queues/orders/purge"),
            "lineage": await forms.send(f"{at}/lineage/remove"),
            "a wrong form": await forms.send(f"{at}/edit", payload="{"),
        }
        begun = await forms.send("/queues/orders/many", go="1", **asked)
        await forms.done(begun)
        return shown | {"/jobs/{id:int}": await forms.browser.get(begun.headers["location"])}


def _raised(text: str) -> Exception:
    try:
        raise ValueError(text)
    except ValueError as error:
        return error


async def seen(filled: Filled, browser: httpx.AsyncClient, expected: str) -> dict[str, str]:
    """Return all pages as they are, each of which was found; `expected` is on most of them."""
    addresses = await filled.fill()
    pages = await filled.forms(Forms(browser, "/queues/orders"))
    for name, address in addresses.items():
        pages[name] = await browser.get(address)
    wrong = {name: page.status_code for name, page in pages.items() if page.status_code not in (200, 400)}
    assert wrong == {}
    known = {
        route.path
        for route in routes(Web(filled.db, WebOptions(read_only=True)))
        if isinstance(route, Route)
        if route.methods is not None and "GET" in route.methods
    }
    assert known - {"/audit.jsonl"} <= set(pages)
    assert sum(expected in page.text for page in pages.values()) >= 12
    return {name: page.text for name, page in pages.items()}


async def test_what_came_from_messages_is_text_on_every_page(memory: aio.Database, opened: Opened) -> None:
    filled = Filled(memory, MARKUP, around=True)
    browser = opened(memory)
    pages = await seen(filled, browser, "&lt;img src=x")
    pages["asked"] = (await browser.get("/queues/orders", params={"where": MARKUP})).text
    pages["chosen"] = (await browser.get("/history", params={"queue": "orders", "where": MARKUP})).text
    pages["filtered"] = (await browser.get("/", params={"q": MARKUP})).text
    for name, page in pages.items():
        assert "<img" not in page, name
        assert QUOTES not in page, name  # with quotes as they are, which would end an attribute
        assert "onerror=alert(1)>" not in page, name


async def test_what_is_redacted_is_on_no_page_and_in_no_stream(memory: aio.Database, opened: Opened) -> None:
    filled = Filled(memory, SECRET, around=False)
    browser = opened(memory, redact=lambda queue, payload: {**payload, "iban": "hidden away"})
    pages = await seen(filled, browser, "hidden away")
    assert [name for name, page in pages.items() if SECRET in page] == []
    searched = await browser.get("/queues/orders", params={"where": f"payload.iban = '{SECRET}'"})
    assert searched.status_code == 403


@pytest.mark.parametrize("redacted", [False, True])
async def test_rows_of_ones_own_table_are_text_and_redacted_too(
    memory: aio.Database, opened: Opened, tmp_path: Any, redacted: bool
) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'own.db'}")
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    queue = EntityQueue(Account.sending, engine)
    async with queue.session() as session:
        account = Account(owner=MARKUP)
        session.add(account)
        account.sending.schedule()
        await session.commit()
    reservation = await queue.reserve()
    assert reservation is not None
    await queue.bury(reservation, ValueError(MARKUP))
    options = {"redact": lambda queue, payload: {**payload, "owner": "hidden"}} if redacted else {}
    page = await opened(memory, queues=[queue], **options).get("/queues/account.sending?row=1")
    assert page.status_code == 200
    assert "<img" not in page.text
    assert ("onerror" in page.text) is not redacted
    await engine.dispose()
