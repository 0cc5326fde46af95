"""The command that copies a queue to another database."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import duerow
from duerow import Database
from tests.cli.conftest import Command, parsed


def test_a_queue_is_moved_to_another_database_and_what_is_left_is_exit_code_1(
    command: Command, database: Database, tmp_path: Path
):
    other = f"sqlite:///{tmp_path}/other.db"
    queue = database.queue("orders", history=timedelta(days=1))
    for n in range(4):
        queue.push(n, key=f"o-{n}")
    queue.reserve().commit()
    held = queue.reserve()
    asked = ("copy", "orders", "--into", other, "--into-prefix", "its_", "--move", "--history", "3600", "--beside")
    with duerow.connect(other, prefix="its_", migrate=True) as target:
        theirs = target.queue("orders").push("theirs", key="o-2")
        result = command(*asked)
        assert result.exit_code == 1
        assert result.stdout.splitlines() == [
            "moved 1 message, 0 dead letters, 1 finished turn",
            "left behind because they are leased: 1",
            f"left behind because the target has a live message with their key: ids {held.message.id + 1}",
        ]
        held.release()
        target.queue("orders").remove(theirs.id)
        report = parsed(command(*asked, "--json"))
        assert {name: report[name] for name in ("messages", "turns_before", "taken", "moved")} == {
            "messages": 2,
            "turns_before": 1,
            "taken": [],
            "moved": True,
        }
        assert [message.payload for message in target.queue("orders").find()] == [3, 1, 2]
    assert queue.find() == []


def test_what_cannot_be_copied_is_a_line(command: Command, database: Database, tmp_path: Path):
    other = f"sqlite:///{tmp_path}/other.db"
    assert "run `duerow migrate`" in command("copy", "orders", "--into", other).stderr
    duerow.connect(other, migrate=True).close()
    result = command("copy", "orders", "--into", other)
    assert (result.exit_code, result.stdout) == (5, "")
    assert "the source has no queue 'orders'" in result.stderr
