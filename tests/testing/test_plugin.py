"""The pytest plugin gives fixtures to who asks for them, and costs nobody else anything."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest_duerow
from tests.docs.pages import DOCS, blocks
from tests.processes import run_program

ROOT = Path(__file__).parents[2]

WITHOUT = [f"-pno:{name}" for name in ("cacheprovider", "schemathesis", "xdist")]
"""Plugins of this environment that take long to load, and have nothing to do with duerow's."""


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest as in somebody else's project."""
    return run_program("pytest", ["-q", *WITHOUT, "--rootdir", str(folder), *options, str(folder)], folder)


def test_pytest_finds_the_plugin_where_duerow_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["entry-points"]["pytest11"] == {"duerow": "pytest_duerow"}
    assert "src/pytest_duerow" in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]


def test_both_faces_share_a_database_and_a_clock_that_are_new_for_each_test(tmp_path: Path):
    (tmp_path / "test_mine.py").write_text("""
import asyncio
from datetime import timedelta

from duerow.testing import adrain, assert_not_pushed, assert_pushed, drain, like


def test_one(duerow_db, duerow_async_db, duerow_clock):
    mail = duerow_db.queue("mail")
    mail.push("x", delay=timedelta(days=1))
    assert_pushed(mail, like("x", delay=timedelta(days=1)))
    seen = []

    async def send(message):
        seen.append(message.payload)

    queue = duerow_async_db.queue("mail")
    assert asyncio.run(adrain({queue: send})) == []
    before = duerow_clock.now()
    [turn] = asyncio.run(adrain({queue: send}, clock=duerow_clock))
    assert (turn.ending, seen, duerow_clock.now() - before) == ("done", ["x"], timedelta(days=1))
    mail.push("left")


def test_another(duerow_db):
    assert duerow_db.queues() == []
""")
    done = run_pytest(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_the_fixtures_do_what_the_documentation_shows(tmp_path: Path):
    [shown] = [block for block in blocks(DOCS / "how-to" / "testing.md") if block.note == "file test_shop.py"]
    (tmp_path / "test_shop.py").write_text(shown.text)
    done = run_pytest(tmp_path, "-o", "asyncio_mode=auto")
    assert "2 passed" in done.stdout, done.stdout


def test_what_a_test_left_in_its_database_is_forgotten(tmp_path: Path):
    (tmp_path / "test_mine.py").write_text("""
from duerow.stores.memory import memory


def test_one(duerow_db):
    duerow_db.queue("mail").push("x")
    assert len(memory._named) == 1


def test_another():
    assert len(memory._named) == 0
""")
    done = run_pytest(tmp_path)
    assert "2 passed" in done.stdout, done.stdout


def test_tests_that_ask_for_nothing_import_nothing(tmp_path: Path):
    (tmp_path / "test_mine.py").write_text("""
import sys


def test_nothing_of_duerow_was_imported():
    assert "pytest_duerow" in sys.modules
    assert [name for name in sys.modules if name.split(".")[0] in ("duerow", "sqlalchemy", "msgspec")] == []
""")
    # Started anew, by Python itself. Other plugins of this environment may import what they like.
    command = [sys.executable, "-m", "pytest", "-q", *WITHOUT, "-pno:hypothesispytest", "-pno:anyio"]
    done = subprocess.run([*command, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout


def test_all_names_of_the_plugin_begin_with_duerow():
    fixtures = [
        name for name, value in vars(pytest_duerow).items() if type(value).__name__ == "FixtureFunctionDefinition"
    ]
    assert sorted(fixtures) == ["_duerow_url", "duerow_async_db", "duerow_clock", "duerow_db"]
