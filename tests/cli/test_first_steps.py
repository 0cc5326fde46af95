"""What somebody new meets: a first application, help with examples, completion, and a shell."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

import duerow
from duerow import Database, Pipeline, Sink
from duerow.cli.application import app
from duerow.cli.examples import EXAMPLES
from tests.cli.conftest import Command, parsed, run
from tests.docs.test_complete import commands
from tests.processes import run_program

COMMANDS = commands(typer.main.get_command(app), "duerow")


def carry_out(line: str, cwd: Path, environment: dict[str, str]) -> str:
    """Do what a line of a README says; return what it prints."""
    program, *arguments = shlex.split(line, comments=True)
    if program == "export":
        environment.update(one.split("=", 1) for one in arguments)
        return ""
    if program == "python":
        program, *arguments = (
            arguments[1:] if arguments[0] == "-m" else [arguments[0].removesuffix(".py"), *arguments[1:]]
        )
    else:
        assert program == "duerow"
    done = run_program(program, arguments, cwd, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_first_application_pushes_and_handles_and_passes_its_own_test(tmp_path: Path) -> None:
    written = run("init", "shop", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    assert written.stdout == "wrote shop/messages.py, shop/test_messages.py, shop/README.md\n"
    shop = tmp_path / "shop"
    assert carry_out("python messages.py ana@example.org ana@example.org", shop, {**os.environ}) == (
        "message 1: created\nmessage 1: ignored\n"
    )
    worked = run("worker", "messages:mail", "--until", "empty", cwd=shop)
    assert worked.stdout == "to ana@example.org: welcome, friend!\n", worked.stderr
    carry_out(
        "python -m pytest -q -pno:cacheprovider -pno:asyncio -pno:schemathesis test_messages.py", shop, {**os.environ}
    )


def test_the_commands_of_its_readme_are_commands(tmp_path: Path) -> None:
    run("init", "shop", "--db", "postgresql://app@host/shop", cwd=tmp_path)
    readme = (tmp_path / "shop" / "README.md").read_text()
    first, *_ = readme.split("```console\n")[1].splitlines()
    assert first == "export DUEROW_URL=postgresql://app@host/shop"  # the commands below need it
    assert 'get("DUEROW_URL", "postgresql://app@host/shop")' in (tmp_path / "shop" / "messages.py").read_text()
    lines = [line for line in readme.splitlines() if line.startswith("duerow ")]
    for line in lines:
        read(line)
    assert len(lines) == 4


def test_its_readme_runs_line_by_line(tmp_path: Path) -> None:
    run("init", cwd=tmp_path)
    block = (tmp_path / "README.md").read_text().split("```console\n")[1].split("```")[0]
    environment = {name: value for name, value in os.environ.items() if name != "DUEROW_URL"}
    printed = [carry_out(line, tmp_path, environment) for line in block.strip().splitlines()]
    assert len(printed) == 6
    assert "welcome, friend!" in printed[2]


def test_a_first_application_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    refused = run("init", cwd=tmp_path)
    assert refused.returncode == 1
    assert "README.md already exists" in refused.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["README.md"]


def read(line: str) -> None:
    """Read a command line as the shell and the command would, without running it."""
    words = shlex.split(line, comments=True)
    words = words[words.index("duerow") :]
    name = max((name for name in COMMANDS if words[: name.count(" ") + 1] == name.split()), key=len)
    rest = words[name.count(" ") + 1 :]
    COMMANDS[name].make_context(name, rest, resilient_parsing=False, default_map={"url": "memory://"})


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_examples_that_it_takes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for example in EXAMPLES[name.removeprefix("duerow ")]:
        assert f"{name} " in f"{example} "
        monkeypatch.setenv("DUEROW_URL", "memory://")
        read(example)


def test_help_ends_with_examples_that_are_not_wrapped() -> None:
    for name in ("push", "dashboard", "schedule add", "dashboard user add"):
        shown = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "40"}).stdout
        told = [line.strip() for line in shown.rstrip().splitlines()[-len(EXAMPLES[name]) :]]
        assert told == list(EXAMPLES[name])


def completed(line: str, environment: dict[str, str]) -> list[str]:
    """What bash would offer for a line."""
    words = line.split(" ")
    asked = {"_DUEROW_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    return CliRunner().invoke(app, [], env={**environment, **asked}, prog_name="duerow").stdout.split()


def test_a_shell_completes_commands_and_the_names_that_the_database_knows(database: Database, url: str) -> None:
    database.queue("mail").push(1)
    database.queue("main").push(1)
    database.queue("other").push(1)
    database.schedule("nightly", queue="mail", cron="0 3 * * *")
    database.declare_pipeline(Pipeline("parcels", [Sink("send", print)]))
    known = {"DUEROW_URL": url}
    assert completed("duerow pau", known) == ["pause"]
    assert completed("duerow pause ma", known) == ["mail", "main"]
    assert completed("duerow schedule pause n", known) == ["nightly"]
    assert completed("duerow pipeline draw par", known) == ["parcels"]
    assert completed(f"duerow pause --db {url} oth", {"DUEROW_URL": ""}) == ["other"]


@pytest.mark.parametrize("url", ["sqlite:///not-there.db", "nonsense://", ""])
def test_completion_says_nothing_where_the_database_cannot_be_asked(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert completed("duerow pause ma", {"DUEROW_URL": url}) == []
    assert list(tmp_path.iterdir()) == []


def test_a_shell_has_the_database_and_its_queues(command: Command, database: Database) -> None:
    database.queue("mail").push("hello")
    database.queue("dead-mail").push("x")
    database.queue("class").push("x")
    shown = command(
        "shell", "--command", "print(mail.peek()[0].payload, dead_mail.count(), sorted(queues), db.queues())"
    )
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.startswith("hello 1 ['class', 'dead-mail', 'mail']")
    assert command("shell", "-c", "if").stderr.startswith("duerow: --command is not valid Python")


def test_a_shell_runs_what_it_reads(database: Database, url: str, tmp_path: Path) -> None:
    database.queue("mail").push("hello")
    typed = 'queues["mail"].count()\ndb.queue("mail").push(2).outcome\n'
    result = CliRunner().invoke(app, ["shell", "--db", url], input=typed)
    assert result.exit_code == 0, result.output
    assert "'created'" in result.stdout
    assert f"duerow {duerow.__version__}" in result.stderr
    assert database.queue("mail").count() == 2


PROGRAM = """
import os
import duerow
db = duerow.connect(os.environ["SHOP_URL"])
mail = db.queue("mail", dead_letter="mail-dead")
@mail.handler
def send(message): ...
parcels = duerow.Pipeline("parcels", [duerow.Sink("send", print)])
"""


def test_an_operator_stores_what_a_program_says_of_its_queues_and_pipelines(
    command: Command, database: Database, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"declaring_{os.getpid()}"
    (tmp_path / f"{module}.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SHOP_URL", url)
    assert parsed(command("declare", f"{module}:mail", "--dry-run", "--json"))[0]["changed"] is True
    assert database.queue("mail").definition() is None
    assert command("declare", f"{module}:db").stdout.startswith("mail is declared: new")
    definition: Any = database.queue("mail").definition()
    assert definition.dead_letter == "mail-dead"
    assert command("declare", f"{module}:mail").stdout == "mail is already declared\n"
    assert command("declare", f"{module}:send").exit_code == 1
    assert parsed(command("pipeline", "declare", f"{module}:parcels", "--json"))["changed"] is True
    assert command("pipeline", "forget", "parcel").stderr.strip().endswith("did you mean 'parcels'?")
    assert command("pipeline", "forget", "parcels").exit_code == 0
    assert database.pipelines() == []
    recorded = [entry["action"] for entry in parsed(command("audit", "--json"))]
    assert recorded == ["forget-pipeline", "declare-pipeline", "declare", "declare"]


def test_one_round_of_maintenance_pushes_what_is_due(command: Command, database: Database) -> None:
    from datetime import UTC, datetime, timedelta

    start = datetime.now(UTC) - timedelta(hours=1)
    database.schedule("hourly", queue="mail", every=timedelta(hours=24), start=start)
    assert parsed(command("maintain", "--json"))["failed"] == {}
    assert command("maintain").stdout.startswith("0 pushed by schedules")


def test_the_work_of_the_last_hour_is_shown_by_minutes(command: Command, database: Database) -> None:
    assert command("minutes", "mail").exit_code == 5
    mail = database.queue("mail")
    mail.push(1)
    duerow.Worker(mail, lambda message: None).run(until="empty")
    database.write_counts()
    (minute,) = parsed(command("minutes", "mail", "--json"))
    assert minute["ended"]["done"] == 1
    assert "handling p95" in command("minutes", "mail").stdout
