"""Draw the pages of the dashboard, with --all each in light, dark and phone width: python -m tools.screenshots.

The pictures are those of the documentation. They show the shop of `tests/web/dashboard/scene.py`, while it is at work.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, expect
from sqlalchemy.ext.asyncio import create_async_engine

import duerow
from duerow import Draft, Pipeline, Relay, Sink
from duerow.aio.entity import EntityQueue
from duerow.testing.clock import MovableClock
from duerow.web import Account, Accounts
from tests.servers import browser as chromium
from tests.web.dashboard import scene
from tests.web.server import serving

HERE = Path(__file__).parent.parent
FOLDER = HERE / "docs" / "assets" / "dashboard"
LOOKS = {"light": (1380, 900, "light"), "dark": (1380, 900, "dark"), "phone": (390, 844, "light")}
MOST_BYTES = 150_000

IN_THE_DOCUMENTATION = (
    *("overview-light", "overview-dark", "overview-phone", "queue-light", "messages-light", "message-light"),
    *("dead-light", "pipeline-light", "pipeline-dark", "pipeline-phone", "schedules-light", "workers-light"),
    *("history-light", "confirm-light", "audit-light", "way-light", "schedule-light", "pipelines-light"),
    *("jobs-light", "job-light", "login-light", "rows-light"),
)

PAGES = {
    "overview": "/",
    "queue": "/queues/webhooks",
    "messages": "/queues/orders.check?where=payload.customer.city+%3D+%27Zagreb%27+andd+attempts+%3E+0",
    "message": "",
    "dead": "/dead",
    "pipeline": "/pipelines/orders",
    "schedules": "/schedules",
    "workers": "/workers",
    "history": "/history?queue=orders.invoice",
    "audit": "/audit",
    "confirm": "",
    "way": "",
    "schedule": "/schedules/stock-check",
    "pipelines": "/pipelines",
    "job": "",
    "jobs": "/jobs",
    "login": "/login",
    "rows": "/queues/invoice.sending?row=1",
}


def main() -> None:
    """Draw the pages."""
    parser = argparse.ArgumentParser(prog="python -m tools.screenshots", description=__doc__)
    parser.add_argument("--into", type=Path, default=FOLDER, help="the folder for the pictures")
    parser.add_argument("--all", action="store_true", help="every page in every look, not only those of the docs")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"of {', '.join(PAGES)}; default: all")
    chosen = parser.parse_args()
    logging.disable(logging.WARNING)
    chosen.into.mkdir(parents=True, exist_ok=True)
    with shop() as (open_one, guarded), chromium.running() as browser:
        for name in chosen.pages or PAGES:
            for look in LOOKS:
                if not chosen.all and f"{name}-{look}" not in IN_THE_DOCUMENTATION:
                    continue
                picture = chosen.into / f"{name}-{look}.png"
                draw(browser, guarded if name == "login" else open_one, name, look, picture)
                print(f"{picture}: {picture.stat().st_size:,} bytes")


@contextmanager
def shop() -> Iterator[tuple[str, str]]:
    """Serve the dashboard over a shop that has been at work for a few seconds: open to all, and with accounts."""
    folder = Path(tempfile.mkdtemp())
    url = f"sqlite:///{folder / 'shop.db'}"
    try:
        with duerow.connect(url, migrate=True) as db:
            scene.fill(db, 80)
            scene.past_hour(db)
            more(db)
        past_ticks(url)
        rows = EntityQueue(scene.Invoice.sending, create_async_engine(scene.invoices(folder / "own.db")))
        with scene.working(url), serving(url, queues=[rows]) as address, serving(url, users=PEOPLE) as guarded:
            time.sleep(12)
            yield address, guarded
    finally:
        shutil.rmtree(folder, ignore_errors=True)


PEOPLE = Accounts({"ana": Account("operator", "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAA")})


def more(db: duerow.Database) -> None:
    """Add a second pipeline, which backs up, many messages for a job, and a schedule that has ticked."""
    late = [Relay("returns.check", print, to="returns.refund"), Sink("returns.refund", print)]
    db.declare_pipeline(Pipeline("returns", late))
    due = datetime.now(UTC) - timedelta(minutes=7)
    db.queue("returns.refund").push_many([Draft({"order": n}, due=due) for n in range(26)])
    db.queue("newsletter").push_many([Draft({"to": f"reader-{n}@example.org"}) for n in range(9_900)])


def past_ticks(url: str) -> None:
    """Add a schedule that has ticked for an hour."""
    clock = MovableClock()
    clock.set(datetime.now(UTC) - timedelta(minutes=61))
    with duerow.connect(url, clock=clock) as db:
        stock = db.queue("stock", history=timedelta(days=1))
        stock.declare()
        db.schedule("stock-check", every=timedelta(minutes=10), queue="stock", payload={"shelf": "all"})
        for tick in range(6):
            clock.advance(timedelta(minutes=10))
            db.maintain()
            if tick < 5:
                stock.commit_many(stock.reserve_many(9))


def draw(browser: Browser, address: str, name: str, look: str, picture: Path) -> None:
    """Draw one page."""
    width, height, scheme = LOOKS[look]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce", device_scale_factor=1
    )
    page = context.new_page()
    open_page(page, address, name)
    page.wait_for_timeout(100 if name == "job" else 900)  # that is soon over
    whole = look != "phone" and name not in ("queue", "history")
    bottom = page.locator("main").evaluate(END)
    clip: Any = {"x": 0, "y": 0, "width": width, "height": bottom + 28 if whole else min(bottom + 28, height)}
    page.screenshot(path=picture, full_page=whole, clip=clip)
    context.close()
    shrink(picture)


END = """(main) => (document.body.matches(".login") ? main.getBoundingClientRect().bottom + 90
  : Math.max(...[...main.children].map((one) => one.getBoundingClientRect().bottom))) + scrollY"""
"""Where the contents of a page end."""


def open_page(page: Page, address: str, name: str) -> None:
    """Go to a page, as a person does where it has no address of its own."""
    match name:
        case "message":
            page.goto(f"{address}/queues/orders.check?tab=dead")
            page.locator(".messages .name").first.click()
            page.wait_for_selector(".hops")
        case "confirm":
            page.goto(f"{address}/queues/webhooks?tab=dead")
            for box in page.locator("[data-choose]").all()[:4]:
                box.check()
            page.select_option("[data-verb]", "remove")
            page.click("#many button")
        case "way":
            page.goto(f"{address}/history?queue=orders.pack")
            page.locator("tbody .name").nth(5).click()
            page.goto(f"{page.url}/way")
            page.wait_for_selector("#made-" + page.url.split("/")[-2])
        case "job":
            change_all(page, f"{address}/queues/sms", "reprioritise", priority="5")
            change_all(page, f"{address}/queues/newsletter", "edit", patch='{"locale": "hr"}')
            expect(page.locator(".big")).not_to_have_text("0")
        case "audit":
            if not page.goto(f"{address}/audit") or not page.locator("tbody tr").count():
                for queue, verb in (("emails", "Pause"), ("emails", "Resume"), ("reports", "Pause")):
                    page.goto(f"{address}/queues/{queue}")
                    page.click(f".buttons >> text={verb}")
                page.goto(f"{address}/audit")
        case _:
            page.goto(f"{address}{PAGES[name]}")


def change_all(page: Page, queue: str, verb: str, **fields: str) -> None:
    """Change all messages of a queue; the page is then that of the job."""
    page.goto(queue)
    page.select_option("[name=scope]", "all")
    page.select_option("[data-verb]", verb)
    for name, value in fields.items():
        page.fill(f"#many [name={name}]", value)
    page.click("#many button")
    page.click(".confirm button")
    page.wait_for_url("**/jobs/*")


def shrink(picture: Path) -> None:
    """Store a picture with as few colours as it needs to stay small."""
    with Image.open(picture) as drawn:
        drawn.load()
    if drawn.height > 1500:
        drawn = drawn.crop((0, 0, drawn.width, 1500))
    for colours in (256, 128, 64, 32):
        plain = drawn.convert("RGB").quantize(colours, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
        plain.save(picture, optimize=True)
        if picture.stat().st_size < MOST_BYTES:
            return


if __name__ == "__main__":
    main()
