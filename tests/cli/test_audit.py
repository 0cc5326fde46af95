"""What commands change is recorded, shown and exported."""

from __future__ import annotations

import getpass
import json
from datetime import timedelta
from typing import Any

import pytest

from duerow import Database
from tests.cli.conftest import Command, parsed


def entries(command: Command, *arguments: str) -> list[Any]:
    found: list[Any] = parsed(command("audit", "--json", *arguments))
    return found


@pytest.mark.parametrize(
    ("arguments", "details"),
    [
        (["edit", "orders", "--id", "1", "--patch", '{"card": "4111"}'], {"id": 1, "fields": ["patch"]}),
        (["reschedule", "orders", "--where", "payload.n = 1", "--stop"], {"where": "payload.n = 1", "stop": True}),
        (["reprioritise", "orders", "--key", "k", "--", "3"], {"key": "k", "priority": 3}),
        (["requeue", "orders", "--id", "1"], {"id": 1}),
        (["remove", "orders", "--id", "1", "--even-if-leased"], {"id": 1, "even_if_leased": True}),
        (["pause", "orders"], {}),
        (["resume", "orders"], {}),
        (["drain", "orders", "--no-wait"], {}),
        (["purge", "orders", "--confirm", "orders"], {}),
        (["redrive", "orders", "--limit", "3"], {"limit": 3, "on_duplicate": "reject"}),
        (["replay", "orders", "--where", "outcome = 'done'"], {"where": "outcome = 'done'"}),
        (["schedule", "add", "s", "orders", "--every", "60"], {"schedule": "s", "every": 60.0}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_every_change_is_recorded(command: Command, database: Database, arguments: list[str], details: dict[str, Any]):
    database.queue("orders").push({"n": 1}, key="k")
    done = command(*arguments)
    assert done.exit_code == 0, done.output
    (found,) = entries(command)
    assert (found["action"], found["queue"]) == (
        arguments[0] if arguments[0] != "schedule" else "schedule add",
        "orders",
    )
    assert found["details"] == details
    assert (found["by"], found["means"]) == (getpass.getuser(), "cli")


def test_what_changes_nothing_is_not_recorded(command: Command, database: Database):
    database.queue("orders").push(1)
    for arguments in (["stats"], ["list", "orders"], ["remove", "orders", "--id", "1", "--dry-run"], ["audit"]):
        assert command(*arguments).exit_code == 0
    assert command("audit").stdout == "nothing was changed\n"


def test_a_change_can_be_made_in_the_name_of_somebody(command: Command, database: Database):
    database.queue("orders").push(1)
    assert command("--by", "ana", "pause", "orders").exit_code == 0
    assert command("resume", "orders").exit_code == 0
    assert [(one["by"], one["action"]) for one in entries(command)] == [(getpass.getuser(), "resume"), ("ana", "pause")]
    assert [one["action"] for one in entries(command, "payload.by = 'ana'")] == ["pause"]


def test_the_record_is_searched_shown_and_exported(command: Command, database: Database):
    for name in ("orders", "mail"):
        database.queue(name).declare()
        assert command("pause", name).exit_code == 0
    assert [one["queue"] for one in entries(command, "--queue", "mail")] == ["mail"]
    assert entries(command, "--since", "2099-01-01T00:00:00Z") == []
    shown = command("audit").stdout.splitlines()
    assert shown[0].split("  ")[0] == "when (UTC)"
    assert [line.split()[-1] for line in shown[1:]] == ["mail", "orders"]
    exported = command("audit", "--export").stdout.splitlines()
    assert [json.loads(line)["queue"] for line in exported] == ["mail", "orders"]


def test_the_record_is_kept_as_declared_and_is_in_no_list(command: Command, database: Database):
    database.queue("duerow.audit", history=timedelta(days=365)).declare()
    database.queue("orders").declare()
    assert command("pause", "orders").exit_code == 0
    assert [one["action"] for one in entries(command)] == ["pause"]
    assert database.known_queues() == ["orders"]
    assert database.known_queues(reserved=True) == ["duerow.audit", "orders"]
    assert "duerow.audit" not in command("stats").stdout
    assert command("list", "duerow.audit").exit_code == 0
