"""The workers of a Django project, and how they use Django's connections."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from django.apps import apps
from django.db import connections, reset_queries

from duerow.contrib.django.database import DjangoDatabase
from duerow.sync.tasks import Tasks
from duerow.sync.worker import Worker


def django_connections(message: Any, call_next: Callable[[Any], Any]) -> Any:
    """Middleware that closes broken and old connections around each message, as Django does around a request."""
    reset_queries()
    _close_old_connections()
    try:
        return call_next(message)
    finally:
        _close_old_connections()


def _close_old_connections() -> None:
    """Close connections as Django does, except those with a transaction, which may be a handler's or a test's."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


def project_tasks() -> list[Tasks]:
    """Return the `duerow.Tasks` at the top level of the loaded modules `queues` and `tasks` of all apps."""
    found: dict[int, Tasks] = {}
    for app in apps.get_app_configs():
        for name in ("queues", "tasks"):
            module = sys.modules.get(f"{app.name}.{name}")
            # Only types are compared: other access may trigger a proxy.
            named = [one for one in vars(module).values() if type(one) is Tasks] if module else []
            found.update({id(one): one for one in named})
    return list(found.values())


def task_workers(names: set[str], **options: Any) -> list[Worker]:
    """Return a worker for each `duerow.Tasks` of the project.

    Args:
        names: only tasks of these queues; empty: all.
        options: options of the workers.
    """
    workers = []
    for tasks in project_tasks():
        queues = {task.queue for task in tasks.definitions.values()}
        wanted = sorted(queues & names if names else queues)
        if wanted:
            workers.append(tasks.worker(wanted, middleware=[django_connections], **options))
    return workers


def handled_workers(queues: DjangoDatabase, names: set[str], **options: Any) -> list[Worker]:
    """Return a worker for each queue that has a handler.

    Args:
        queues: the database.
        names: only these queues; empty: all.
        options: options of the workers, which override those of `@queue.handler(…)`.
    """
    workers = []
    for queue in queues.handled.values():
        if names and queue.name not in names:
            continue
        said = {**queue.handled_by.options, **options}
        layers = [*said.pop("middleware", ()), django_connections]
        workers.append(Worker(queue, queue.handled_by.function, middleware=layers, **said))
    return workers
