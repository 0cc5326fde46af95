"""The examples of the page about the HTTP API work, in each of their languages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import duerow
from duerow.web import Account, Accounts
from tests.docs.pages import DOCS, blocks
from tests.web.conftest import TOKEN
from tests.web.server import serving

PAGE = DOCS / "how-to" / "http-api.md"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[duerow.Database]:
    with duerow.connect(f"sqlite:///{tmp_path / 'shop.db'}", migrate=True) as database:
        yield database


@pytest.fixture
def surroundings(tmp_path: Path, database: duerow.Database, accounts: Accounts) -> Iterator[dict[str, str]]:
    """What the examples find around them: the address, and the token of a program."""
    mailer = Accounts({"shop": Account({"mail": "worker"}, tokens=accounts.get("shop").tokens)})
    with serving(f"sqlite:///{tmp_path / 'shop.db'}", users=mailer) as address:
        yield {**os.environ, "DUEROW": address, "TOKEN": TOKEN}


def examples(language: str) -> str:
    return "\n".join(block.text for block in blocks(PAGE) if block.language == language)


def run(command: list[str], surroundings: dict[str, str]) -> str:
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_with_curl(database: duerow.Database, surroundings: dict[str, str]):
    printed = run(["bash", "-euc", examples("bash")], surroundings)
    assert '"outcome":"created"' in printed
    assert '"to":"ana@example.org"' in printed
    assert '{"settled":1,"refused":[]}' in printed
    assert database.queue("mail").count() == 0


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_with_javascript(database: duerow.Database, surroundings: dict[str, str], tmp_path: Path):
    (tmp_path / "consumer.mjs").write_text(examples("js"))
    assert run(["node", str(tmp_path / "consumer.mjs")], surroundings) == "sent to marko@example.org\n"
    assert database.queue("mail").count() == 0


async def test_the_problem_on_the_page_is_the_one_that_is_answered(surroundings: dict[str, str]):
    import httpx

    body = {"create": True, "messages": [{"key": "welcome-7", "payload": 1}], "on_duplicate": "reject"}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(base_url=surroundings["DUEROW"], headers=headers, timeout=600) as client:
        await client.post("/api/v1/queues/mail/messages", json=body)
        refused = await client.post("/api/v1/queues/mail/messages", json=body)
    answered, shown = refused.json(), json.loads(examples("json"))
    beginning = shown.pop("detail").removesuffix("…")  # the page shows no more of it than fits into a line
    assert answered.pop("detail").startswith(beginning)
    assert answered == shown
