"""What forms do, sent without a browser."""

from __future__ import annotations

import asyncio
import html
import os
import re
import socket
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from duerow import Draft, Fork, Pipeline, Split, aio
from duerow.errors import QueueDraining, StoreUnavailable
from duerow.queue.limits import RunLimits
from duerow.queue.replay_chunks import ReplayChunk
from duerow.testing.clock import MovableClock
from duerow.web import Accounts, Web
from duerow.web.dashboard.changes import AskedChange, ChangeProgress, part
from duerow.web.dashboard.jobs import BackgroundJobs
from duerow.web.options import WebOptions
from tests.web.conftest import Opened, form_token, logged_in


class Forms:
    """Sends forms as a browser does.

    Args:
        browser: sends them.
        page: a page that shows their token.
    """

    def __init__(self, browser: httpx.AsyncClient, page: str = "/") -> None:
        self.browser, self._page, self._token = browser, page, ""

    async def send(self, path: str, **fields: Any) -> httpx.Response:
        """Send a form."""
        self._token = self._token or form_token(await self.browser.get(self._page))
        return await self.browser.post(path, data={"csrf_token": self._token, **fields})

    async def done(self, begun: httpx.Response) -> str:
        """Return the page of a job that a form has begun, once it is over."""
        assert begun.status_code == 303, begun.text
        for _ in range(400):
            page = (await self.browser.get(begun.headers["location"])).text
            if any(f">{state}</span>" in page for state in ("done", "failed", "cancelled")):
                return page
            await asyncio.sleep(0.02)
        raise AssertionError(page)


async def test_messages_are_counted_and_then_transferred_to_another_queue(memory: aio.Database, opened: Opened) -> None:
    queue, other = memory.queue("orders"), memory.queue("later")
    ids = [one.id for one in await queue.push_many([Draft({"n": number}) for number in range(4)])]
    await other.push("there")
    forms = Forms(opened(memory), "/queues/orders")
    asked = {"verb": "transfer", "scope": "all", "where": "payload.n > 0", "to": "later"}
    counted = await forms.send("/queues/orders/many", **asked)
    assert '<b class="big">3</b>' in counted.text
    assert "later" in counted.text
    assert await other.count() == 1
    await forms.done(await forms.send("/queues/orders/many", **asked, go="1"))
    assert (await queue.count(), await other.count()) == (1, 4)
    one = await forms.send(f"/queues/orders/messages/{ids[0]}/transfer", to="later")
    assert f"/queues/later/messages/{ids[0]}" in one.headers["location"]
    nowhere = await forms.send("/queues/later/many", verb="transfer", scope="all", to="later")
    assert "already" in nowhere.text
    audit = (await forms.browser.get("/audit")).text
    assert audit.count(">transfer<") == 2


async def test_messages_go_only_to_queues_that_one_may_change(
    memory: aio.Database, opened: Opened, accounts: Accounts
) -> None:
    id = (await memory.queue("orders").push("hello")).id
    await memory.queue("mail").push("there")
    browser = opened(memory, users=accounts)
    await logged_in(browser, "owen")
    forms = Forms(browser, "/queues/orders")
    for to in ("mail", "duerow.audit"):
        for path in ("many", f"messages/{id}/transfer"):
            answer = await forms.send(f"/queues/orders/{path}", verb="transfer", scope="all", to=to, go="1")
            assert "only operators may change it" in answer.text
    assert await memory.queue("orders").count() == 1


async def test_a_schedule_is_added_changed_and_removed_by_forms_and_tells_its_past_runs(opened: Opened) -> None:
    clock = MovableClock()
    async with await aio.connect("memory://", clock=clock, migrate=True) as database:
        queue = database.queue("reports", history=timedelta(days=1))
        await queue.declare()
        forms = Forms(opened(database), "/schedules")
        said = {"name": "often", "queue": "reports", "recurrence": "every", "when": "10m", "payload": '{"n": 1}'}
        added = await forms.send("/schedules", **said)
        assert added.headers["location"].startswith("/schedules/often")
        for _ in range(2):
            clock.advance(timedelta(minutes=10))
            await database.maintain()
        await queue.commit_many(await queue.reserve_many(1))
        page = (await forms.browser.get("/schedules/often")).text
        assert page.count('id="run-') == 2
        assert ">done</span>" in page
        assert ">new</span>" in page
        again = await forms.send("/schedules", **said)
        assert "already" in again.text
        refused = await forms.send("/schedules/often", **{**said, "when": "often"})
        assert "an interval must be a span" in refused.text
        assert 'value="often"' in refused.text
        await forms.send("/schedules/often", **{**said, "recurrence": "daily", "when": "08:30", "payload": ""})
        (changed,) = await database.schedules()
        assert (changed.daily, changed.payload, len(changed.past)) == (("08:30",), {"n": 1}, 2)
        await forms.send("/schedules/often/remove", confirm="oftn")
        assert await database.schedules()
        await forms.send("/schedules/often/remove", confirm="often")
        assert await database.schedules() == []
        unknown = await forms.send("/schedules", **{**said, "queue": "nobody"})
        assert "nobody" in unknown.text
        assert await database.schedules() == []


async def test_a_schedule_of_bytes_is_not_changed_by_a_form(memory: aio.Database, opened: Opened) -> None:
    await memory.schedule("raw", every=timedelta(hours=1), queue="reports", payload=b"\0")
    forms = Forms(opened(memory), "/schedules")
    assert "no form can edit" in (await forms.browser.get("/schedules/raw")).text
    answer = await forms.send("/schedules/raw", queue="reports", recurrence="every", when="5m", payload="1")
    assert "no form can edit" in answer.text
    assert (await memory.schedules())[0].payload == b"\0"


async def test_a_queue_is_declared_drained_and_resumed_by_forms(memory: aio.Database, opened: Opened) -> None:
    forms = Forms(opened(memory))
    said = {"name": "mail", "lease": "5m", "attempts": "7", "first": "10s", "dead_letter": "mail-dead", "history": "7d"}
    declared = await forms.send("/queues", **said)
    assert "/queues/mail" in declared.headers["location"]
    found = await memory.queue("mail").definition()
    assert found is not None
    assert (found.lease, found.limit, found.dead_letter) == (timedelta(minutes=5), 7, "mail-dead")
    assert found.history == timedelta(days=7)
    assert "queues/mail" in (await forms.browser.get("/")).text
    assert "already" in (await forms.send("/queues", **said)).text
    assert "must be a span" in (await forms.send("/queues", name="other", lease="long")).text
    await forms.send("/queues/mail/drain")
    with pytest.raises(QueueDraining):
        await memory.queue("mail").push(1)
    await forms.send("/queues/mail/resume")
    await memory.queue("mail").push(1)


async def test_all_messages_in_work_are_shown_page_by_page(memory: aio.Database, opened: Opened) -> None:
    queue = memory.queue("orders")
    await queue.push_many([Draft(number) for number in range(250)])
    await queue.reserve_many(250)
    await memory.queue("mail").push("another")
    await memory.queue("mail").reserve()
    browser, path, seen = opened(memory), "/workers", []
    while path:
        page = (await browser.get(path)).text
        seen += re.findall(r'id="held-(\d+)"', page)
        path = html.unescape(next(iter(re.findall(r'href="(/workers\?queue=orders[^"]*)"', page)), ""))
    assert len(seen) == 251
    assert len(set(seen)) == 251


async def test_a_change_of_many_messages_goes_on_where_it_was_after_its_process_ended(opened: Opened) -> None:
    clock = MovableClock()
    async with await aio.connect("memory://", clock=clock, migrate=True) as database:
        queue = database.queue("orders")
        await queue.push_many([Draft({"n": number}) for number in range(1_100)])
        asked = AskedChange("reprioritise", (), "all", "payload.n >= 50", {"priority": "7"})
        jobs = BackgroundJobs(Web(database, WebOptions()))
        id = await jobs.begin("Reprioritise", "orders", "ana", 1_050, asked)
        await jobs._look()
        await asyncio.gather(*jobs._parts)
        await database.queue("duerow.jobs").reserve(lease=timedelta(seconds=30))  # and is killed during the next part
        job = await jobs.get(id)
        assert job is not None
        assert (job.state, job.handled, await queue.count("priority = 7")) == ("running", 500, 500)
        later = await queue.push({"n": 2_000})
        clock.advance(timedelta(seconds=31))
        forms = Forms(opened(database))
        page = ""
        while ">done</span>" not in page:
            page = (await forms.browser.get(f"/jobs/{id}")).text
            await asyncio.sleep(0.01)
        assert '<b class="big">1,050</b> changed of 1,050' in page
        assert await queue.count("priority = 7") == 1_050
        assert (await queue.get(later.id)).priority == 0  # type: ignore[union-attr]
        assert "Reprioritise" in (await forms.browser.get("/jobs")).text


async def test_a_replay_that_was_interrupted_leaves_out_and_names_what_it_may_have_pushed(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duerow.queue.replay_chunks.REPLAY_BATCH", 3)
    clock = MovableClock()
    async with await aio.connect("memory://", clock=clock, migrate=True) as database:
        queue = database.queue("orders", history=timedelta(days=1))
        await queue.declare()
        for number in range(10):
            await queue.push({"n": number})
            await queue.commit_many(await queue.reserve_many(1))
            clock.advance(timedelta(seconds=1))
        jobs = BackgroundJobs(Web(database, WebOptions()))
        asked = AskedChange("replay", (), "all", "payload.n < 8 or payload.n = 8", {})
        id = await jobs.begin("Replay", "orders", "ana", 9, asked)
        for _ in range(2):  # looks which are first, and pushes three
            await jobs._look()
            await asyncio.gather(*jobs._parts)
        assert [one.payload["n"] for one in await queue.find(order="id")] == [0, 1, 2]

        async def lost(*arguments: Any) -> None:
            raise StoreUnavailable("the connection ended")

        monkeypatch.setattr(jobs._queue, "settle", lost)  # three more are pushed, but that is not noted
        await jobs._look()
        await asyncio.gather(*jobs._parts)
        assert await queue.count() == 6
        clock.advance(timedelta(seconds=31))
        forms = Forms(opened(database))
        page = ""
        while ">done</span>" not in page:
            page = (await forms.browser.get(f"/jobs/{id}")).text
            await asyncio.sleep(0.01)
        assert [one.payload["n"] for one in await queue.find(order="id")] == list(range(9))  # 3 to 5 just once
        assert '<b class="big">6</b> changed of 9' in page
        assert "3 messages in doubt" in page
        named = html.unescape(re.findall(r'href="(/history[^"]*)">Show them', page)[0])
        shown = (await forms.browser.get(named)).text
        assert re.findall(r'id="turn-(\d+)-', shown) == ["6", "5", "4"]


def test_turns_in_doubt_that_ended_together_are_found_by_their_ids() -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    chunk = ReplayChunk((at, 4, 1), (at, 6, 1), 3, (at, 9, 1))
    found = AskedChange("replay", (), "all", "payload.n = 1 or payload.n = 2", {}).turns_of(chunk)
    assert found.startswith("(payload.n = 1 or payload.n = 2) and finished_at >= ")
    assert found.endswith("and id >= 4 and id <= 6")


async def test_a_replay_that_was_cancelled_pushes_nothing_more(
    memory: aio.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duerow.queue.replay_chunks.REPLAY_BATCH", 3)
    queue = memory.queue("orders", history=timedelta(days=1))
    await queue.push_many([Draft(number) for number in range(10)])
    await queue.commit_many(await queue.reserve_many(10))
    jobs = BackgroundJobs(Web(memory, WebOptions()))
    id = await jobs.begin("Replay", "orders", "ana", 10, AskedChange("replay", (), "all", "", {}))
    for step in range(3):
        if step == 2:
            await jobs.cancel(id)
        await jobs._look()
        await asyncio.gather(*jobs._parts)
    job = await jobs.get(id)
    assert job is not None
    assert (job.state, job.changed.count, await queue.count()) == ("cancelled", 3, 3)


async def test_a_purge_shows_a_count_first_goes_on_after_an_interruption_and_leaves_what_was_pushed_since(
    memory: aio.Database, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duerow.web.dashboard.changes.PURGED", 4)
    queue = memory.queue("orders")
    await queue.push_many([Draft(number) for number in range(10)])
    await queue.reserve_many(2)
    forms = Forms(opened(memory, read_only=False), "/queues/orders")
    for wrong in ({}, {"confirm": "odrers"}):
        counted = await forms.send("/queues/orders/purge", **wrong)
        assert '<b class="big">10</b> messages would change' in counted.text
        assert "Consumers are working on 2 of them" in counted.text
    assert "Nothing was removed" in counted.text
    assert (await forms.send("/queues/orders/many", verb="purge", go="1")).status_code == 404
    assert await queue.count() == 10
    jobs = BackgroundJobs(Web(memory, WebOptions()))
    newest = (await queue.find(order="-id", limit=1))[0].id
    asked = AskedChange("purge", (), "all", "", {})
    await jobs.begin("Purge orders", "orders", "ana", 10, asked, newest)
    await queue.push("since")
    step = await part(queue, asked, memory.host_time(), ChangeProgress(highest=newest), 1)
    assert (step.count, step.over, await queue.count()) == (4, False, 7)  # and its process ended before that was noted
    while not (await jobs.all())[0].is_over:
        await jobs._look()
        await asyncio.gather(*jobs._parts)
    assert [one.payload for one in await queue.find()] == ["since"]


async def test_nothing_goes_on_in_the_background_of_a_window_that_is_read_only(
    memory: aio.Database, opened: Opened
) -> None:
    jobs = BackgroundJobs(Web(memory, WebOptions()))
    id = await jobs.begin("Remove", "orders", "", None, AskedChange("remove", (), "all", "", {}))
    browser = opened(memory, read_only=True)
    for _ in range(3):
        assert "waiting" in (await browser.get(f"/jobs/{id}")).text


async def test_all_that_was_made_of_a_message_is_drawn_requeued_and_removed(
    memory: aio.Database, opened: Opened
) -> None:
    graph = Pipeline("p", [Split("orders", list, to="lines"), Fork("lines", dict, to=["a", "b"])], outputs=["a", "b"])
    await memory.declare_pipeline(graph)
    orders, lines = memory.queue("orders"), memory.queue("lines", history=timedelta(days=1))
    root, other = (await orders.push(1)).id, (await orders.push(2)).id
    for parent in (root, other):
        await lines.push_many([Draft(n, headers={"parent": parent}) for n in range(3)])
    middle = [one for one in await lines.find() if one.headers["parent"] == root]
    for queue in ("a", "b"):
        await memory.queue(queue).push_many([Draft(one.id, headers={"parent": one.id}) for one in middle])
    pair = ",".join(str(one.id) for one in middle[:2])
    await memory.queue("b").push("joined", headers={"parent": pair, "parents": 2})
    taken = await memory.queue("a").reserve()
    assert taken is not None
    await memory.queue("a").bury(taken, "no use")
    forms = Forms(opened(memory), "/queues/orders")
    way = (await forms.browser.get(f"/queues/orders/messages/{root}/way")).text
    assert "Remove the 11 that are still in a queue" in way
    assert way.count('data-node="') - way.count('id="hop-') == 11
    assert "Requeue the one that failed" in way

    async def confirmed(verb: str, count: str) -> httpx.Response:
        """Send the form that a form leads to, which counts first."""
        shown = await forms.send(f"/queues/orders/messages/{root}/lineage/{verb}")
        assert count in shown.text
        ids = re.findall(r'name="id" value="(\d+)"', shown.text)
        return await forms.send(f"/queues/orders/messages/{root}/lineage/{verb}", go="1", id=ids)

    requeued = await confirmed("requeue", '<b class="big">1</b> message would change')
    assert "1 message was requeued" in (await forms.browser.get(requeued.headers["location"])).text
    assert await memory.queue("a").count(status="dead") == 0
    held = await lines.reserve()
    assert held is not None
    removed = await confirmed("remove", '<b class="big">10</b> messages would change. 1 would be skipped')
    told = (await forms.browser.get(removed.headers["location"])).text
    assert "10 messages were removed. 1 was skipped" in told
    assert [one.id for one in await orders.find()] == [other]
    assert await lines.count() == 4
    assert (await memory.queue("a").count(), await memory.queue("b").count()) == (0, 0)


async def test_the_limits_of_a_queue_are_set_and_taken_away_by_a_form(memory: aio.Database, opened: Opened) -> None:
    queue = memory.queue("orders")
    await queue.push(1)
    forms = Forms(opened(memory), "/queues/orders")
    await forms.send("/queues/orders/limit", concurrency="3", rate="100", span="10s")
    assert await queue.limits() == RunLimits(3, None, 100, timedelta(seconds=10))
    assert 'name="concurrency" inputmode="numeric" value="3"' in (await forms.browser.get("/queues/orders")).text
    for wrong in ({"concurrency": "0"}, {"rate": "many"}, {"rate": "5", "span": "x"}):
        assert "That did not work" in (await forms.send("/queues/orders/limit", **wrong)).text
    assert (await queue.limits()).concurrency == 3
    await forms.send("/queues/orders/limit")
    assert await queue.limits() == RunLimits()


async def test_charts_show_the_last_day_by_process_and_how_many_messages_were_ready(opened: Opened) -> None:
    clock = MovableClock()
    async with await aio.connect("memory://", clock=clock, migrate=True) as database:
        clock.set(clock.now().replace(minute=0, second=0, microsecond=0))
        queue = database.queue("orders")
        await queue.push_many([Draft(number) for number in range(9)])
        await queue.commit_many(await queue.reserve_many(4))
        await database.write_counts()
        clock.advance(timedelta(minutes=16))
        await queue.keep_periods()
        browser = opened(database)
        hour = (await browser.get("/queues/orders")).text
        assert "4 turns ended in the last hour" in hour
        assert f"{socket.gethostname()}:{os.getpid()}: 4" in hour
        clock.advance(timedelta(hours=3))
        assert "0 turns ended in the last hour" in (await opened(database).get("/queues/orders")).text
        for path in ("/queues/orders?span=day", "/history?queue=orders&span=day"):
            day = (await browser.get(path)).text
            assert "4 turns ended in the last day" in day
            assert f"{socket.gethostname()}:{os.getpid()}: 4" in day
            assert "At most 5 messages were ready" in day
