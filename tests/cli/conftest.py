"""A database file, and the command to be run on it."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import duerow
from duerow.cli.application import app
from tests.processes import run_program

Command = Callable[..., Result]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'shop.db'}"


@pytest.fixture
def command(url: str) -> Command:
    """Run a command in this process, on that database."""
    return lambda *arguments: CliRunner().invoke(app, [*arguments], env={"DUEROW_URL": url, "COLUMNS": "200"})


@pytest.fixture
def database(url: str, sqlite_tables: Path) -> Any:
    shutil.copyfile(sqlite_tables, url.removeprefix("sqlite:///"))
    with duerow.connect(url, migrate=True) as database:
        yield database


def parsed(result: Result) -> Any:
    """Return what a command printed as JSON, having worked."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command as a program of its own."""
    return run_program("duerow.cli.main", arguments, cwd)
