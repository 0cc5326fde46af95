"""Helpers for the tests of a Django project: run or inspect what was pushed, and start with empty queues.

A `TestCase` needs no preparation: messages are pushed in the test's transaction, and disappear when it ends. Only a
`TransactionTestCase`, which commits, needs `EmptyQueues`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from django.apps import apps
from django.db import connections, transaction
from django.test import TransactionTestCase

from duerow.contrib.django.database import database
from duerow.contrib.django.workers import project_tasks
from duerow.message import Message
from duerow.plan import Plan
from duerow.queue.handler import HandledBy
from duerow.stores.sql.statements import Statement
from duerow.testing import Handled, MovableClock, drain


def run_handlers(using: str | None = None, *, clock: MovableClock | None = None, raising: bool = True) -> list[Handled]:
    """Hand due messages to the handlers of their queues, in this thread, until nothing is due; return the turns.

    Handlers and `duerow.Tasks` are found in the same way as by `manage.py runworker`.

    Args:
        using: the alias of the database; default: that of DUEROW.
        clock: the clock of the queues, to move it forward, if they have one.
        raising: whether to raise a handler's exception.
    """
    apps.get_app_config("duerow").discover()
    queues = database(using)
    handlers = {one: _by_message(one.handled_by, queues.alias) for one in queues.handled.values()}
    for tasks in project_tasks():
        if tasks.database is queues:
            handlers |= tasks.handlers() if tasks.definitions else {}
    return drain(handlers, clock=clock, raising=raising)


def _by_message(handled: HandledBy, alias: str) -> Callable[[Message[Any]], Any]:
    """Return a handler that is called with one message and nothing else."""
    if handled.options.get("whole_batch"):

        def batch(message: Message[Any]) -> Any:
            outcome = handled.function([message])
            return outcome[0] if outcome else None

        return batch
    if handled.options.get("transactional"):

        def within(message: Message[Any]) -> Any:
            with transaction.atomic(using=alias):
                return handled.function(message, connections[alias])

        return within
    return handled.function


def run_tasks(backend: str = "default", *queue_names: str, raising: bool = False) -> list[Any]:
    """Run the tasks that are due, in this thread, until none is due; return their results.

    Args:
        backend: the alias of the backend in TASKS.
        queue_names: the queues; default: those of QUEUES.
        raising: whether to raise a task's exception.
    """
    from duerow.contrib.django.task_results import is_task, result_id

    tasks = _backend(backend)
    handlers: Mapping[Any, Any] = {tasks.queue(name): tasks.run for name in queue_names or sorted(tasks.queues)}
    turns = drain(handlers, raising=raising)
    names = {tasks.queue(name).name: name for name in queue_names or tasks.queues}
    done = [turn.message for turn in turns if is_task(turn.message.payload)]
    return [tasks.get_result(one) for one in dict.fromkeys(result_id(names[one.queue], one.id) for one in done)]


def enqueued_tasks(backend: str = "default", *queue_names: str) -> list[Any]:
    """Return the results of the waiting tasks, in the order in which they were enqueued."""
    tasks = _backend(backend)
    waiting: list[tuple[Message[Any], str]] = []
    for name in queue_names or sorted(tasks.queues):
        waiting += [(message, name) for message in tasks.queue(name).find("status in ('new', 'error')", limit=10_000)]
    return [tasks.get_result(f"{name}:{message.id}") for message, name in sorted(waiting, key=lambda one: one[0].id)]


def empty_queues(using: str | None = None) -> None:
    """Remove all messages, and everything else in the tables of the queues."""
    queues = database(using)
    store: Any = queues.store
    tables = store.context.tables
    connection = connections[queues.alias]
    with connection.cursor() as cursor:
        for table in tables.message.metadata.tables.values():
            there = table is not tables.version and queues.run(lambda table=table: _is_there(store.context, table))
            if there:
                name = ".".join(map(connection.ops.quote_name, filter(None, (table.schema, table.name))))
                cursor.execute(f"DELETE FROM {name}")  # noqa: S608 - the names of duerow's own tables


def close_queues(using: str | None = None) -> None:
    """Close duerow's own connections, which would prevent Django from removing its test database."""
    database(using).close()
    views = sys.modules.get("duerow.contrib.django.views")
    if views is not None:
        views.close_dashboards()


def _is_there(context: Any, table: Any) -> Plan[bool]:
    """Return whether the database has a table; some tables exist only during a transaction."""
    return bool((yield context.step(Statement(context.dialect.table_exists(table), kept=False), {})))


class EmptyQueues(TransactionTestCase):
    """A test case whose tests commit, but leave no messages for the next test."""

    def _fixture_teardown(self) -> None:
        empty_queues()
        close_queues()
        super()._fixture_teardown()


def _backend(alias: str) -> Any:
    from duerow.contrib.django.framework import task_backends

    return task_backends[alias]
