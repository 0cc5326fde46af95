"""manage.py runworker: run the handlers of the project's queues, and Django's tasks."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import django
from django.apps import apps
from django.core.management.base import BaseCommand, CommandError
from django.utils import autoreload

from duerow.cli.workers import run_all
from duerow.contrib.django.database import database, databases
from duerow.contrib.django.workers import handled_workers, project_tasks, task_workers
from duerow.errors import DuerowError
from duerow.sync.worker import Worker
from duerow.telemetry.liveness import reported, reporters_of
from duerow.telemetry.probes import prepare, probed

STOPPING = 10.0
"""Seconds that running handlers have to finish before a reload."""


class Command(BaseCommand):
    """Runs workers until SIGTERM or Ctrl-C; under systemd, reports their state."""

    help = (
        "Run the handlers of queues and the duerow.Tasks declared in the modules `queues` and `tasks` of the project's "
        "apps, and the tasks of Django's own task framework."
    )
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the command's options."""
        parser.add_argument("--queue", action="append", default=[], metavar="NAME", help="Only this queue; repeatable.")
        parser.add_argument(
            "--concurrency", type=int, metavar="N", help="How many handlers each worker runs at once. Default: 1."
        )
        parser.add_argument("--until", choices=["idle", "empty"], help="End when nothing is due, or nothing is left.")
        parser.add_argument("--reload", action="store_true", help="Restart whenever a file of the project changes.")
        parser.add_argument("--health-port", type=int, metavar="PORT", help="Answer /healthz and /readyz on this port.")
        parser.add_argument(
            "--health-file", metavar="FILE", help="Write this file every 5 s while the workers are alive, for probes."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the workers; with --reload, restart them after each change."""
        if options["reload"]:
            autoreload.run_with_reloader(self._run_reloaded, **options)
        else:
            self._run(**options)

    def _run_reloaded(self, **options: Any) -> None:
        """Like `_run`, but in a thread: errors are printed here, and end the process."""
        autoreload.raise_last_exception()
        try:
            self._run(**options)
        except CommandError as error:
            self.stderr.write(str(error), self.style.ERROR)
            os._exit(1)

    def _run(self, **options: Any) -> None:
        _log_to_stderr()
        try:
            workers = self._workers(options)
            for queues in databases():
                if queues.handled or queues is database():
                    queues.run(queues.store.schema.check)
            self._tell(workers)
            if options["reload"]:
                _stop_before_reload(workers)
            port = options["health_port"]
            if port is not None:
                prepare()
            place = None if port is None else ("0.0.0.0", port)  # noqa: S104 - probes come from other machines
            file = options["health_file"]
            with probed(workers, place), reported(workers, reporters_of(file and Path(file), os.environ)):
                asyncio.run(run_all(workers, options["until"]))
        except DuerowError as error:
            raise CommandError(str(error)) from error

    def _workers(self, options: dict[str, Any]) -> list[Worker]:
        """Return the workers of the project.

        Raises:
            CommandError: there are none.
        """
        apps.get_app_config("duerow").discover()
        names = set(options["queue"])
        said = {} if options["concurrency"] is None else {"concurrency": options["concurrency"]}
        workers = [worker for one in databases() for worker in handled_workers(one, names, **said)]
        workers += task_workers(names, **said)
        known = {queue.name for one in databases() for queue in one.handled.values()}
        known |= {task.queue for tasks in project_tasks() for task in tasks.definitions.values()}
        for backend in _backends():
            wanted = sorted(names & backend.queues if backend.queues else names - known)
            if wanted or not names:
                workers.append(backend.worker(wanted, **said))
                known |= set(wanted)
        if missing := sorted(names - known):
            raise CommandError(
                f"no app has a handler, tasks or a task backend for {', '.join(missing)}; they are found in the "
                "modules `queues` and `tasks` of INSTALLED_APPS"
            )
        if not workers:
            raise CommandError(
                "there is nothing to run: declare handlers with @queue.handler in the module `queues` of an app, or "
                "add duerow.contrib.django.tasks.DuerowBackend to TASKS"
            )
        return workers

    def _tell(self, workers: list[Worker]) -> None:
        names = ", ".join(worker.queue.name for worker in workers)
        self.stderr.write(f"duerow is working on {names}; press Ctrl-C to stop", self.style.NOTICE)


def _log_to_stderr() -> None:
    """Log what workers do, unless the project's LOGGING configures that; Django's own logging is left alone."""
    logger = logging.getLogger("duerow")
    if not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-8s %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)


def _backends() -> list[Any]:
    """Return the duerow backends of Django's task framework."""
    if django.VERSION < (6, 0) and find_spec("django_tasks") is None:
        return []
    from duerow.contrib.django.framework import duerow_backends
    from duerow.contrib.django.tasks import DuerowBackend

    return [one for one in duerow_backends(DuerowBackend).values() if not one.at_once]


def _stop_before_reload(workers: list[Worker]) -> None:
    """Let running handlers finish before this process is replaced, if they do not take too long."""
    running = threading.current_thread()

    def stop(*args: Any, **kwargs: Any) -> None:
        for worker in workers:
            worker.stop()
        if threading.current_thread() is not running:
            running.join(STOPPING)

    autoreload.file_changed.connect(stop, weak=False)
    atexit.register(stop)
