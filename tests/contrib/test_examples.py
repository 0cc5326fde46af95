"""The example applications do what they say."""

from __future__ import annotations

import os
import sys
from importlib import import_module, reload
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.docs.pages import ROOT
from tests.processes import run_program


def test_the_shop_in_django(tmp_path: Path) -> None:
    folder = ROOT / "examples" / "django_shop"
    environment = {**os.environ, "PYTHONPATH": str(folder), "SHOP_FOLDER": str(tmp_path)}
    done = run_program("manage", ["test"], folder, environment)
    assert (done.returncode, "\nOK" in done.stderr) == (0, True), done.stderr
    checks = run_program("manage", ["makemigrations", "--check", "--dry-run"], folder, environment)
    assert checks.returncode == 0, checks.stdout + checks.stderr


def test_the_shop_in_fastapi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_URL", f"sqlite+aiosqlite:///{tmp_path}/shop.sqlite3")
    loaded = sys.modules.get("examples.fastapi_shop.main")
    shop = import_module("examples.fastapi_shop.main") if loaded is None else reload(loaded)
    with TestClient(shop.app, client=("127.0.0.1", 1), base_url="http://localhost") as client:
        assert client.post("/orders", params={"item": "lamp"}).json() == {"took": "lamp"}
        while client.get("/orders/open").json():
            pass  # the worker beside the server has it
        assert client.get("/queues/api/v1/queues").status_code == 200


def test_the_shop_in_flask(tmp_path: Path) -> None:
    from examples.flask_shop import shop

    app = shop.create_app(f"sqlite:///{tmp_path}/shop.sqlite3")
    run, client = app.test_cli_runner().invoke, app.test_client()
    assert run(args=["queues", "migrate"]).exit_code == 0
    assert client.post("/orders", data={"item": "lamp"}).json == {"order": 1}
    assert run(args=["queues", "worker", "--until", "empty"]).exit_code == 0
    assert client.get("/queues/").status_code == 200
    with app.app_context():
        assert shop.db.session.get_one(shop.Order, 1).confirmed
        shop.queues.close()
        shop.db.engine.dispose()
