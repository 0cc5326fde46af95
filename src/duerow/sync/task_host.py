# Generated from ../aio/task_host.py by tools/generate_sync.py; edit that file instead.
"""What the tasks of an application share: their database, their definitions and their queues."""

from __future__ import annotations

from typing import Any, Final

from duerow.errors import ConfigurationError, shown
from duerow.message import Draft, check_queue_name
from duerow.queue import mapping
from duerow.queue.beside import RESULTS, WINDOWS
from duerow.retry import RetryPolicy, as_policy
from duerow.store import Entry
from duerow.sync.database import Database
from duerow.sync.queue import Queue
from duerow.tasks import batch
from duerow.tasks.definition import TaskCalls, TaskDefinition

_TERMS: Final = ("lease", "retry", "dead_letter", "history", "remember_keys", "indexed", "max_payload_bytes")


class TaskHost:
    """The queues of tasks in a database; see `Tasks`.

    Attributes:
        definitions: the tasks, by name.
        callbacks: the tasks that batches may call when all of their calls have ended.
        trying: the `TaskTrial` that receives pushed calls; None: they go to the database.
        parts: the queue for the outcomes of calls in batches.
        sets: the queue in which the outcomes are gathered.
    """

    def __init__(self, database: Database | None, first: str) -> None:
        self._database: Database | None = None
        self.parts, self.sets = batch.queues(check_queue_name(first))
        self.callbacks: dict[str, TaskDefinition] = {}
        self.trying: Any = None
        self.definitions: dict[str, TaskDefinition] = {}
        self._terms: dict[str, dict[str, Any]] = {}
        self._queues: dict[str, Queue[Any]] = {}
        if database is not None:
            self.use(database)

    @property
    def database(self) -> Database:
        """The database of the queues; raises ConfigurationError if none was given yet."""
        if self._database is None:
            raise ConfigurationError(
                "these tasks have no database yet: pass it, Tasks(db), or call tasks.use(db) first"
            )
        return self._database

    def use(self, database: Database) -> None:
        """Push and run the tasks in this database from now on, for tasks that are declared before it is opened."""
        if not isinstance(database, Database):
            raise ConfigurationError(
                f"tasks take a database opened with `connect` from the same module as Tasks, not {shown(database)}"
            )
        self._database = database
        self._queues.clear()

    def configure(self, queue: str, **terms: Any) -> None:
        """Set the options with which a queue is opened, as for `Database.queue`.

        Args:
            queue: its name.
            terms: lease, retry, dead_letter, history, remember_keys, indexed, max_payload_bytes.

        Raises:
            ConfigurationError: an option is not one of these, or the queue is already in use.
        """
        called = check_queue_name(queue)
        if unknown := terms.keys() - _TERMS:
            raise ConfigurationError(
                f"the queue of tasks {called!r} does not take {sorted(unknown)[0]}=; its options are "
                f"{', '.join(_TERMS)}"
            )
        if called in self._queues:
            raise ConfigurationError(f"queue {called!r} is already in use; configure it before its tasks are pushed")
        self._terms[called] = terms

    def queue(self, name: str) -> Queue[Any]:
        """Return the queue of this name, whose payloads are calls to its tasks."""
        database, opened = self.database, self._queues.get(name)
        if opened is None or opened.database is not database:
            check_queue_name(check_queue_name(name) + RESULTS)
            calls: Any = TaskCalls(name, self.definitions)
            opened = self._queues[name] = database.queue(name, payload=calls, **self._terms.get(name, {}))
        return opened

    def gathering(self) -> list[Queue[Any]]:
        """Return the queues that gather the outcomes of batches; none if no task can be a callback."""
        return [self.database.queue(self.parts), self.database.queue(self.sets)] if self.callbacks else []

    def retry_of(self, task: TaskDefinition) -> RetryPolicy:
        """Return the retry policy of a task as declared by the program, regardless of its database."""
        return task.retry or as_policy(self._terms.get(task.queue, {}).get("retry"))

    def add(self, task: TaskDefinition) -> None:
        """Declare a task.

        Raises:
            ConfigurationError: another function has its name.
        """
        before = self.definitions.get(task.name)
        if before is not None and _place(before) != _place(task):
            raise ConfigurationError(
                f"two tasks are called {task.name!r}: {'.'.join(_place(before))} and {'.'.join(_place(task))}; give "
                "one of them another name with name="
            )
        self.definitions[task.name] = task

    def expire_results(self) -> None:
        """Have maintenance remove the results of the tasks when they expire."""
        kept = {task.queue + RESULTS for task in self.definitions.values() if task.results is not None}
        noted = {task.queue + WINDOWS for task in self.definitions.values() if task.window is not None}
        self.database.expiring.update(kept | noted)

    def entry_of(self, draft: Draft) -> Entry:
        """Return a draft in the store's form, for the queue that it names."""
        return mapping.draft_entry(draft, None, payloads=self.database.queue(str(draft.queue)).payloads.elsewhere)


def _place(task: TaskDefinition) -> tuple[str, str]:
    return task.function.__module__, task.function.__qualname__
