"""Queues in a Flask application."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask, current_app
from flask_sqlalchemy import SQLAlchemy

import duerow
from duerow.cli.workers import run_all
from duerow.contrib.flask import FlaskQueues
from duerow.contrib.sqlalchemy import push_at_commit
from duerow.errors import ConfigurationError, SchemaOutdated
from duerow.web import Viewer, roles_of


class Shop:
    """An application made by a factory, with a database of its own."""

    def __init__(self, url: str) -> None:
        self.sent: list[Any] = []
        self.queues = queues = FlaskQueues()
        self.mail = mail = queues.queue("mail")
        self.db = db = SQLAlchemy()
        self.app = app = Flask("shop")
        app.config["SQLALCHEMY_DATABASE_URI"] = url
        db.init_app(app)
        queues.init_app(app)

        @mail.handler
        def send(message: Any) -> None:
            self.sent.append((current_app.name, message.payload))

        @app.post("/<item>/<int:fails>")
        def order(item: str, fails: int) -> str:
            mail.push(item, within=db.session)
            push_at_commit(db.session, mail, f"{item} too")
            if fails:
                raise RuntimeError
            db.session.commit()
            return "ok"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(f"sqlite:///{tmp_path}/shop.db")
    yield shop
    with shop.app.app_context():
        shop.queues.close()
        shop.db.engine.dispose()


def test_a_request_pushes_in_its_own_transaction_and_a_worker_handles_it(shop: Shop) -> None:
    with shop.app.app_context():
        shop.queues.migrate()
    client = shop.app.test_client()
    assert [client.post(path).status_code for path in ("/lamp/0", "/chair/1")] == [200, 500]
    with shop.app.app_context():
        [worker] = shop.queues.workers(concurrency=1)
        worker.run("empty")
    assert shop.sent == [("shop", "lamp"), ("shop", "lamp too")]


def test_the_command_line_makes_the_tables_lists_and_works(shop: Shop) -> None:
    run = shop.app.test_cli_runner().invoke
    assert "run flask queues migrate" in run(args=["queues", "list"]).output
    assert run(args=["queues", "migrate"]).output == "the tables are up to date\n"
    with shop.app.app_context():
        shop.mail.push(1)
    assert run(args=["queues", "list"]).output == "mail: 1 new\n"
    done = run(args=["queues", "worker", "mail", "--until", "idle"])
    assert (done.exit_code, shop.sent) == (0, [("shop", 1)])
    refused = run(args=["queues", "worker", "mial"])
    assert (refused.exit_code, "no handler is declared for mial" in refused.output) == (1, True)


def test_the_dashboard_is_for_whom_the_application_knows(tmp_path: Path) -> None:
    shop = Shop(f"sqlite:///{tmp_path}/shop.db")
    people = {"ana": Viewer("ana", roles_of("operator"))}
    from flask import request

    shop.queues.dashboard(shop.app, lambda: people.get(request.headers.get("X-User", "")))
    with shop.app.app_context():
        shop.queues.migrate()
        shop.mail.push({"item": "lamp"})
        client = shop.app.test_client()
        assert client.get("/queues/").status_code == 401
        page = client.get("/queues/", headers={"X-User": "ana"})
        assert (page.status_code, "mail" in page.text) == (200, True)
        assert client.get("/queues/queues/mail", headers={"X-User": "ana"}).status_code == 200
        token = re.findall(r'name="csrf_token" value="([^"]*)"', page.text)[0]
        form = {"csrf_token": token}
        answer = client.post("/queues/queues/mail/pause", headers={"X-User": "ana"}, data=form)
        assert (answer.status_code, answer.location.partition("?")[0]) == (303, "/queues/queues/mail"), answer.text
        assert shop.mail.stats().paused
        shop.queues.close()


def test_tasks_run_in_the_applications_context(shop: Shop) -> None:
    tasks = shop.queues.tasks(results=timedelta(hours=1))

    @tasks.task
    def who(greeting: str) -> str:
        return f"{greeting}, {current_app.name}"

    @shop.app.get("/hello")
    def hello() -> str:
        return str(who.push("hello").id)

    run = shop.app.test_cli_runner().invoke
    duerow.connect(shop.app.config["SQLALCHEMY_DATABASE_URI"], migrate=True).close()
    handle = who.handle(int(shop.app.test_client().get("/hello").text))
    assert run(args=["queues", "worker", "tasks", "--until", "idle"]).exit_code == 0
    assert handle.result(timeout=timedelta(0)) == "hello, shop"


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="DUEROW_URL"):
        FlaskQueues(Flask("nothing"))
    shop = Shop(f"sqlite:///{tmp_path}/none.db")
    with shop.app.app_context(), pytest.raises(SchemaOutdated):
        shop.mail.push(1)
    with pytest.raises(AttributeError):
        shop.mail._nothing  # noqa: B018 - reading it is what fails


def test_tasks_are_pushed_in_the_applications_context_before_any_request_and_in_no_other(shop: Shop) -> None:
    tasks = shop.queues.tasks(results=timedelta(hours=1))

    @tasks.task
    def double(number: int) -> int:
        return number * 2

    with pytest.raises(ConfigurationError, match=r"with app\.app_context"):
        double.push(1)
    other = Flask("other")
    other.config["DUEROW_URL"] = "memory://"
    shop.queues.init_app(other)
    handles = []
    for app in (shop.app, other):
        with app.app_context():
            shop.queues.migrate()
            handles.append(double.push(4))
            assert tasks.queue("tasks").count() == 1
    with shop.app.app_context():
        for worker in shop.queues.workers():
            worker.run("idle")
        assert handles[0].result(timeout=timedelta(0)) == 8
    with other.app_context():
        assert (handles[1].status(), tasks.queue("tasks").count()) == ("waiting", 1)
        shop.queues.close()


def test_several_tasks_may_share_a_queue(shop: Shop) -> None:
    told: list[str] = []
    first, second = shop.queues.tasks(), shop.queues.tasks()

    @first.task
    def one() -> None:
        told.append("one")

    @second.task
    def two() -> None:
        told.append("two")

    @second.callback
    def both(outcomes: list[duerow.TaskOutcome]) -> None:
        told.append("both")

    @first.callback
    def never(outcomes: list[duerow.TaskOutcome]) -> None: ...

    with shop.app.app_context():
        shop.queues.migrate()
        one.push()
        second.push_batch([two.draft()], both)
        while len(told) < 3:
            asyncio.run(run_all(shop.queues.workers("tasks"), "idle"))
        assert sorted(told) == ["both", "one", "two"]
        assert shop.queues.database.queue("tasks/parts/sets").count("dead") == 0


def test_systemd_and_a_file_are_told_how_the_workers_are(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, seen = tmp_path / "health", []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))

        @shop.queues.queue("seen").handler
        def look(message: Any) -> None:
            seen.append(file.exists())

        with shop.app.app_context():
            shop.queues.migrate()
            shop.queues.database.queue("seen").push(1)
        run = shop.app.test_cli_runner().invoke
        done = run(args=["queues", "worker", "--until", "idle", "--health-file", str(file)])
        told = [heard.recv(4096).decode().splitlines()]
        while told[-1] != ["STOPPING=1"]:
            told.append(heard.recv(4096).decode().splitlines())
    assert (done.exit_code, seen, file.exists()) == (0, [True], False)
    assert "WATCHDOG=1" in told[0]
