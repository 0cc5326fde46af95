"""A shop at work, the dashboard over it, and a real browser that looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

import duerow
from tests.servers import browser as chromium
from tests.servers.fixtures import provide
from tests.web.dashboard import scene
from tests.web.server import serving

HERE: Final = Path(__file__).parent
SIZE: Final[ViewportSize] = {"width": 1280, "height": 900}
PATIENCE: Final = 300_000.0
"""Milliseconds until a page has failed to show what it should: Playwright's 5 s are soon over on a busy machine."""


@dataclass
class Shop:
    """A shop: where its dashboard is, and its database."""

    address: str
    url: str
    db: duerow.Database


@dataclass
class Heard:
    """What a browser complained of, the hosts that it spoke to, and whether an answer may have refused something."""

    complaints: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    refused: bool = False

    @property
    def unexpected(self) -> list[str]:
        """What it complained of, but for answers that refuse something, if these are expected."""
        return [one for one in self.complaints if not (self.refused and one.startswith("Failed to load resource"))]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests that need a browser last: Playwright leaves no event loop to awaited tests as long as it runs."""
    items.sort(key=needs_browser)


def needs_browser(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and item.path.parent == HERE and "browser" in item.fixturenames


@pytest.fixture(scope="package")
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """Debian's Chromium, until no test here needs it any more."""
    yield from provide("browser", chromium.running, request.config)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A shop whose pipeline has handled its first orders."""
    url = f"sqlite:///{tmp_path_factory.mktemp('shop') / 'shop.db'}"
    with duerow.connect(url, migrate=True) as db:
        scene.fill(db)
        scene.past_hour(db)
        scene.pipeline(slow=False).run(db)
        with serving(url) as address:
            yield Shop(address, url, db)


@pytest.fixture
def at_work(shop: Shop) -> Iterator[None]:
    """The shop's pipeline works, and orders come in, for as long as a test looks at that."""
    with scene.working(shop.url, every=1.0):
        yield


@pytest.fixture
def heard() -> Heard:
    """What the browser of this test complains of."""
    return Heard()


@pytest.fixture(scope="module")
def profile(browser: Browser, shop: Shop) -> Iterator[BrowserContext]:
    """What pages of a browser share. A picture that stays open keeps the process in which all of them are shown."""
    context = browser.new_context(base_url=shop.address, viewport=SIZE, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    context.new_page().goto("/static/icon.svg")
    yield context
    context.close()


@pytest.fixture
def page(profile: BrowserContext, shop: Shop, heard: Heard) -> Iterator[Page]:
    """A new page of a browser; no error may be left on its console, and nobody else may be asked for anything."""
    opened = profile.new_page()
    opened.on("console", lambda said: heard.complaints.append(said.text) if said.type == "error" else None)
    opened.on("pageerror", lambda error: heard.complaints.append(str(error)))
    opened.on("request", lambda asked: heard.hosts.add(urlsplit(asked.url).netloc))
    opened.on("dialog", lambda dialog: heard.complaints.append(f"a dialog: {dialog.message}"))
    yield opened
    opened.evaluate("() => { try { localStorage.clear() } catch { /* of an empty page */ } }")
    opened.close()
    profile.clear_cookies()
    assert heard.unexpected == []
    assert heard.hosts <= {urlsplit(shop.address).netloc}
