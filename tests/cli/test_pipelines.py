"""Pipelines from a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from duerow import Database
from tests.cli.conftest import Command, parsed, run

SHOP = """
from duerow import Join, Pipeline, Relay, Sink

def same(message):
    return message.payload

orders = Pipeline("orders", [Relay("check", same, to="ship"), Sink("ship", lambda message: None)])
shorter = Pipeline("orders", [Sink("ship", lambda message: None)])
pairs = Pipeline("pairs", [Join("pair", len, by="payload.order", count=2, to="whole")], outputs=["whole"])
number = 5

def broken():
    Pipeline("broken", [Relay("check", same, to="nowhere")])
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "pipes.py").write_text(SHOP)
    (tmp_path / "broken.py").write_text("import pipes\n\npipes.broken()\n")
    return tmp_path


def test_a_pipeline_is_checked_run_listed_and_drawn(shop: Path, url: str, database: Database, command: Command) -> None:
    assert command("pipeline", "list").stdout == "no pipelines\n"
    sound = run("pipeline", "check", "pipes:pairs", cwd=shop)
    assert sound.stdout == "pipeline 'pairs' is valid: 1 station; messages enter at pair\n", sound.stderr
    database.queue("check").push(1)
    done = run("pipeline", "run", "pipes:orders", "--until", "empty", "--db", url, "--json", "-v", cwd=shop)
    assert done.returncode == 0, done.stderr
    assert '"message":"done 1 of ship"' in done.stderr
    assert database.queues() == []
    (orders,) = parsed(command("pipeline", "list", "--json"))
    assert (orders["name"], [station["name"] for station in orders["stations"]]) == ("orders", ["check", "ship"])
    assert "check" in command("pipeline", "list").stdout
    assert command("pipeline", "draw", "orders").stdout == database.pipelines()[0].mermaid()
    assert command("pipeline", "draw", "orders", "--as", "dot").stdout == database.pipelines()[0].dot()


def test_a_station_is_removed_when_it_is_said_where_its_messages_go(shop: Path, url: str, database: Database) -> None:
    assert run("pipeline", "run", "pipes:orders", "--db", url, cwd=shop).returncode == 0
    database.queue("check").push(1)
    refused = run("pipeline", "run", "pipes:shorter", "--db", url, cwd=shop)
    assert refused.returncode == 1
    assert (
        "duerow: pipeline 'orders': it no longer has station 'check', and its queue 'check' still has 1 message"
        in refused.stderr
    )
    done = run("pipeline", "run", "pipes:shorter", "--rehome", "check=ship", "--db", url, cwd=shop)
    assert done.returncode == 0, done.stderr
    assert database.queues() == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "pipes:number"], "pipes:number is 5, which is not a pipeline"),
        (["check", "pipes:nothing"], "module 'pipes' has no pipeline 'nothing'"),
        (["check", "pipes"], "does not name a pipeline; write MODULE:PIPELINE"),
        (["check", "broken:orders"], "relay 'check' sends to the unknown queue 'nowhere'"),
        (["run", "pipes:orders", "--rehome", "check", "--db", "memory://"], "write it as OLD=NEW"),
    ],
)
def test_what_cannot_be_is_a_line_that_says_why(shop: Path, arguments: list[str], said: str) -> None:
    failed = run("pipeline", *arguments, cwd=shop)
    assert failed.returncode == 1
    assert said in failed.stderr
    assert "Traceback" not in failed.stderr
