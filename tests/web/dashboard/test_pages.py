"""The pages without a browser: on every family of databases, for every kind of viewer, and what they cost."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from sqlalchemy import String
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from duerow import Draft, Elsewhere, Relay, Sink, aio
from duerow.aio.entity import EntityQueue
from duerow.encryption import Encryption
from duerow.entity import QueueState, queue_state
from duerow.errors import QueryTimeout
from duerow.pipeline import Pipeline
from duerow.queue.beside import own_key
from duerow.web import Accounts
from duerow.web.dashboard import live as live_data
from duerow.web.dashboard.live import Live, fresh_until
from duerow.web.dashboard.views import queue as queue_view
from duerow.worker.stack import Stack, payload_of
from tests.web.conftest import TOKEN, Opened, form_token, logged_in

PATHS = ("/", "/dead", "/pipelines", "/schedules", "/workers", "/history", "/audit", "/jobs")


@pytest.fixture(params=["sqlite", "postgresql", "mariadb", "mongodb"])
async def anywhere(request: pytest.FixtureRequest, tmp_path: Any) -> AsyncIterator[aio.Database]:
    """A database of each family, with tables of its own."""
    prefix = f"w{uuid.uuid4().hex[:6]}_"
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'x.db'}"
    else:
        url = request.getfixturevalue(f"{request.param}_url")
    async with await aio.connect(url, migrate=True, prefix=prefix) as opened:
        yield opened


async def test_every_page_is_there_on_every_family_of_databases(anywhere: aio.Database, opened: Opened) -> None:
    name = "mail/of:the.shop"
    queue = anywhere.queue(name, history=timedelta(days=1), indexed={"to": str})
    await queue.declare()
    ids = [one.id for one in await queue.push_many([Draft({"to": f"{n}"}, key=f"k{n}") for n in range(6)])]
    reservations = await queue.reserve_many(3)
    await queue.commit(reservations[0])
    await queue.bury(reservations[1], ValueError("no such address"))
    await anywhere.declare_pipeline(Pipeline("p", [Relay("a", print, to="b"), Sink("b", print)]))
    await anywhere.schedule("s", every=timedelta(hours=1), queue=name, payload={"to": "x"})
    browser = opened(anywhere)
    at = "/queues/mail~of:the.shop"
    tabs = [f"{at}?tab={tab}" for tab in ("ready", "delayed", "leased", "error", "stopped", "dead")]
    more = [f"{at}?where=payload.to = '4'", f"{at}?order=due_at", f"{at}/messages/{ids[0]}", f"{at}/messages/{ids[1]}"]
    for path in (
        *PATHS,
        at,
        *tabs,
        *more,
        f"{at}/messages/{ids[0]}/way",
        "/pipelines/p",
        "/schedules/s",
        f"/history?queue={name}",
    ):
        page = await browser.get(path)
        assert page.status_code == 200, path
    assert f"messages/{ids[5]}" in (await browser.get(f"{at}?tab=ready")).text
    token = form_token(await browser.get(at))
    sent = {"csrf_token": token, "verb": "requeue", "tab": "dead", "scope": "all"}
    counted = await browser.post(f"{at}/many", data=sent)
    assert '<b class="big">1</b>' in counted.text
    begun = await browser.post(f"{at}/many", data={**sent, "go": "1"})
    job = begun.headers["location"]
    for _ in range(400):
        if "chip done" in (await browser.get(job)).text:
            break
        await asyncio.sleep(0.05)
    assert await queue.count(status="dead") == 0


async def test_a_viewer_sees_only_its_queues_and_changes_only_those_that_it_operates(
    memory: aio.Database, opened: Opened, accounts: Accounts
) -> None:
    for name in ("orders", "mail", "secret"):
        await memory.queue(name).push({"in": name})
    browser = opened(memory, users=accounts)
    assert (await browser.get("/")).status_code in (302, 303, 307)
    await logged_in(browser, "owen")
    overview = (await browser.get("/")).text
    assert "/queues/orders" in overview
    assert "/queues/mail" in overview
    assert "secret" not in overview
    assert (await browser.get("/queues/secret")).status_code == 404
    assert (await browser.get("/audit")).status_code == 403
    mail = await browser.get("/queues/mail")
    assert "Pause" not in mail.text
    token = form_token(await browser.get("/queues/orders"))
    for path in ("pause", "purge", "push", "many"):
        refused = await browser.post(f"/queues/mail/{path}", data={"csrf_token": token, "verb": "remove"})
        assert refused.status_code == 403, path
    assert (await browser.post("/queues/orders/pause", data={"csrf_token": token})).status_code == 303
    assert not (await memory.queue("mail").stats()).paused


async def test_a_page_without_the_key_of_a_progress_and_a_stack_says_so(tmp_path: Any, opened: Opened) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    encryption = Encryption([Encryption.new_key()])
    async with await aio.connect(url, migrate=True, encryption=encryption) as sealed, await aio.connect(url) as plain:
        pushed = await sealed.queue("mail").push("x")
        key, told = own_key(pushed.id), Stack((), 0, "w1", datetime.now(UTC), "none")
        await sealed.queue("mail/stack").push(payload_of(told), key=key, delay=timedelta(hours=1))
        await sealed.queue("mail/progress").push({}, key=key, delay=timedelta(hours=1))
        page = await opened(plain).get(f"/queues/mail/messages/{pushed.id}")
        assert page.status_code == 200
        assert page.text.count("This dashboard does not have the key") == 3  # and the payload's
        assert "<h2>Stack</h2>" in page.text


async def test_nothing_can_be_changed_through_a_window_that_is_read_only(memory: aio.Database, opened: Opened) -> None:
    await memory.queue("orders").push({"a": 1})
    browser = opened(memory, read_only=True)
    page = await browser.get("/queues/orders")
    assert "read-only" in page.text
    assert "<textarea" not in page.text
    token = form_token(page)
    assert (await browser.post("/queues/orders/pause", data={"csrf_token": token})).status_code == 403


async def test_the_heading_of_dead_letters_counts_those_that_are_listed(memory: aio.Database, opened: Opened) -> None:
    queue, browser = memory.queue("orders"), opened(memory)
    await queue.push_many([Draft(number) for number in range(2)])
    for number in (1, 2):
        reservation = await queue.reserve()
        assert reservation is not None
        await queue.bury(reservation, "no use")
        if number == 1:
            await browser.get("/")  # which reads how many are dead
    page = (await browser.get("/dead")).text
    assert '<span class="n dead">2</span>' in page
    assert '<b class="n">2</b>' in page


async def test_many_pipelines_are_listed_page_by_page(memory: aio.Database, opened: Opened) -> None:
    for number in range(14):
        await memory.declare_pipeline(Pipeline(f"p{number:02}", [Sink(f"queue-{number:02}", print)]))
    browser = opened(memory)
    first = (await browser.get("/pipelines")).text
    assert first.count('id="pipeline-') == 12
    assert 'href="/pipelines?page=2"' in first
    last = (await browser.get("/pipelines?page=2")).text
    assert last.count('id="pipeline-') == 2
    assert 'id="pipeline-p13"' in last


async def test_any_number_of_viewers_cost_what_one_of_them_costs(
    memory: aio.Database, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("duerow.web.dashboard.live.time", SimpleNamespace(monotonic=lambda: now))
    await memory.queue("orders").push_many([Draft(number) for number in range(5)])
    browser = opened(memory)
    await browser.get("/queues/orders")
    reads = counted(memory)
    now = 1.0  # what the first viewer was shown is old, and stays as old for all who look now
    await asyncio.gather(*(browser.get("/queues/orders") for _ in range(20)))
    assert 1 <= reads() <= 8  # those of one page


async def test_nothing_is_read_while_nobody_looks(memory: aio.Database, opened: Opened, monkeypatch: Any) -> None:
    await memory.queue("orders").push(1)
    browser = opened(memory)
    monkeypatch.setattr("duerow.web.dashboard.live.LOOKED_AT", 0.3)
    await browser.get("/")
    await asyncio.sleep(1.5)
    reads = counted(memory)
    await asyncio.sleep(1.0)
    assert reads() == 0


def counted(database: aio.Database) -> Callable[[], int]:
    """Count the plans that a database carries out from now on."""
    number = 0
    run = database.run

    async def counting(*arguments: Any, **options: Any) -> Any:
        nonlocal number
        number += 1
        return await run(*arguments, **options)

    database.run = counting  # type: ignore[method-assign]
    return lambda: number


async def test_what_is_read_is_read_once_for_all_who_ask_at_the_same_time(memory: aio.Database) -> None:
    class Window:
        database = memory

    live, begun = Live(Window()), []  # type: ignore[arg-type]
    ready = asyncio.Event()

    async def read() -> str:
        begun.append(1)
        await ready.wait()
        return "value"

    asking = [asyncio.create_task(live.shared("key", read)) for _ in range(10)]
    await asyncio.sleep(0)
    asking[0].cancel()
    ready.set()
    assert await asyncio.gather(*asking[1:]) == ["value"] * 9
    assert await live.shared("key", read, age=60) == "value"
    assert begun == [1]


async def test_a_page_is_there_before_a_list_that_takes_long_and_shows_the_list_once_it_is_found(
    memory: aio.Database, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await memory.queue("orders").push({"n": 1})
    ready, read = asyncio.Event(), queue_view.messages_of

    async def slow(*asked: Any) -> Any:
        await ready.wait()
        return await read(*asked)

    browser = opened(memory)
    monkeypatch.setattr(live_data, "LIST_WAIT", 0.0)
    monkeypatch.setattr(queue_view, "messages_of", slow)
    page = await browser.get("/queues/orders")
    assert page.status_code == 200
    assert "Still searching" in page.text
    assert f"messages/{found.id}" not in page.text
    ready.set()
    monkeypatch.setattr(live_data, "LIST_WAIT", 60.0)
    assert f"messages/{found.id}" in (await browser.get("/queues/orders")).text


async def test_a_page_says_that_its_search_was_stopped(
    memory: aio.Database, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.queue("orders").push({"n": 1})
    browser = opened(memory)

    async def stopped(*_: Any) -> Any:
        raise QueryTimeout(timedelta(seconds=30))

    monkeypatch.setattr(queue_view, "messages_of", stopped)
    page = await browser.get("/queues/orders?where=payload.n+%3D+2")
    assert page.status_code == 200
    assert "Not found yet" in page.text
    assert "30 s" in page.text
    assert "No message matches" not in page.text


@pytest.mark.parametrize(
    ("address", "order"),
    [
        ("", "-due_at"),
        ("?tab=ready", "due_at"),
        ("?tab=dead", "-id"),
        ("?where=payload.n = 1", "-due_at"),
        ("?where=payload.to = 'x'", "-id"),
        ("?where=payload.to = 'x'&order=priority", "priority"),
    ],
)
async def test_a_list_is_at_first_in_an_order_that_an_index_has(
    memory: aio.Database, opened: Opened, address: str, order: str
) -> None:
    queue = memory.queue("orders", indexed={"to": str})
    await queue.declare()
    page = await opened(memory).get(f"/queues/orders{address}")
    assert f'<option value="{order}" selected>' in page.text


class Base(DeclarativeBase):
    pass


class Invoice(Base):
    __tablename__ = "invoice"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[str] = mapped_column(String(50))
    sending: Mapped[QueueState] = queue_state("sending")


async def test_rows_of_ones_own_table_are_shown_and_handed_out_again(
    memory: aio.Database, opened: Opened, tmp_path: Any
) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'own.db'}")
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    queue = EntityQueue(Invoice.sending, engine)
    async with queue.session() as session:
        invoice = Invoice(customer="Ana")
        session.add(invoice)
        invoice.sending.schedule()
        await session.commit()
    reservation = await queue.reserve()
    assert reservation is not None
    await queue.bury(reservation, ValueError("no address"))
    browser: httpx.AsyncClient = opened(memory, queues=[queue])
    assert "/queues/invoice.sending" in (await browser.get("/")).text
    page = await browser.get("/queues/invoice.sending?status=dead&row=1")
    assert "Ana" in page.text
    assert "no address" in page.text
    data = {"csrf_token": form_token(page)}
    assert (await browser.post("/queues/invoice.sending/rows/requeue?row=1", data=data)).status_code == 303
    assert (await queue.stats()).ready == 1
    await engine.dispose()


async def test_the_limits_of_rows_are_set_on_their_page_if_there_is_a_place_for_them(
    memory: aio.Database, opened: Opened, tmp_path: Any
) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'own.db'}")
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    queue = EntityQueue(Invoice.sending, engine)
    assert "Limits of its workers" not in (await opened(memory, queues=[queue]).get("/queues/invoice.sending")).text
    limited = EntityQueue(Invoice.sending, engine, permits=memory)
    browser: httpx.AsyncClient = opened(memory, queues=[limited])
    data = {"csrf_token": form_token(await browser.get("/queues/invoice.sending")), "concurrency": "3"}
    assert (await browser.post("/queues/invoice.sending/limit", data=data)).status_code == 303
    assert (await limited.limits()).concurrency == 3
    assert 'value="3"' in (await browser.get("/queues/invoice.sending")).text
    await engine.dispose()


async def test_a_page_without_a_session_is_no_way_to_change_anything(memory: aio.Database, opened: Opened) -> None:
    await memory.queue("orders").push(1)
    browser = opened(memory)
    for path in ("/queues/orders/pause", "/queues/orders/many", "/queues/orders/messages/1/remove"):
        assert (await browser.post(path, data={"verb": "remove"})).status_code == 403
    assert TOKEN not in (await browser.get("/")).text


async def test_a_run_on_spark_leads_to_sparks_own_pages(memory: aio.Database, opened: Opened) -> None:
    await memory.declare_pipeline(Pipeline("p", [Relay("a", print, to="b"), Sink("b", print)]))
    for name in ("h:1:spark http://driver:4040/a", "h:2:spark javascript:alert(1)/a"):
        await memory.run(lambda name=name: memory.store.metadata.note_consumer(name, ["a"], ["json"], "1.0"))  # type: ignore[misc]
    browser = opened(memory)
    for path in ("/pipelines/p", "/workers"):
        page = (await browser.get(path)).text
        assert 'href="http://driver:4040"' in page
        assert 'href="javascript' not in page


def test_a_slow_search_takes_up_a_fifth_of_a_connection_at_most_and_other_slow_reads_half() -> None:
    for took in (0.3, 2.0, 9.0):
        assert fresh_until(100.0, 100.0 + took, 0.5, 4.0) - 100.0 == pytest.approx(5 * took)
    assert fresh_until(100.0, 102.0, 0.5, 1.0) == 104.0
    assert fresh_until(100.0, 100.1, 0.5, 1.0) == 100.5
    assert fresh_until(100.0, 130.0, 0.5, 4.0) == 170.0


async def test_the_condition_field_suggests_only_what_may_be_searched_and_seen(
    memory: aio.Database, opened: Opened
) -> None:
    await memory.queue("orders").push(
        {"iban": "HR12 3456", "city": "Split", "to": {"zip": 21000}}, headers={"from": "shop"}
    )
    seen = (await opened(memory).get("/queues/orders")).text
    for text in ("HR12 3456", "payload.city", "payload.to.zip", "21000", "headers.from"):
        assert text in seen.partition("data-fields=")[2].partition(" data-focus")[0]
    hiding = opened(memory, redact=lambda queue, payload: {**payload, "iban": "***"}, searchable={"orders": ["city"]})
    hidden = (await hiding.get("/queues/orders")).text.partition("data-fields=")[2].partition(" data-focus")[0]
    assert "payload.city" in hidden
    assert "Split" in hidden
    assert "iban" not in hidden
    assert "zip" not in hidden


async def test_a_pipeline_shows_where_messages_wait_for_another_database(memory: aio.Database, opened: Opened) -> None:
    there = Elsewhere("readings", dict, name="outgoing", database="the centre")
    await memory.declare_pipeline(Pipeline("pump", [Relay("measured", print, to=there)]))
    await memory.queue("outgoing").push(1)
    browser = opened(memory)
    page = (await browser.get("/pipelines/pump")).text
    assert "crossing to queue &#39;readings&#39; of the centre" in page
    assert 'id="station-outgoing"' in page
