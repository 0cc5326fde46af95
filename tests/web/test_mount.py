"""The window is mounted as the page says, and knows the people of the application around it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import httpx
import pytest

import duerow
from tests.docs.pages import DOCS, ROOT, blocks
from tests.processes import run_program

PAGE = DOCS / "how-to" / "serve-the-dashboard.md"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an application, with its database and what the page says to write."""
    monkeypatch.chdir(tmp_path)
    with duerow.connect("sqlite:///shop.db", migrate=True) as database:
        database.queue("mail").push(1)
    for block in blocks(PAGE):
        if block.note.startswith("file "):
            Path(block.note.removeprefix("file ")).write_text(block.text)
    return tmp_path


def module(folder: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


async def seen(app: Any, cookie: str) -> list[Any]:
    """Return what a stranger and a person with a cookie get, from another machine."""
    transport = httpx.ASGITransport(app, client=("10.0.0.7", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://shop.example") as browser:
        stranger = await browser.get("/queues/api/v1/queues")
        known = await browser.get("/queues/api/v1/queues", headers={"Cookie": cookie})
        page = await browser.get("/queues/login")
        assert 'action="/queues/login"' in page.text
        assert "Path=/queues/" in page.headers["set-cookie"]
        return [stranger.status_code, known.json().get("queues", known.text)]


async def test_in_fastapi(shop: Path):
    made = module(shop, "in_fastapi")
    assert await seen(made.app, "session=ana-session") == [401, ["mail"]]
    await made.app.routes[-1].app.close()


async def test_in_flask(shop: Path):
    made = module(shop, "in_flask")
    serializer = made.SecureCookieSessionInterface().get_signing_serializer(made.shop)
    assert await seen(made.app, f"session={serializer.dumps({'user': 'ana'})}") == [401, ["mail"]]
    transport = httpx.ASGITransport(made.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://shop.example") as browser:
        assert (await browser.get("/")).text == "the shop"
    await made.queues.close()


def test_in_django(shop: Path):
    """In a process of its own: Django's settings are for all of a process."""
    done = run_program("tests.web.django_site", [], shop, {**os.environ, "PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stdout) == (0, "[401, ['mail'], 401]\n"), done.stderr
