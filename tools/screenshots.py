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
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page

import duerow
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
    *("history-light", "confirm-light", "audit-light"),
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
    with shop() as address, chromium.running() as browser:
        for name in chosen.pages or PAGES:
            for look in LOOKS:
                if not chosen.all and f"{name}-{look}" not in IN_THE_DOCUMENTATION:
                    continue
                picture = chosen.into / f"{name}-{look}.png"
                draw(browser, address, name, look, picture)
                print(f"{picture}: {picture.stat().st_size:,} bytes")


@contextmanager
def shop() -> Iterator[str]:
    """Serve the dashboard over a shop that has been at work for a few seconds."""
    folder = Path(tempfile.mkdtemp())
    url = f"sqlite:///{folder / 'shop.db'}"
    try:
        with duerow.connect(url, migrate=True) as db:
            scene.fill(db, 80)
            scene.past_hour(db)
        with scene.working(url), serving(url) as address:
            time.sleep(12)
            yield address
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def draw(browser: Browser, address: str, name: str, look: str, picture: Path) -> None:
    """Draw one page."""
    width, height, scheme = LOOKS[look]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce", device_scale_factor=1
    )
    page = context.new_page()
    open_page(page, address, name)
    page.wait_for_timeout(900)
    page.screenshot(path=picture, full_page=look != "phone" and name not in ("queue", "history"))
    context.close()
    shrink(picture)


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
        case "audit":
            if not page.goto(f"{address}/audit") or not page.locator("tbody tr").count():
                for queue, verb in (("emails", "Pause"), ("emails", "Resume"), ("reports", "Pause")):
                    page.goto(f"{address}/queues/{queue}")
                    page.click(f".buttons >> text={verb}")
                page.goto(f"{address}/audit")
        case _:
            page.goto(f"{address}{PAGES[name]}")


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
