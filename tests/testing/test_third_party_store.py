"""Whoever writes a store can put it through the conformance suite with a few lines, from a package of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.docs.pages import DOCS, blocks
from tests.entry_points import install

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
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers", "-c", os.devnull]
    done = subprocess.run(
        [*command, "--rootdir", str(folder), "-k", asked_for, str(folder)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return done.stdout + done.stderr


def test_a_store_of_two_parts_keeps_their_promises_and_refuses_what_needs_another(tmp_path: Path):
    said = run_suite(tmp_path, "(extend and sync) or peek")
    assert re.search(r"^\d+ passed, \d+ deselected, \d+ xfailed", said, re.MULTILINE), said


def test_a_store_that_keeps_its_promises_passes(tmp_path: Path):
    said = run_suite(tmp_path, "(peek and sync) or (reference and async)", WHOLE)
    assert re.search(r"^\d+ passed, \d+ deselected", said, re.MULTILINE), said
    assert "xfailed" not in said


def test_a_store_that_breaks_a_promise_is_found_out(tmp_path: Path):
    said = run_suite(tmp_path, "(extend or peek) and sync", FAULT)
    assert re.search(r"^\d+ failed, \d+ passed", said, re.MULTILINE), said
