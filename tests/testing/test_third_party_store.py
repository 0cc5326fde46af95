"""Whoever writes a store can put it through the conformance suite with a few lines, from a package of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

STORE = '''
"""A store of somebody else's: here one that keeps everything in memory, and has one fault if its address says so."""

from urllib.parse import urlsplit

from duerow.stores.memory import MemoryBackend
from duerow.stores.memory.plans import MemoryStore


class Forgetful(MemoryStore):
    def extend(self, receipts, lease):
        return super().extend(receipts, lease * 2)


class ShelfBackend(MemoryBackend):
    def _own(self, opened, target):
        store, connections = opened
        return (Forgetful() if urlsplit(target).hostname == "faulty" else store), connections

    def open(self, target, settings):
        return self._own(super().open(target, settings), target)

    def aopen(self, target, settings):
        return self._own(super().aopen(target, settings), target)


shelf = ShelfBackend()
'''

CONFTEST = 'pytest_plugins = ["duerow.testing.conformance.fixtures"]\n'

TESTS = """
import uuid

import pytest

from duerow.testing.conformance import promises
from duerow.testing.conformance.fixtures import Place

globals().update(promises())


@pytest.fixture
def place():
    return Place(f"shelf://{HOST}/{uuid.uuid4().hex}")
"""


def run_suite(folder: Path, host: str, asked_for: str) -> str:
    """Put the store through the promises that are asked for; return what pytest says."""
    installed = folder / "duerow_shelf-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: duerow-shelf\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[duerow.stores]\nshelf = duerow_shelf:shelf\n")
    (folder / "duerow_shelf.py").write_text(STORE)
    tests = folder / "tests"
    tests.mkdir()
    (tests / "conftest.py").write_text(CONFTEST)
    (tests / "test_shelf.py").write_text(TESTS.replace("{HOST}", host))
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-W",
        "error::pytest.PytestUnknownMarkWarning",
    ]
    done = subprocess.run(
        [*command, "--rootdir", str(tests), "-k", asked_for, str(tests)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout + done.stderr


def test_a_store_that_keeps_its_promises_passes(tmp_path: Path):
    said = run_suite(tmp_path, "good", "lease or peek or declared or reference")
    assert re.search(r"^\d+ passed, \d+ deselected", said, re.MULTILINE), said


def test_a_store_that_breaks_a_promise_is_found_out(tmp_path: Path):
    said = run_suite(tmp_path, "faulty", "lease and sync")
    assert re.search(r"^\d+ failed, \d+ passed", said, re.MULTILINE), said
