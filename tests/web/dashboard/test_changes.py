"""Every change that the pages offer, made in a real browser."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, Route, expect

from duerow import Draft, Queue
from duerow.worker.progress import draft, said
from tests.web.dashboard.conftest import Heard, Shop


@pytest.fixture
def queue(shop: Shop) -> Queue:
    """A queue that no other test has."""
    return shop.db.queue(f"change-{uuid.uuid4().hex[:6]}")


def test_a_queue_is_paused_resumed_and_purged(page: Page, queue: Queue) -> None:
    queue.push_many([Draft(number) for number in range(3)])
    page.goto(f"/queues/{queue.name}")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".flash")).to_contain_text("is paused")
    assert queue.stats().paused
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".flash")).to_contain_text("hands out messages again")
    page.click("text=Definition")
    page.locator("form[action$='/purge'] button").click()
    expect(page.locator(".count")).to_contain_text("3 messages would change")
    assert queue.count() == 3
    page.fill("[name=confirm]", queue.name)
    page.get_by_role("button", name="Purge 3 messages").click()
    expect(page.locator(".count")).to_contain_text("done")
    assert queue.count() == 0


def test_a_message_is_pushed_edited_rescheduled_reprioritised_stopped_requeued_and_removed(
    page: Page, queue: Queue, heard: Heard
) -> None:
    queue.push("so that it is known")
    page.goto(f"/queues/{queue.name}")
    page.click("a:text('Push')")
    page.fill("[name=payload]", '{"item": "lamp"}')
    page.fill("#push [name=key]", "k")
    page.click("#push button")
    expect(page.locator(".flash")).to_contain_text("created")
    message = queue.find(key="k")[0]

    page.click("summary:has-text('Edit')")
    page.fill("[name=payload]", '{"item": ')
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".flash.bad")).to_contain_text("not JSON")
    assert page.input_value("[name=payload]") == '{"item": '
    heard.refused = True
    page.fill("[name=payload]", '{"item": "desk"}')
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".flash")).to_contain_text("edited")
    page.fill("[name=when]", "2h")
    page.get_by_role("button", name="Reschedule").click()
    expect(page.locator(".tags")).to_contain_text("delayed")
    page.fill("[name=priority]", "-5")
    page.get_by_role("button", name="Reprioritise").click()
    expect(page.locator(".flash")).to_contain_text("reprioritised")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".tags")).to_contain_text("stopped")
    changed = queue.find(key="k")[0]
    assert (changed.payload, changed.priority, changed.due_at) == ({"item": "desk"}, -5, None)
    page.get_by_role("button", name="Requeue").click()
    expect(page.locator(".tags")).to_contain_text("ready")
    page.get_by_role("button", name="Remove").click()
    expect(page.locator("h1")).to_have_text(f"Remove message {message.id}?")
    page.get_by_role("button", name="Remove 1 message").click()
    expect(page.locator(".count")).to_contain_text("done")
    assert queue.get(message.id) is None


def test_what_a_page_loads_late_moves_no_button_under_the_pointer(page: Page, queue: Queue) -> None:
    message = queue.push({"item": "lamp"})
    held: list[Route] = []
    page.route("**/way", lambda route: held.append(route))
    with page.expect_request("**/way"):
        page.goto(f"/queues/{queue.name}/messages/{message.id}")
    page.evaluate("document.fonts.ready")
    button = page.get_by_role("button", name="Reschedule")
    before = button.bounding_box()
    assert page.locator("#way").count() == 0
    held[0].continue_()
    expect(page.locator("#way")).to_be_visible()
    assert button.bounding_box() == before


def test_chosen_messages_are_counted_first_and_then_changed(page: Page, queue: Queue) -> None:
    ids = [one.id for one in queue.push_many([Draft({"n": number}) for number in range(5)])]
    page.goto(f"/queues/{queue.name}")
    for id in ids[:2]:
        page.check(f"input[value='{id}']")
    page.select_option("[data-verb]", "remove")
    page.click("#many button")
    expect(page.locator(".count")).to_contain_text("2 messages would change")
    assert queue.count() == 5
    page.get_by_role("button", name="Remove 2 messages").click()
    expect(page.locator(".count")).to_contain_text("done")
    assert queue.count() == 3


def test_a_message_shows_how_far_its_handler_is_and_is_cancelled(page: Page, queue: Queue) -> None:
    pushed = queue.push({"item": "lamp"})
    queue.reserve()
    told = draft(pushed.id, said(0.4, "page 4 of 10", 1), datetime(2026, 3, 1, tzinfo=UTC))
    queue.database.queue(f"{queue.name}/progress").push_many([told])
    page.goto(f"/queues/{queue.name}/messages/{pushed.id}")
    expect(page.locator(".card", has=page.get_by_role("heading", name="Progress", exact=True))).to_contain_text(
        "40 %, page 4 of 10 (attempt 1)"
    )
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Cancel 1 message").click()
    expect(page.locator(".count")).to_contain_text("done")
    assert queue.count() == 0


@pytest.mark.parametrize(
    ("verb", "fields", "where"),
    [
        ("reschedule", {"when": "stop"}, "due_at is null"),
        pytest.param("reprioritise", {"priority": "7"}, "priority = 7", marks=pytest.mark.soak),
        pytest.param("edit", {"patch": '{"seen": true}'}, "payload.seen = true", marks=pytest.mark.soak),
    ],
)
def test_all_that_a_condition_finds_are_changed(
    page: Page, queue: Queue, verb: str, fields: dict[str, str], where: str
) -> None:
    queue.push_many([Draft({"n": number}) for number in range(9)])
    page.goto(f"/queues/{queue.name}?where=payload.n+%3E%3D+4")
    page.select_option("[data-verb]", verb)
    for name, value in fields.items():
        page.fill(f"#many [name={name}]", value)
    page.click("#many button")
    expect(page.locator(".count")).to_contain_text("5 messages would change")
    page.click(".confirm button")
    expect(page.locator(".count")).to_contain_text("done")
    assert queue.count(where) == 5


def test_a_change_of_many_messages_shows_its_progress_and_can_be_cancelled(page: Page, queue: Queue) -> None:
    queue.push_many([Draft({"n": number, "text": "x" * 300}) for number in range(12_000)])
    page.goto(f"/queues/{queue.name}")
    page.select_option("[name=scope]", "all")
    page.select_option("[data-verb]", "remove")
    page.click("#many button")
    expect(page.locator(".count")).to_contain_text("10,000+ messages would change")
    page.click(".confirm button")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".count")).to_contain_text("cancelled")
    left = queue.count()
    assert 0 < left < 12_000
    page.goto("/jobs")
    expect(page.locator("tbody tr").first).to_contain_text("cancelled")


def test_dead_letters_go_back_by_their_error_at_a_rate(page: Page, shop: Shop) -> None:
    page.goto("/dead")
    group = page.locator("#dead-emails-dead li", has_text="TimeoutError")
    group.locator("[name=rate]").fill("50")
    group.locator("text=Redrive these").click()
    expect(page.locator(".count")).to_contain_text("3 messages would change")
    page.click(".confirm button")
    expect(page.locator(".count")).to_contain_text("done")
    assert shop.db.queue("emails-dead").count() == 6


def test_dead_letters_that_stayed_go_back_by_their_error(page: Page, queue: Queue) -> None:
    queue.push_many([Draft(number) for number in range(4)])
    for reservation in queue.reserve_many(3):
        reservation.bury(TimeoutError("no answer") if reservation.message.payload else ValueError("no such thing"))
    page.goto("/dead")
    letters = page.locator(f"#dead-{queue.name}")
    group = letters.locator("li", has_text="TimeoutError")
    expect(group.locator(".group-head .n")).to_have_text("2")
    queue.reserve_many(1)[0].bury(ValueError("nor this"))  # the groups may change places, each with its button
    expect(letters.locator("h2 .n")).to_have_text("4")
    group.locator("text=Redrive these").click()
    expect(page.locator(".count")).to_contain_text("2 messages would change")
    page.click(".confirm button")
    expect(page.locator(".count")).to_contain_text("done")
    assert {one.payload for one in queue.find(status="dead")} == {0, 3}


def test_a_schedule_is_paused_resumed_and_pushed_now(page: Page, shop: Shop) -> None:
    page.goto("/schedules")
    page.click("[aria-label='Pause nightly-report']")
    expect(page.locator("#schedule-nightly-report")).to_contain_text("paused")
    expect(page.locator("#schedule-nightly-report")).to_contain_text("never")
    page.click("[aria-label='Resume nightly-report']")
    expect(page.locator("#schedule-nightly-report")).not_to_contain_text("paused")
    before = shop.db.queue("reports").count()
    page.click("[aria-label='Push nightly-report now']")
    expect(page.locator(".flash")).to_contain_text("was pushed to reports")
    assert shop.db.queue("reports").count() == before + 1


def test_history_is_searched_and_replayed(page: Page, shop: Shop) -> None:
    queue = shop.db.queue(f"past-{uuid.uuid4().hex[:6]}", history=timedelta(days=1))
    queue.declare()
    queue.push_many([Draft({"n": number}) for number in range(4)])
    queue.commit_many(queue.reserve_many(4))
    page.goto(f"/history?queue={queue.name}")
    page.fill("#where", "payload.n > 1")
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.click("text=Count first")
    expect(page.locator(".count")).to_contain_text("2 messages would change")
    page.click(".confirm button")
    expect(page.locator(".count")).to_contain_text("done")
    assert queue.count() == 2


def test_everything_that_was_done_is_in_the_audit(page: Page, queue: Queue) -> None:
    queue.push("x")
    page.goto(f"/queues/{queue.name}")
    page.get_by_role("button", name="Pause").click()
    page.goto("/audit")
    first = page.locator("tbody tr").first
    expect(first).to_contain_text("pause")
    expect(first).to_contain_text(queue.name)
    with page.expect_download() as exported:
        page.click("text=Export as JSON lines")
    assert f'"queue":"{queue.name}"' in exported.value.path().read_text()
