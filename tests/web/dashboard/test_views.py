"""Every page in a real browser: what it shows, that it is live, and that everybody can read and reach it."""

from __future__ import annotations

import json
import re
import threading
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from playwright.sync_api import Page, expect
from sqlalchemy.ext.asyncio import create_async_engine

import duerow
from duerow import Commit, Draft, Message, Pipeline, Relay, Sink, Worker
from duerow.aio.entity import EntityQueue
from duerow.testing.worker_harness import Gate
from duerow.web import Accounts
from duerow.worker import cancellation
from tests.web.conftest import PASSWORD
from tests.web.dashboard import scene
from tests.web.dashboard.conftest import SIZE, Heard, Shop
from tests.web.server import serving

PAGES = {
    "overview": "/",
    "queue": "/queues/webhooks",
    "refused": "/queues/webhooks?where=payload.a+%3D+3+andd+b",
    "message": "/queues/webhooks/messages/{dead}",
    "dead": "/dead",
    "pipelines": "/pipelines",
    "schedules": "/schedules",
    "schedule": "/schedules/nightly-report",
    "history": "/history?queue=orders.check&where=id+%3C+12",
    "audit": "/audit",
    "nothing": "/queues/nobody-knows-it",
}
"""Those of workers and of a pipeline are looked at by the tests of what they show."""

ALIKE = {
    "stopped": "/queues/webhooks?tab=stopped",
    "way": "/queues/webhooks/messages/{dead}/way",
    "jobs": "/jobs",
}
"""Pages whose parts are on others as well: the list of a queue, the way on the page of a message, jobs below."""

VIOLATIONS = """async (options) => {
    const found = await axe.run({ resultTypes: ["violations"], ...options });
    return JSON.stringify({ violations: found.violations });
}"""
"""Has axe look at a page; what it lists of everything that passes would take long to be passed on."""


def look(page: Page) -> None:
    """Fail if something keeps anybody from reading a page: in light, in dark or on a phone."""
    page.emulate_media(color_scheme="light")
    page.wait_for_load_state("load")
    page.evaluate(f"{AXE_SCRIPT}\n;0")
    assert_no_violations(page)
    page.emulate_media(color_scheme="dark")  # which changes colours alone
    assert_no_violations(page, runOnly=["color-contrast"])
    page.set_viewport_size({"width": 375, "height": 800})
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth"), "it is wider than a phone"
    page.set_viewport_size(SIZE)


def assert_no_violations(page: Page, **options: object) -> None:
    found = AxeResults(json.loads(page.evaluate(VIOLATIONS, options)))
    assert found.violations_count == 0, found.generate_report()


KEPT = "window.kept = new Map([...document.querySelectorAll('#live [id]')].map((one) => [one.id, one]))"
"""Remembers the elements of a page."""

CHANGED = """[...window.kept].filter(([id, one]) => document.getElementById(id) !== one).map(([id]) => id)"""
"""Those of them that are no longer in the page, or not the same."""


@pytest.mark.parametrize("name", [*PAGES, *(pytest.param(name, marks=pytest.mark.soak) for name in ALIKE)])
def test_no_page_has_what_keeps_anybody_from_reading_it_in_light_in_dark_or_on_a_phone(
    page: Page, shop: Shop, heard: Heard, name: str
) -> None:
    dead = shop.db.queue("webhooks").find(status="dead", limit=1)[0].id
    page.goto({**PAGES, **ALIKE}[name].format(dead=dead))
    look(page)
    if name == "nothing":
        heard.refused = True  # browsers complain of a page that is not found


def test_pages_that_confirm_a_change_and_show_its_job_and_the_keys_can_be_read_by_everybody(
    page: Page, shop: Shop
) -> None:
    queue = shop.db.queue(f"look-{uuid.uuid4().hex[:6]}", history=timedelta(days=1))
    queue.push_many([Draft({"n": number}) for number in range(3)])
    page.goto(f"/queues/{queue.name}")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    look(page)
    page.get_by_role("button", name="Close").click()
    page.click("text=Definition")
    page.locator("form[action$='/purge'] button").click()
    expect(page.locator(".confirm")).to_be_visible()
    look(page)
    page.fill("[name=confirm]", queue.name)
    page.get_by_role("button", name="Purge 3 messages").click()
    expect(page.locator(".count")).to_contain_text("done")
    look(page)
    page.goto("/jobs")
    expect(page.locator("tbody tr").first).to_contain_text(queue.name)
    look(page)


def test_a_change_by_anybody_is_seen_without_loading_the_page_again(page: Page, shop: Shop) -> None:
    name = f"live-{uuid.uuid4().hex[:6]}"
    queue = shop.db.queue(name)
    queue.push("first")
    page.goto(f"/queues/{name}")
    expect(page.locator(".tabs a", has_text="Ready")).to_contain_text("1")
    page.evaluate("window.unchanged = true")
    queue.push_many([Draft(number) for number in range(4)])
    expect(page.locator(".tabs a", has_text="Ready")).to_contain_text("5")
    expect(page.locator(".messages tbody tr")).to_have_count(5)
    queue.pause()
    expect(page.locator(".tags")).to_contain_text("paused")
    assert page.evaluate("window.unchanged")


@pytest.mark.usefixtures("at_work")
def test_nothing_flickers_since_what_stays_is_never_drawn_anew(page: Page, shop: Shop) -> None:
    queue = shop.db.queue(f"live-{uuid.uuid4().hex[:6]}")
    queue.push_many([Draft(number) for number in range(3)])
    page.goto(f"/queues/{queue.name}")
    page.evaluate(KEPT)
    queue.remove(queue.push_many([Draft("more"), Draft("gone")])[1].id)
    queue.reprioritise(where="payload = 1", priority=7)
    reservation = queue.reserve()
    assert reservation is not None
    expect(page.locator(".messages tbody tr")).to_have_count(4)
    expect(page.locator(f"#m-{reservation.message.id}")).to_contain_text("in progress")
    assert page.evaluate(CHANGED) == []
    page.goto("/pipelines/orders")
    expect(page.locator(".graph.is-laid-out")).to_be_visible()
    page.evaluate(KEPT)
    before = page.locator("#live").inner_text()
    expect(page.locator("#live")).not_to_have_text(before, use_inner_text=True)
    assert page.evaluate(CHANGED) == []


def test_the_page_of_a_message_in_progress_shows_where_its_handler_is(
    page: Page, shop: Shop, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancellation, "LONG", 0.05)
    queue, gate = shop.db.queue(f"slow-{uuid.uuid4().hex[:6]}"), Gate()
    pushed = queue.push("scan")
    page.goto(f"/queues/{queue.name}/messages/{pushed.id}")
    page.get_by_role("button", name="Show stack").click()
    expect(page.get_by_role("alert")).to_contain_text("not in progress")
    heard.refused = True  # the browser notes the status of that answer, now or later

    def hang(message: Message) -> None:
        gate.block()

    worker = Worker(queue, hang, heartbeat=timedelta(milliseconds=100))
    running = threading.Thread(target=lambda: worker.run("idle", signals=False))
    running.start()
    try:
        page.goto(f"/queues/{queue.name}/messages/{pushed.id}")
        expect(page.locator("#live")).to_contain_text("in progress")
        page.get_by_role("button", name="Show stack").click()
        expect(page.get_by_label("Stack", exact=True)).to_contain_text(f'File "{__file__}", line')
        expect(page.get_by_label("Stack", exact=True)).to_contain_text("in Gate.block")
        look(page)
    finally:
        gate.open()
        running.join()


def test_a_list_with_a_condition_is_live_and_the_field_suggests_fields_and_values(page: Page, shop: Shop) -> None:
    name = f"live-{uuid.uuid4().hex[:6]}"
    queue = shop.db.queue(name)
    queue.push({"city": "Split", "n": 1})
    page.goto(f"/queues/{name}?where=payload.n+%3E+0")
    queue.push_many([Draft({"city": "Pula", "n": n}) for n in (0, 2)])
    expect(page.locator(".messages tbody tr")).to_have_count(2)
    for typed, offered in (
        ("", "attempts > 3"),
        ("payl", "payload.city"),
        ("payload.city = ", "payload.city = 'Split'"),
    ):
        page.fill("#where", typed)
        expect(page.locator(f'#suggested option[value="{offered}"]')).to_have_count(1)


def test_what_somebody_chose_and_opened_stays_while_the_page_changes(page: Page, shop: Shop) -> None:
    name = f"live-{uuid.uuid4().hex[:6]}"
    queue = shop.db.queue(name)
    first = queue.push("first")
    page.goto(f"/queues/{name}")
    page.check(f"input[value='{first.id}']")
    page.fill("#where", "payload = 'not sent yet'")
    queue.push("second")
    expect(page.locator(".messages tbody tr")).to_have_count(2)
    assert page.is_checked(f"input[value='{first.id}']")
    assert page.input_value("#where") == "payload = 'not sent yet'"
    expect(page.locator("[data-chosen]")).to_have_text("1 chosen")


def test_a_condition_that_cannot_be_read_is_marked_at_its_place(page: Page) -> None:
    page.goto("/queues/webhooks")
    page.keyboard.press("/")
    page.keyboard.type("payload.event = 'order.paid' andd attempts > 0")
    page.keyboard.press("Enter")
    expect(page.locator(".where-error mark")).to_have_text("andd")
    page.fill("#where", "payload.event = 'order.paid' and attempts > 0")
    page.keyboard.press("Enter")
    expect(page.locator(".messages tbody tr")).to_have_count(8)
    page.fill("#where", "attempts > 0 and nobody = 1")
    page.keyboard.press("Enter")
    expect(page.locator(".where-error mark")).to_have_text("nobody")


def test_the_keyboard_alone_reaches_everything(page: Page, shop: Shop) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("webhook")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=webhook*")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/queues/webhooks")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("[data-chosen]")).to_have_text("1 chosen")
    page.locator("#many button").focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("Requeue message")
    page.keyboard.press("g")
    page.keyboard.press("p")
    page.wait_for_url("**/pipelines")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/pipelines/orders")


COLOURS = """(selector) => [...document.querySelectorAll(selector)].map((one) => {
  const style = getComputedStyle(one);
  return [style.stroke, style.borderTopColor, parseFloat(style.strokeWidth)];
})"""
"""The colours and widths of elements as they are drawn."""


def is_red(colour: str) -> bool:
    red, green, blue = (int(part) for part in re.findall(r"\d+", colour)[:3])
    return red > green + 60 and red > blue + 60


def test_a_pipeline_is_drawn_and_red_where_it_backs_up(page: Page, shop: Shop) -> None:
    late = Pipeline("late", [Relay("late.first", print, to="late.second"), Sink("late.second", print)])
    shop.db.declare_pipeline(late)
    shop.db.queue("late.first").push("in time")
    shop.db.queue("late.second").push("long due", due=datetime.now(UTC) - timedelta(minutes=5))
    page.goto("/pipelines")
    expect(page.locator(".card", has_text="late.second")).to_contain_text("backed up")
    page.goto("/pipelines/late")
    expect(page.locator(".graph.is-laid-out")).to_be_visible()
    expect(page.locator("[data-node='late.second'].behind")).to_contain_text("backed up 5")
    expect(page.locator("[data-node='late.first']")).not_to_contain_text("backed up")
    ((stroke, _, _),) = page.evaluate(COLOURS, ".ways .way.behind path")
    ((_, second, _),) = page.evaluate(COLOURS, "[data-node='late.second']")
    ((_, first, _),) = page.evaluate(COLOURS, "[data-node='late.first']")
    assert [is_red(colour) for colour in (stroke, second, first)] == [True, True, False]


def test_a_pipeline_is_drawn_from_left_to_right_with_ways_as_thick_as_their_flow(page: Page, shop: Shop) -> None:
    page.goto("/pipelines/orders")
    expect(page.locator(".graph.is-laid-out")).to_be_visible()
    look(page)
    expect(page.locator(".ways .way")).to_have_count(5)
    places = [
        page.locator(f"[data-node='orders.{name}']").bounding_box() for name in ("check", "price", "pack", "ship")
    ]
    assert [place["x"] for place in places if place] == sorted({place["x"] for place in places if place})
    expect(page.locator(".ways .way.moves").nth(1)).to_be_attached()
    moving = page.evaluate(COLOURS, ".ways .way.moves path")
    resting = page.evaluate(COLOURS, ".ways .way:not(.moves) path")
    assert max(width for *_, width in moving) == 8.0
    assert all(width > 1.25 for *_, width in moving)
    assert all(width == 1.25 for *_, width in resting)
    assert not any(is_red(stroke) for stroke, *_ in resting)
    shop.db.queue("orders.approval").push({"order": 1})
    page.click("[data-node='orders.approval']")
    page.wait_for_url("**/queues/orders.approval")


def test_light_and_dark_are_the_viewers_choice_and_stay_so(page: Page) -> None:
    page.emulate_media(color_scheme="light")
    page.goto("/")
    light = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.click("[data-theme-switch]")
    dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.goto("/dead")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == dark != light


def test_what_came_from_messages_is_text_on_every_page(page: Page, shop: Shop) -> None:
    markup = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    name = f"hostile-{uuid.uuid4().hex[:6]}"
    queue = shop.db.queue(name, indexed={"field": str})
    queue.declare()
    pushed = queue.push({"field": markup, markup: markup}, key=markup, group=markup, headers={"x": markup, markup: 1})
    reservation = queue.reserve()
    assert reservation is not None
    queue.bury(reservation, f"{markup}: {markup}")
    for path in (f"/queues/{name}", f"/queues/{name}/messages/{pushed.id}", "/dead", f"/queues/{name}?where={markup}"):
        page.goto(path)
        expect(page.locator("body")).to_contain_text(markup)
        assert page.locator("img, main script").count() == 0


def test_a_message_tells_its_turns_its_errors_and_its_way(page: Page, shop: Shop) -> None:
    expect_dead = shop.db.queue("orders.check")
    page.goto("/queues/orders.check?tab=dead")
    expect(page.locator(".messages tbody tr").first).to_be_visible()
    id = expect_dead.find(status="dead", limit=1)[0].id
    page.goto(f"/queues/orders.check/messages/{id}")
    expect(page.locator(".line-of-time")).to_contain_text("attempt 2")
    expect(page.locator(".line-of-time .failure").first).to_contain_text("in stock")
    page.locator(".line-of-time summary").first.click()
    expect(page.locator(".line-of-time pre").first).to_contain_text("ValueError")
    expect(page.locator(".hops")).to_contain_text("orders.check")
    expect(page.locator(".way .station")).to_have_count(6)
    page.click("text=Copy as command")
    expect(page.locator("[data-copy=command]")).to_have_text("Copied")


def test_a_message_shows_what_its_handler_has_logged(page: Page, shop: Shop) -> None:
    queue = shop.db.queue(f"logged-{uuid.uuid4().hex[:6]}", history=timedelta(days=1))
    queue.push("first")
    reservation = queue.reserve()
    assert reservation is not None
    assert queue.settle([(reservation, Commit(log="INFO shop: <b>sent</b>"))]) == []
    page.goto(f"/queues/{queue.name}/messages/{reservation.message.id}")
    page.locator("summary", has_text="Log").click()
    expect(page.locator(".line-of-time pre")).to_have_text("INFO shop: <b>sent</b>")


@pytest.mark.usefixtures("at_work")
def test_workers_tell_what_they_hold(page: Page, shop: Shop) -> None:
    held = shop.db.queue("thumbnails").find("leased_until > '2020-01-01T00:00:00Z'")
    page.goto("/workers")
    for message in held:
        expect(page.locator(f"#held-{message.id}")).to_contain_text("thumbnails")
    expect(page.locator(".worker", has_text="orders.check").first).to_be_visible()
    look(page)


def test_the_page_to_log_in_and_that_of_rows_can_be_read_by_everybody(
    page: Page, shop: Shop, accounts: Accounts, heard: Heard, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'guarded.db'}"
    with duerow.connect(url, migrate=True) as db:
        db.queue("orders").push(1)
    own = EntityQueue(scene.Invoice.sending, create_async_engine(scene.invoices(tmp_path / "own.db")))
    with serving(url, users=accounts, queues=[own]) as address:
        page.goto(f"{address}/queues/orders")
        look(page)
        page.fill("#name", "ana")
        page.fill("#password", PASSWORD)
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("orders")
        page.goto(f"{address}/queues/invoice.sending?row=1")
        expect(page.locator("main")).to_contain_text("no address")
        look(page)
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator("#password")).to_be_visible()
        page.goto("about:blank")  # so that no stream keeps the server from ending
    heard.hosts.clear()
