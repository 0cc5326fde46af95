"""A worker on the command line that answers probes, logs JSON, and calls what the environment names."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import urlopen

from duerow.sync.database import Database
from tests.processes import running_program

SHOP = """
from pathlib import Path

def handle(message):
    pass

def configure():
    Path("configured").touch()
"""


def test_a_worker_answers_probes_and_metrics_and_logs_objects(
    tmp_path: Path, url: str, database: Database, monkeypatch
):
    (tmp_path / "shop.py").write_text(SHOP)
    monkeypatch.setenv("DUEROW_TELEMETRY", "shop:configure")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    database.queue("orders").push("hello")
    options = ["--log-format", "json", "--health-port", "0", "--health-host", "127.0.0.1", "--db", url]
    program = ["worker", "shop:handle", "orders", *options]
    with running_program("duerow.cli.main", program, tmp_path) as worker:
        lines = map(json.loads, worker.stderr)
        port = next(one["port"] for one in lines if one.get("event") == "probes")
        next(one for one in lines if one.get("event") == "fetched")
        assert ask(port, "/healthz") == ask(port, "/readyz") == '{"status":"ok"}'
        told = ask(port, "/metrics")
        worker.terminate()
        worker.communicate()
    assert 'messaging_client_consumed_messages_total{messaging_destination_name="orders"} 1.0' in told
    assert (tmp_path / "configured").exists()


def ask(port: int, path: str) -> str:
    with urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        text: str = answer.read().decode()
        return text


def test_a_function_that_the_environment_names_and_is_not_there_is_an_error(command, monkeypatch):
    monkeypatch.setenv("DUEROW_TELEMETRY", "no_such_module:configure")
    from duerow.telemetry.startup import start

    start.cache_clear()
    done = command("worker", "shop:handle", "orders")
    assert done.exit_code == 1
    assert "MODULE:FUNCTION" in done.output
