"""Single messages from a terminal: pushed, shown whole, purged; and who works on them."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
import threading
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

import duerow
from duerow import Database, Worker
from duerow.cli import output
from duerow.cli.application import app
from duerow.testing.worker_harness import Gate, eventually
from duerow.worker import cancellation
from duerow.worker.progress import draft, said
from tests.cli.conftest import Command, parsed, run
from tests.processes import begin, run_program


def test_a_message_is_pushed_with_all_its_terms(command: Command, database: Database, url: str):
    terms = ["--key", "k", "--delay", "60", "--priority", "-3", "--group", "g", "--header", "a=1", "--header", "b=x=y"]
    told = parsed(command("push", "orders", '{"n": 1}', *terms, "--create", "--json"))
    assert told["outcome"] == "created"
    message = database.queue("orders").get(told["id"])
    assert (message.payload, message.key, message.priority, message.group) == ({"n": 1}, "k", -3, "g")
    assert (message.headers, message.kind) == ({"a": 1, "b": "x=y"}, "json")
    assert message.due_at - message.created_at == timedelta(minutes=1)
    assert command("push", "orders", "2", "--key", "k").stdout == f"ignored: message {told['id']} already has the key\n"
    refused = command("push", "orders", "2", "--key", "k", "--on-duplicate", "reject")
    assert (refused.exit_code, "pass --on-duplicate ignore, replace or earliest" in refused.stderr) == (1, True)
    read = CliRunner().invoke(app, ["push", "orders", "-", "--kind", "Order"], env={"DUEROW_URL": url}, input="[1]")
    assert read.exit_code == 0
    assert [one.kind for one in database.queue("orders").find("priority = 0")] == ["Order"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("{",), "duerow: the payload is not valid JSON"),
        (("1", "--due", "2026-03-01T12:00:00"), "--due has no time zone: 2026-03-01T12:00:00; add one, as in"),
        (("1", "--due", "2026-03-01T12:00:00Z", "--delay", "1"), "give --due or --delay, not both"),
        (("1", "--header", "x"), "write it as NAME=VALUE"),
        (("[" * 2000 + "]" * 2000,), " deep"),
    ],
)
def test_what_cannot_be_pushed_is_told_in_the_words_of_the_command_line(
    command: Command, database: Database, arguments: tuple[str, ...], says: str
):
    database.queue("orders").declare()
    result = command("push", "orders", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert says in result.stderr
    assert "tzinfo" not in result.stderr


def test_errors_speak_of_options_and_not_of_python(command: Command, database: Database):
    queue = database.queue("orders")
    queue.push("x", key="k")
    queue.reserve()
    assert "pass --even-if-leased to end that lease" in command("remove", "orders", "--key", "k").stderr
    which = command("remove", "orders").stderr
    assert "--id or --key or --where (given: none)" in which
    assert "None" not in which
    assert "ID or --key" in command("why", "orders").stderr
    queue.drain(wait=False)
    assert "again with `duerow resume`" in command("push", "orders", "1").stderr
    assert "to confirm, give its name with --confirm" in command("purge", "orders", "--confirm", "x").stderr


def test_a_whole_message_is_shown_with_its_errors_its_turns_and_why_it_does_not_run(
    command: Command, database: Database
):
    queue = database.queue("orders", history=timedelta(days=1))
    pushed = queue.push({"to": "ivo"}, key="k", headers={"trace": "t-1"})
    try:
        raise ValueError("no address")
    except ValueError as error:
        queue.rollback(queue.reserve(), delay=timedelta(hours=1), error=error)
    for which in (str(pushed.id),), ("--key", "k"):
        shown = command("show", "orders", *which).stdout
        for part in ('trace = "t-1"', '"to": "ivo"', "ValueError: no address", "not-due: ", "failed", "attempts"):
            assert part in shown
    told = parsed(command("show", "orders", str(pushed.id), "--json"))
    assert (told["message"]["payload"], told["why"][0]["code"], told["turns"][0]["outcome"]) == (
        {"to": "ivo"},
        "not-due",
        "failed",
    )
    queue.requeue(pushed.id)
    queue.commit(queue.reserve())
    gone = command("show", "orders", str(pushed.id))
    assert (gone.exit_code, "no longer has this message" in gone.stdout, "done" in gone.stdout) == (0, True, True)
    assert parsed(command("show", "orders", "--key", "k", "--json"))["message"] is None


def test_the_stack_of_a_running_handler_is_printed_and_the_question_recorded(
    command: Command, database: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cancellation, "LONG", 0.05)
    gate, queue = Gate(), database.queue("orders")
    queue.push("x", key="k")
    assert "message 1 is not in progress" in command("stack", "orders", "1").stderr
    assert command("stack", "orders", "7").exit_code == 5
    assert "ID or --key" in command("stack", "orders").stderr

    def hang(message):
        gate.block()

    worker = Worker(queue, hang, name="w1", heartbeat=timedelta(milliseconds=100))
    running = threading.Thread(target=lambda: worker.run("idle", signals=False))
    running.start()
    try:
        eventually(lambda: queue.stats().leased)
        told = command("stack", "orders", "--key", "k", "--wait", "60").stdout
        assert told.startswith("attempt 1 of ")
        assert ":w1, at " in told
        assert "hang\n" in told
        frames = parsed(command("stack", "orders", "1", "--json"))["frames"]
        assert [frame["function"].rpartition(".")[2] for frame in frames][:2] == ["hang", "block"]
        assert "ids=[1]" in command("audit", "payload.action = 'stack'").stdout
    finally:
        gate.open()
        running.join()


def test_a_dead_letter_is_listed_with_its_reason(command: Command, database: Database):
    queue = database.queue("orders", dead_letter="dead")
    queue.push("x")
    queue.bury(queue.reserve(), "no such customer")
    assert "no such customer" in command("list", "dead").stdout


def test_a_queue_is_purged_when_its_name_is_said_twice(command: Command, database: Database):
    queue = database.queue("orders")
    for number in range(3):
        queue.push(number)
    assert command("purge", "orders").exit_code == 2
    assert command("purge", "orders", "--confirm", "order").exit_code == 1
    assert queue.count() == 3
    assert parsed(command("purge", "orders", "--confirm", "orders", "--json")) == {"queue": "orders", "count": 3}
    assert command("stats", "orders").exit_code == 5


def test_workers_are_shown_with_their_queues(command: Command, database: Database):
    assert command("workers").stdout == "no workers\n"
    database.run(lambda: database.store.metadata.note_consumer("here:1:w", ["orders", "mail"], ["json"], "1.0"))
    assert "here:1:w  orders mail  json" in command("workers").stdout
    assert [one["queues"] for one in parsed(command("workers", "mail", "--json"))] == [["orders", "mail"]]


def test_history_names_the_fields_that_turns_have(command: Command, database: Database):
    database.queue("orders").declare()
    told = command("history", "orders", "bogus = 'x'")
    assert told.exit_code == 1
    assert "a turn in history has no field 'bogus'" in told.stderr
    assert "outcome" in told.stderr
    assert "a message has no field 'bogus'" in command("find", "orders", "bogus = 'x'").stderr


def test_the_version_is_told_by_the_command_the_package_and_the_module(command: Command):
    assert duerow.__version__ == version("duerow")
    assert command("--version").stdout == f"duerow {version('duerow')}\n"
    program = [Path(sys.executable).parent / "duerow", "--version"]
    assert subprocess.run(program, capture_output=True, text=True, check=True).stdout == command("--version").stdout
    assert run_program("duerow", ["--version"], Path.cwd()).stdout == command("--version").stdout


def test_a_table_that_is_read_by_a_program_is_plain_and_whole(command: Command, database: Database):
    database.queue("orders").push({"text": "x" * 300})
    header, line = command("list", "orders").stdout.splitlines()
    assert header.split() == ["id", "status", "due", "(UTC)", "attempts", "payload"]
    assert line.endswith('{"text":"' + "x" * 300 + '"}')


def test_a_narrow_terminal_breaks_no_header(
    command: Command, database: Database, url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    queue = database.queue("orders")
    queue.push({"text": "x" * 300}, key="k" * 40)
    queue.push("y")
    queue.commit(queue.reserve_many(2)[1])
    database.write_counts()
    for width in (40, 80, 120):
        for name in ("list", "stats"):
            arguments = [name, "orders"] if name == "list" else [name]
            shown = CliRunner().invoke(app, arguments, env={"DUEROW_URL": url, "COLUMNS": str(width)}).stdout
            names = ("status", "due (UTC)", "attempts", "payload") if name == "list" else ("done/min", "waiting p95")
            assert all(one in shown for one in names), shown
            assert all(len(line) <= width for line in shown.splitlines() if line.startswith("│"))


@pytest.mark.parametrize("handler", [".json:x", "json:", ":dumps", "a b:c", "json:a.", "json"])
def test_a_handler_that_no_module_can_have_is_told_in_a_line(command: Command, database: Database, handler: str):
    result = command("worker", handler, "orders")
    assert (result.exit_code, "does not name a function" in result.stderr) == (1, True)


def on_terminal(*arguments: str, columns: int) -> str:
    """Return what the command prints on a terminal of that many columns, without colours."""
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    files = {number: os.dup(its) for number in (0, 1, 2)}
    os.close(its)
    process = begin("duerow", arguments, Path.cwd(), environment | {"TERM": "xterm"}, files)
    printed = b""
    try:
        while part := os.read(ours, 65_536):
            printed += part
    except OSError:  # how Linux says that the other side is closed
        pass
    finally:
        os.close(ours)
        process.join()
    return re.sub(r"\x1b\[[\d;]*m", "", printed.decode())


def test_help_is_framed_on_a_terminal_of_any_width_and_plain_unbroken_lines_elsewhere(tmp_path):
    piped = run("worker", "--help", cwd=tmp_path)
    assert "─" not in piped.stdout + run("worker", cwd=tmp_path).stderr
    assert re.search(r"^  --timeout .+ How long a handler may take\.", piped.stdout, re.MULTILINE)
    assert max(map(len, piped.stdout.splitlines())) > 120
    for columns in (80, 130):
        framed = on_terminal("worker", "--help", columns=columns)
        assert {len(line) for line in framed.splitlines() if "─" in line} == {columns}


def test_a_module_that_fails_when_it_is_imported_is_told_with_its_line(
    command: Command, database: Database, tmp_path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken_one.py").write_text("x = 1\nraise ValueError('\\x1b[31m')\n")
    (tmp_path / "broken_two.py").write_text("def f(:\n")
    (tmp_path / "broken_three.py").write_text("import no_such_thing\n")
    for name, says in (("one", "broken_one.py, line 2"), ("two", "broken_two.py, line 1"), ("three", "no_such_thing")):
        result = command("worker", f"broken_{name}:f", "orders")
        assert (result.exit_code, says in result.stderr, "\x1b" in result.stderr) == (1, True, False)


def test_a_drawn_pipeline_cannot_steer_the_terminal(command: Command, database: Database):
    switch = duerow.Switch("check", lambda message: "x", to={"\x1b[31m": "out"})
    database.declare_pipeline(duerow.Pipeline("pipe", [switch], outputs=["out"]))
    for language in ("dot", "mermaid"):
        shown = command("pipeline", "draw", "pipe", "--as", language).stdout
        assert "\x1b" not in shown
        assert "\\x1b[31m" in shown


def test_a_fault_of_duerows_own_is_a_line_with_its_own_exit_code(command: Command, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise TypeError("this \x1b[31m cannot be")

    monkeypatch.setattr("duerow.cli.queue.connected", fail)
    result = command("stats")
    assert (result.exit_code, result.stdout) == (70, "")
    assert result.stderr.startswith("duerow: this is a bug in duerow: TypeError: this \\x1b[31m cannot be")


def test_show_tells_how_far_a_handler_is(command: Command, database: Database):
    pushed = database.queue("scans").push("scan")
    told = draft(pushed.id, said(0.4, "page 4 of 10", 2), datetime(2026, 3, 1, tzinfo=UTC))
    database.queue("scans/progress").push_many([told])
    assert "progress         40 %, page 4 of 10 (attempt 2)\n" in command("show", "scans", str(pushed.id)).stdout
    progress = parsed(command("show", "scans", str(pushed.id), "--json"))["progress"]
    assert (progress["fraction"], progress["text"]) == (0.4, "page 4 of 10")
