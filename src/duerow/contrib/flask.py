"""Queues in a Flask application, as an extension: declared at import, opened with the application, run from its CLI.

queues = FlaskQueues()
mail = queues.queue("mail")

@mail.handler
def send(message): ...

def create_app():
    app = Flask("shop")
    app.config["DUEROW_URL"] = "postgresql://app@localhost/shop"
    queues.init_app(app)
    return app
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

import click
from flask import Flask, Response, abort, current_app, has_app_context, request
from flask.cli import AppGroup, with_appcontext

from duerow.contrib.bridge import BridgedDashboard, scope_of
from duerow.contrib.declared import DeclaredQueue, DeclaredQueues
from duerow.errors import ConfigurationError, DuerowError, SchemaOutdated
from duerow.sync.database import Database, connect
from duerow.sync.queue import Queue
from duerow.sync.tasks import Tasks
from duerow.sync.worker import Worker
from duerow.telemetry.liveness import reported, reporters_of

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

Who = Callable[[], Any]
"""Returns the `duerow.web.Viewer` who made the current Flask request, or None."""


class FlaskQueue(DeclaredQueue):
    """A queue of an application; in the application's context it has all methods of `duerow.Queue`."""

    queues: FlaskQueues

    @property
    def opened(self) -> Queue[Any]:
        """The `duerow.Queue` of the current application."""
        return self.queues.opened(self)

    def __getattr__(self, name: str) -> Any:
        """Return the attribute with this name of the current application's queue."""
        if name.startswith("_") or name == "queues":
            raise AttributeError(name)
        return getattr(self.opened, name)


class FlaskTasks(Tasks):
    """The tasks of an application: pushed in its context, to the database of its queues.

    All tasks of one `FlaskQueues` know each other, so they may share queues, and their names must differ.
    """

    def __init__(self, queues: FlaskQueues, first: FlaskTasks | None, settings: dict[str, Any]) -> None:
        self._of = queues
        super().__init__(**settings)
        if first is not None:
            self.definitions, self.callbacks = first.definitions, first.callbacks
            self.parts, self.sets, self._terms = first.parts, first.sets, first._terms

    @property
    def database(self) -> Database:
        """The database of the current application; outside an application context, the one opened last."""
        return self._of.database_of_tasks()


class FlaskQueues(DeclaredQueues[FlaskQueue, FlaskTasks]):
    """The queues of an application.

    The application's configuration names their database in `DUEROW_URL`, or by default in `SQLALCHEMY_DATABASE_URI`.
    `DUEROW_OPTIONS` has further arguments of `duerow.connect`.

    Args:
        app: the application; if it is not given here, call `init_app` later.
    """

    def __init__(self, app: Flask | None = None) -> None:
        super().__init__(FlaskQueue)
        self._databases: WeakKeyDictionary[Flask, Database] = WeakKeyDictionary()
        self._queues: WeakKeyDictionary[Flask, dict[str, Queue[Any]]] = WeakKeyDictionary()
        self._dashboards: WeakKeyDictionary[Flask, BridgedDashboard] = WeakKeyDictionary()
        self._opening = threading.Lock()
        self._last: Database | None = None
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Connect the queues to an application, and add the commands `flask queues …`.

        Raises:
            ConfigurationError: the application's configuration names no database.
        """
        _url(app)
        app.extensions["duerow"] = self
        app.cli.add_command(_commands(self))

    def _make_tasks(self, settings: dict[str, Any]) -> FlaskTasks:
        return FlaskTasks(self, self._tasks[0] if self._tasks else None, settings)

    def database_of_tasks(self) -> Database:
        """Return the database that the tasks currently use.

        Raises:
            ConfigurationError: there is no application context, and no database was opened yet.
        """
        mine: object = current_app.extensions.get("duerow") if has_app_context() else None
        if mine is self:
            return self.database
        if self._last is None:
            raise ConfigurationError(
                "these tasks belong to an application: push them in its context, with app.app_context()"
            )
        return self._last

    def _declare(self, queue: FlaskQueue) -> None:
        queue.queues = self

    @property
    def database(self) -> Database:
        """The database of the current application, opened when it is first used.

        Raises:
            ConfigurationError: the application was not given to `init_app`.
            SchemaOutdated, SchemaNewer: the tables do not match this version.
        """
        return self._open(migrate=False)

    def opened(self, declared: DeclaredQueue) -> Queue[Any]:
        """Return a declared queue of the current application."""
        database = self.database
        queues = self._queues.setdefault(_app(), {})
        queue = queues.get(declared.name)
        if queue is None:
            queue = queues[declared.name] = database.queue(declared.name, **declared.settings)
        return queue

    def migrate(self) -> list[str]:
        """Create or update the tables of the current application; return the names of the migrations."""
        return self._open(migrate=True).migrate()

    def workers(self, *names: str, **options: Any) -> list[Worker]:
        """Return the workers of the current application; each message is handled in its own application context.

        Args:
            names: only these queues; default: all that have a handler.
            options: options of the workers, which override those of `@queue.handler(…)`.

        Raises:
            ConfigurationError: a queue with one of these names has no handler, or no queue has one.
        """
        handled = {one.name: one for one in self._declared.values() if one.handled_by is not None}
        called = {task.queue: tasks for tasks in self._tasks[:1] for task in tasks.definitions.values()}
        if missing := sorted(set(names) - set(handled) - set(called)):
            raise ConfigurationError(f"no handler is declared for {', '.join(missing)}: put @queue.handler above it")
        if not handled and not called:
            raise ConfigurationError("no queue has a handler: put @queue.handler above a function")
        app = _app()

        def in_context(message: Any, call_next: Callable[[Any], Any]) -> Any:
            with app.app_context():
                return call_next(message)

        workers = []
        for name in names or (*handled, *called):
            if name in called:
                workers.append(called[name].worker([name], middleware=[in_context], **options))
                continue
            function, said = handled[name].handled_by or (None, {})
            said = {**said, **options}
            layers = [in_context, *said.pop("middleware", ())]
            workers.append(Worker(self.opened(handled[name]), function, middleware=layers, **said))  # type: ignore[arg-type]
        return workers

    def close(self) -> None:
        """Close the connections of the current application; the next use reopens them, except the dashboard's."""
        app = _app()
        with self._opening:
            database = self._databases.pop(app, None)
            self._queues.pop(app, None)
            dashboard = self._dashboards.pop(app, None)
            self._last = None if self._last is database else self._last
        if database is not None:
            database.close()
        if dashboard is not None:
            dashboard.close()

    def dashboard(self, app: Flask, who: Who, path: str = "/queues", **options: Any) -> None:
        """Show the dashboard at a path of an application.

        Args:
            app: the application.
            who: returns the `duerow.web.Viewer` who made the current Flask request, or None for a 401 response. It may
                also call `flask.abort` or similar functions.
            path: the path.
            options: see `duerow.web.application`.
        """
        bridge = BridgedDashboard(_url(app), app.config.get("DUEROW_OPTIONS", {}), options)
        self._dashboards[app] = bridge

        def show(page: str = "") -> Response:
            viewer = who()
            if viewer is None:
                abort(401)
            whole = f"{request.script_root}{request.path}"
            scope = scope_of(request.environ, f"{request.script_root}{path}", whole)
            scope["duerow.viewer"] = viewer
            answer = bridge.respond(scope, request.get_data())
            response = Response(answer.chunks, status=answer.status)
            response.headers.clear()
            response.headers.extend(answer.headers)
            return response

        app.add_url_rule(f"{path}/", "duerow", show, methods=METHODS)
        app.add_url_rule(f"{path}/<path:page>", "duerow_page", show, methods=METHODS)

    def _open(self, migrate: bool) -> Database:
        app = _app()
        database = self._databases.get(app)
        if database is not None:
            return database
        with self._opening:
            database = self._databases.get(app)
            if database is None:
                database = connect(_url(app), migrate=migrate, **app.config.get("DUEROW_OPTIONS", {}))
                self._databases[app] = self._last = database
            return database


def _app() -> Flask:
    return current_app._get_current_object()  # type: ignore[attr-defined,no-any-return]


def _url(app: Flask) -> str:
    url = app.config.get("DUEROW_URL") or app.config.get("SQLALCHEMY_DATABASE_URI")
    if not url:
        raise ConfigurationError(
            'the application does not name the database of its queues: set app.config["DUEROW_URL"]'
        )
    return str(url)


def _commands(queues: FlaskQueues) -> AppGroup:
    """Return the commands `flask queues …`."""
    group = AppGroup("queues", help="Work with the queues of this application.")

    @group.command("migrate")
    @with_appcontext
    def migrate() -> None:
        """Create or update the tables."""
        with _failing():
            queues.migrate()
        click.echo("the tables are up to date")

    @group.command("list")
    @with_appcontext
    def list_() -> None:
        """Print how many messages each queue has by status."""
        with _failing():
            for name in queues.database.known_queues():
                counts = queues.database.queue(name).count(by="status")
                told = [f"{count} {status}" for status, count in counts.items() if count]
                click.echo(f"{name}: {', '.join(told) or 'empty'}")

    @group.command("worker")
    @click.argument("names", nargs=-1, metavar="[QUEUE]...")
    @click.option("--concurrency", type=int, help="How many handlers run at once for each queue.")
    @click.option("--until", type=click.Choice(["idle", "empty"]), help="End when nothing is due, or nothing is left.")
    @click.option(
        "--health-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write this file every 5 s while the workers are alive, for probes.",
    )
    @with_appcontext
    def worker(names: tuple[str, ...], concurrency: int | None, until: Any, health_file: Path | None) -> None:
        """Run the handlers until SIGTERM or Ctrl-C; under systemd, report their state."""
        from duerow.cli.workers import run_all

        options = {} if concurrency is None else {"concurrency": concurrency}
        with _failing():
            workers = queues.workers(*names, **options)
            with reported(workers, reporters_of(health_file, os.environ)):
                asyncio.run(run_all(workers, until))

    return group


class _failing:
    """Turns a duerow error into one that the command line shows without a traceback."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, SchemaOutdated):
            raise click.ClickException(
                "the tables are missing or older than this duerow: run flask queues migrate"
            ) from error
        if isinstance(error, DuerowError):
            raise click.ClickException(str(error)) from error
