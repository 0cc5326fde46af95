"""Probes tell whether a worker lives, and whether it can work."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import httpx
import pytest
from starlette.applications import Starlette

import duerow
import duerow.aio
from duerow.errors import ConfigurationError, StoreUnavailable
from duerow.telemetry import health, prometheus
from duerow.telemetry.probes import probed
from duerow.worker import health as of_workers
from duerow.worker import maintenance
from duerow.worker.health import health_of


def get(port: int | None, path: str) -> tuple[int, Any]:
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


@contextmanager
def running(worker: duerow.Worker) -> Iterator[None]:
    begun = threading.Event()
    worker.queue.push("begin")
    thread = threading.Thread(target=worker.run, kwargs={"signals": False})
    worker._handler = lambda message: begun.set()
    thread.start()
    assert begun.wait(10)
    try:
        yield
    finally:
        worker.stop()
        thread.join()


@pytest.fixture
def worker(database: duerow.Database) -> duerow.Worker:
    return duerow.Worker(database.queue("mail"), lambda message: None)


def test_a_worker_that_runs_is_alive_and_ready(worker: duerow.Worker):
    with probed([worker], ("127.0.0.1", 0)) as port:
        assert get(port, "/healthz")[0] == 200
        assert get(port, "/readyz") == (503, '{"status":"the worker is not running"}')
        with running(worker):
            assert get(port, "/readyz") == (200, '{"status":"ok"}')
        assert get(port, "/readyz")[0] == 503
        assert get(port, "/secret")[0] == 404


def test_a_worker_that_hangs_is_not_alive(worker: duerow.Worker, monkeypatch: pytest.MonkeyPatch):
    with running(worker), probed([worker], ("127.0.0.1", 0)) as port:
        monkeypatch.setattr(of_workers, "SILENT", -1.0)
        status, told = get(port, "/healthz")
        assert status == 503
        assert "has not checked its database" in told


def test_a_worker_whose_database_does_not_answer_is_not_ready_but_alive(worker: duerow.Worker, monkeypatch):
    looked = threading.Event()
    monkeypatch.setattr(maintenance, "LOOK", 0.05)
    monkeypatch.setattr(maintenance, "SETTLED_IN", 0.05)

    def down() -> Any:
        looked.set()
        raise StoreUnavailable("gone")

    with running(worker), probed([worker], ("127.0.0.1", 0)) as port:
        monkeypatch.setattr(worker.queue.database, "tick", down)
        assert looked.wait(30)
        while worker.health.ready:
            pass
        assert get(port, "/readyz")[0] == 503
        assert get(port, "/healthz")[0] == 200


def test_one_of_several_workers_that_hangs_is_enough():
    fine, hanging = health_of(None), of_workers.Health(False, False, "hangs")
    assert of_workers.health_of_all([fine, hanging]) is hanging


def test_a_port_that_is_taken_is_an_error_that_says_so(worker: duerow.Worker):
    with (
        probed([worker], ("127.0.0.1", 0)) as port,
        pytest.raises(ConfigurationError, match="--health-port"),
        probed([worker], ("127.0.0.1", int(port or 0))),
    ):
        pass


def test_probes_of_a_worker_tell_the_metrics_of_its_process(worker: duerow.Worker):
    with probed([worker], ("127.0.0.1", 0)) as port:
        worker.queue.push("counted")
        status, told = get(port, "/metrics")
    assert status == 200
    assert 'messaging_client_sent_messages_total{messaging_destination_name="mail"}' in told


async def ask(database: duerow.aio.Database, path: str) -> httpx.Response:
    app = Starlette(routes=[*health.routes(database), *prometheus.routes(database)])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
        return await client.get(path)


async def test_the_routes_answer_for_a_database_that_can_be_used(url: str):
    async with await duerow.aio.connect(url, migrate=True) as database:
        assert (await ask(database, "/healthz")).json() == {"status": "ok"}
        assert (await ask(database, "/readyz")).json() == {"status": "ok"}
        await database.queue("mail").push("hello")
        metrics = await ask(database, "/metrics")
    assert metrics.headers["content-type"].startswith("text/plain")
    assert 'duerow_queue_messages{queue="mail",state="ready"} 1.0' in metrics.text


async def test_the_routes_say_that_a_database_cannot_be_used_and_no_more(tmp_path: Path):
    async with await duerow.aio.connect(f"sqlite:///{tmp_path / 'a.db'}", migrate=True) as database:
        await database.connections.close()
        for file in glob(f"{tmp_path}/a.db*"):
            os.unlink(file)
        answer = await ask(database, "/readyz")
    assert answer.status_code == 503
    assert json.loads(answer.text) == {"status": "SchemaOutdated"}
