"""What is wrong is told in a line, and by the exit code."""

import subprocess
import sys
from pathlib import Path

import pytest

import duerow
from tests.cli.conftest import Command, run
from tests.processes import running_program


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["stats"], "duerow migrate"),
        (["stats", "--db", "oracle://host/base"], "no store for oracle://"),
        (["stats", "--db", "shop.db"], "is not a URL"),
        (["migrate", "--prefix", "a-b"], "prefix must be 1 to"),
        (["list", "no spaces please"], "duerow migrate"),
        (["worker", "no_such_module:handle", "orders"], "no module 'no_such_module'"),
        (["worker", "json:no_such_function", "orders"], "no function 'no_such_function'"),
        (["worker", "json", "orders"], "does not name a function"),
        (["worker", "string:digits", "orders"], "not a function: leave the queues out"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line_with_exit_code_1(command: Command, arguments: list[str], said: str):
    result = command(*arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("duerow: ")
    assert said in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["reschedule", "orders", "--id", "1", "--delay", "1e30"],
        ["drain", "orders", "--timeout", "1e30"],
        ["worker", "json:dumps", "orders", "--lease", "1e30"],
        ["worker", "json:dumps", "orders", "--timeout", "1e30"],
    ],
)
def test_a_time_that_nobody_can_wait_for_is_told_in_a_line(command: Command, url: str, arguments: list[str]):
    with duerow.connect(url, migrate=True) as database:
        database.queue("orders").declare()
    result = command(*arguments)
    assert result.exit_code == 1
    assert f"{arguments[-2]} 1e+30 is not a number of seconds" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [["no-such-command"], ["list"], ["list", "orders", "--status", "lost"], ["list", "orders", "--limit", "0"]],
)
def test_what_is_not_understood_has_exit_code_2(command: Command, arguments: list[str]):
    assert command(*arguments).exit_code == 2


def test_a_program_without_a_database_has_exit_code_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DUEROW_URL", raising=False)
    result = run("stats", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert "DUEROW_URL" in result.stderr


def test_without_its_packages_the_command_says_what_to_install():
    hide_typer = "import sys; sys.modules['typer'] = None; from duerow.cli.main import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", hide_typer], capture_output=True, text=True, check=False, timeout=600
    )
    assert result.returncode == 1
    assert result.stderr == "the command duerow needs the package typer; run pip install 'duerow[cli]'\n"


def test_a_command_whose_output_nobody_reads_to_its_end_says_nothing_about_it(tmp_path: Path):
    duerow.connect(f"sqlite:///{tmp_path / 'shop.db'}", migrate=True).close()
    with running_program("duerow.cli.main", ["stats", "--db", "sqlite:///shop.db"], tmp_path) as running:
        running.stdout.close()
        assert (running.stderr.read(), running.wait()) == ("", 141)
