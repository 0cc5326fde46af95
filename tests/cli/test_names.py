"""A name that exists nowhere is told as one, with the nearest, before anything changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from duerow import Database
from duerow.testing.contents import everything
from tests.cli.conftest import Command, parsed

OF_A_QUEUE = {
    "stats": (),
    "queues": (),
    "workers": (),
    "list": (),
    "find": (),
    "show": ("1",),
    "stack": ("1",),
    "why": ("1",),
    "edit": ("--id", "1", "--payload", "2"),
    "reschedule": ("--id", "1", "--stop"),
    "reprioritise": ("5", "--id", "1"),
    "remove": ("--where", "id > 0"),
    "requeue": ("--where", "id > 0"),
    "transfer": ("--where", "id > 0", "--to", "elsewhere"),
    "pause": (),
    "limit": ("--clear",),
    "resume": (),
    "drain": ("--timeout", "0"),
    "purge": ("--confirm", "oders"),
    "redrive": (),
    "history": (),
    "replay": ("--where", "id > 0"),
    "push": ("1",),
    "copy": ("--into", "memory://"),
}


@pytest.mark.parametrize("name", OF_A_QUEUE)
@pytest.mark.parametrize("as_json", [(), ("--json",)], ids=["text", "json"])
def test_a_queue_that_is_not_known_is_refused_by_every_command(
    command: Command, database: Database, name: str, as_json: tuple[str, ...]
):
    database.queue("orders").push("x")
    before = everything(database), database.definitions()
    result = command(name, "oders", *OF_A_QUEUE[name], *as_json)
    assert (result.exit_code, result.stdout) == (5, "")
    where = "the source" if name == "copy" else "the database"
    assert result.stderr.startswith(f"duerow: {where} has no queue 'oders'; did you mean 'orders'?")
    assert (everything(database), database.definitions()) == before
    assert database.known_queues() == ["orders"]


@pytest.mark.parametrize("name", ["pause", "drain", "push"])
def test_a_queue_that_comes_into_being_by_a_command_is_made_when_that_is_said(
    command: Command, database: Database, name: str
):
    more = {"pause": (), "drain": ("--no-wait",), "push": ("1",)}[name]
    refused = command(name, "orders", *more)
    assert (refused.exit_code, refused.stderr) == (
        5,
        "duerow: the database has no queue 'orders'; --create creates it\n",
    )
    assert command(name, "orders", *more, "--create").exit_code == 0
    assert database.known_queues() == ["orders"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("edit", "--payload", "2"),
        ("reschedule", "--stop"),
        ("reprioritise", "5"),
        ("remove",),
        ("requeue",),
        ("requeue", "--dry-run"),
    ],
)
def test_a_message_that_is_not_there_has_exit_code_5(command: Command, database: Database, arguments: tuple[str, ...]):
    database.queue("orders").push("x", key="k")
    for which in (("--id", "99"), ("--key", "l")):
        result = command(arguments[0], "orders", *arguments[1:], *which)
        assert (result.exit_code, result.stdout) == (5, "")
        named = "live message with key 'l'" if "--key" in which else "message with id 99"
        assert f"queue 'orders' has no {named}; it may be done, moved or removed" in result.stderr
    for name in ("show", "why"):
        assert command(name, "orders", "99").exit_code == 5
    assert command("history", "orders", "--id", "99").exit_code == 5


def test_a_message_in_no_state_for_a_change_is_said_to_be_in_it(command: Command, database: Database):
    queue = database.queue("orders")
    pushed = queue.push("x")
    queue.bury(queue.reserve(), "no use")
    result = command("reschedule", "orders", "--id", str(pushed.id), "--stop")
    assert (result.exit_code, "is dead, so nothing was changed" in result.stderr) == (1, True)


def test_no_command_but_migrate_makes_a_file_of_a_mistyped_name(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    for name, more in {**OF_A_QUEUE, "push": ("1", "--create"), "sql": ()}.items():
        queue = () if name == "sql" else ("oders",)
        result = command(name, *queue, *more, "--db", "sqlite:///typo.db")
        assert result.exit_code == (0 if name == "sql" else 1), name
        if name != "sql":
            assert "there is no file 'typo.db'" in result.stderr
            assert "connect(" not in result.stderr
    assert list(tmp_path.iterdir()) == []
    assert command("migrate", "--db", "sqlite:///typo.db").exit_code == 0


def test_the_pipelines_name_is_told_with_the_nearest(command: Command, database: Database):
    result = command("pipeline", "draw", "never")
    assert (result.exit_code, result.stderr) == (5, "duerow: the database has no pipeline 'never'\n")


def test_stats_shows_queues_that_are_empty(command: Command, database: Database):
    database.queue("orders").declare()
    assert [one["queue"] for one in parsed(command("stats", "--json"))] == ["orders"]
