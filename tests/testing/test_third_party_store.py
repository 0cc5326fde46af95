"""Whoever writes a store can put it through the conformance suite with a few lines, from a package of their own."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, blocks
from tests.entry_points import install
from tests.processes import run_program

WITHOUT = [
    f"-pno:{name}" for name in ("cacheprovider", "schemathesis", "xdist", "hypothesispytest", "asyncio", "anyio")
]
"""Plugins of this environment that take longer to load than the promises to be tried."""

WHOLE = """

from duerow.stores.memory.store import MemoryStore


class Whole(MemoryStore):
    def __init__(self):
        super().__init__()
        self.messages = ShelfMessages()


ShelfStore = Whole
"""

FAULT = """

class Forgetful(ShelfMessages):
    def extend(self, receipts, lease):
        return super().extend(receipts, lease * 2)


ShelfMessages = Forgetful
"""


def run_suite(folder: Path, asked_for: str, more: str = "") -> str:
    """Put the store of the documentation through the promises that are asked for; return what pytest says."""
    files = {block.note.removeprefix("file "): block.text for block in blocks(DOCS / "how-to" / "write-a-store.md")}
    for name in ("duerow_shelf.py", "conftest.py", "test_shelf.py"):
        (folder / name).write_text(files[name])
    with (folder / "duerow_shelf.py").open("a") as store:
        store.write(more)
    install(folder, tomllib.loads(files["pyproject.toml"])["project"])
    told = ["-q", *WITHOUT, "--strict-markers", "-c", os.devnull, "--rootdir", str(folder), "-k", asked_for]
    done = run_program("pytest", [*told, str(folder)], folder)
    return done.stdout + done.stderr


def test_a_store_of_two_parts_keeps_their_promises_and_refuses_what_needs_another(tmp_path: Path):
    said = run_suite(tmp_path, "(extend and sync) or peek")
    assert re.search(r"^\d+ passed, \d+ deselected, \d+ xfailed", said, re.MULTILINE), said


@pytest.mark.parametrize(
    "asked_for",
    ["(peek and sync) or (extend and async)", pytest.param("reference and async", marks=pytest.mark.soak)],
)
def test_a_store_that_keeps_its_promises_passes(tmp_path: Path, asked_for: str):
    said = run_suite(tmp_path, asked_for, WHOLE)
    assert re.search(r"^\d+ passed, \d+ deselected", said, re.MULTILINE), said
    assert "xfailed" not in said


def test_a_store_that_breaks_a_promise_is_found_out(tmp_path: Path):
    said = run_suite(tmp_path, "(extend or peek) and sync", FAULT)
    assert re.search(r"^\d+ failed, \d+ passed", said, re.MULTILINE), said
