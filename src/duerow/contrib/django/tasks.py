"""A backend for Django's own tasks: `@task` functions become messages, and a worker runs them.

TASKS = {"default": {"BACKEND": "duerow.contrib.django.tasks.DuerowBackend", "QUEUES": ["default", "mail"]}}
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.core import checks
from django.utils import timezone

from duerow.contrib.django.database import DjangoDatabase, database
from duerow.contrib.django.framework import (
    BaseTaskBackend,
    InvalidTaskBackend,
    Task,
    TaskContext,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
    normalize_json,
    task_enqueued,
    task_finished,
    task_started,
)
from duerow.contrib.django.task_results import (
    ENQUEUED,
    RETURNED,
    RUN_AFTER,
    error_of,
    found_result,
    is_task,
    local,
    new_result,
    parsed_id,
    result_id,
    task_of,
    written,
)
from duerow.contrib.django.workers import django_connections
from duerow.errors import ConfigurationError, DuerowError
from duerow.message import Failure, Message, check_queue_name
from duerow.retry import RetryPolicy, fixed, limited
from duerow.settlement import Bury, Commit, Retry, Settlement, decide, failure
from duerow.sync.queue import Queue
from duerow.sync.worker import Worker
from duerow.worker.attempt import current

KEEP_RESULTS: Final = timedelta(days=7)
ONCE: Final[RetryPolicy] = limited(1, fixed(timedelta(0)))
"""Django does not define retries: a task that fails has failed, unless the project asks for more attempts."""

OPTIONS: Final = {"DATABASE", "PREFIX", "KEEP_RESULTS", "RETRY", "LEASE", "AT_ONCE"}
_TURNS: Final = 1_000
"""The maximum number of turns of a task that its result includes."""


class DuerowBackend(BaseTaskBackend):
    """Keeps tasks in queues of the project's database; a worker of `manage.py runworker` runs them.

    OPTIONS may contain:

    - `DATABASE`: the alias of the database; default: that of DUEROW.
    - `PREFIX`: a prefix for the names of its queues; default: none.
    - `KEEP_RESULTS`: how long results are kept, a timedelta; default: 7 days.
    - `RETRY`: the delays between attempts and how many attempts are allowed, such as `duerow.exponential()`; default:
      one attempt.
    - `LEASE`: how long a worker may be silent before another one takes its task, a timedelta; default: one minute.
    - `AT_ONCE`: run each task as soon as it is enqueued, in the same thread and transaction; for tests.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self._queues: dict[str, Queue[Any]] = {}

    @property
    def at_once(self) -> bool:
        """Whether tasks run as soon as they are enqueued."""
        return bool(self.options.get("AT_ONCE"))

    @property
    def database(self) -> DjangoDatabase:
        """The database that holds its queues."""
        return database(self.options.get("DATABASE"))

    def queue(self, queue_name: str) -> Queue[Any]:
        """Return the backend's queue with this name."""
        queue = self._queues.get(queue_name)
        if queue is None or queue.database is not self.database:
            queue = self._queues[queue_name] = self.database.queue(
                self.options.get("PREFIX", "") + queue_name,
                lease=self.options.get("LEASE", timedelta(minutes=1)),
                retry=self.options.get("RETRY", ONCE),
                history=self.options.get("KEEP_RESULTS", KEEP_RESULTS),
            )
        return queue

    # Enqueue.

    def enqueue(self, task: Task, args: Any, kwargs: Any) -> TaskResult:
        """Push a task; inside `atomic` it is committed or rolled back with everything else."""
        self.validate_task(task)
        payload = {
            "task": task.module_path,
            "args": normalize_json(list(args)),
            "kwargs": normalize_json(dict(kwargs)),
        }
        now = timezone.now()
        headers: dict[str, str | int | float | bool] = {ENQUEUED: written(now)}
        due = task.run_after
        if due is not None:
            headers[RUN_AFTER] = written(due)
            due = due if timezone.is_aware(due) else timezone.make_aware(due)
        queue = self.queue(task.queue_name)
        pushed = queue.push(payload, due=due, headers=headers, priority=-int(task.priority))
        result = new_result(task, result_id(task.queue_name, pushed.id), payload["args"], payload["kwargs"], now)
        task_enqueued.send(type(self), task_result=result)
        if self.at_once:
            from duerow.testing import drain

            drain({queue: self.run})
            result.refresh()
        return result

    # Results.

    def get_result(self, result_id: str) -> TaskResult:
        """Return the state and the result of a task.

        Raises:
            TaskResultDoesNotExist: there is no such task, or its result is no longer kept.
        """
        parsed = parsed_id(result_id)
        if parsed is None:
            raise TaskResultDoesNotExist(result_id)
        queue_name, id = parsed
        try:
            queue = self.queue(queue_name)
        except DuerowError as error:
            raise TaskResultDoesNotExist(result_id) from error
        message, turns = (
            queue.get(id),
            queue.history(id=id, limit=_TURNS),
        )  # in this order, because the task may end in between
        source = turns[0] if message is None and turns else message
        if source is None or not is_task(source.payload):
            raise TaskResultDoesNotExist(result_id)
        return found_result(self.alias, queue_name, message, turns)

    # Run.

    def worker(self, queue_names: Sequence[str] = (), **options: Any) -> Worker:
        """Return a worker that runs the tasks of some of the queues, or of all.

        Args:
            queue_names: names of the backend's queues; default: all of QUEUES.
            options: further options of the worker; see `duerow.Worker`.

        Raises:
            ConfigurationError: the backend has no list of queues, and no queue was named.
        """
        names = list(queue_names) or sorted(self.queues)
        if not names:
            raise ConfigurationError(
                f'TASKS[{self.alias!r}] takes queues of any name ("QUEUES": []): name the ones to run with --queue NAME'
            )
        layers = [*options.pop("middleware", ()), django_connections]
        return Worker([self.queue(name) for name in names], self.run, middleware=layers, **options)

    def run(self, message: Message[Any]) -> Settlement:
        """Run the task of a message, and return how its turn ends; for workers.

        Raises:
            Exception: whatever the task raised.
        """
        queue = self._queue_of(message)
        queue_name = queue.name.removeprefix(self.options.get("PREFIX", ""))
        result: TaskResult | None = None
        try:
            result = self._begun(message, queue, queue_name)
            task_started.send(sender=type(self), task_result=result)
            value = normalize_json(_called(result))
        except (Retry, Bury):
            raise
        except (Exception, SystemExit) as error:
            known = failure(error)
            assert known is not None  # noqa: S101 - there is an error
            path = f"{type(error).__module__}.{type(error).__qualname__}"
            told = Failure(path, known.message, known.traceback)
            error.duerow_failure = told  # type: ignore[union-attr]
            if result is not None and isinstance(decide(message, error, queue.retry), Bury):
                result.errors.append(error_of(told))
                self._finished(result, TaskResultStatus.FAILED)
            raise
        object.__setattr__(result, "_return_value", value)
        self._finished(result, TaskResultStatus.SUCCESSFUL)
        return Commit(payload={**message.payload, RETURNED: value})

    def _begun(self, message: Message[Any], queue: Queue[Any], queue_name: str) -> TaskResult:
        """Return the result of a task that is beginning."""
        if not is_task(message.payload):
            raise Bury(f"message {message.id} in queue {message.queue} was not pushed by Django's tasks")
        task = task_of(self.alias, queue_name, message)
        enqueued_at = message.headers.get(ENQUEUED)
        result = new_result(
            task,
            result_id(queue_name, message.id),
            message.payload["args"],
            message.payload["kwargs"],
            message.created_at if enqueued_at is None else timezone.datetime.fromisoformat(str(enqueued_at)),
        )
        earlier = list(reversed(queue.history(id=message.id, limit=_TURNS))) if message.attempts > 1 else []
        started = local(message.last_attempt_at) or timezone.now()
        first = local(earlier[0].started_at) if earlier else started
        attempt = current(message)
        worker = "" if attempt is None else attempt.reservation.message.leased_by or ""
        result.worker_ids.extend([turn.worker or "" for turn in earlier] + [worker])
        result.errors.extend(error_of(turn.error) for turn in earlier if turn.error is not None)
        for name, value in (
            ("started_at", first),
            ("last_attempted_at", started),
            ("status", TaskResultStatus.RUNNING),
        ):
            object.__setattr__(result, name, value)
        return result

    def _queue_of(self, message: Message[Any]) -> Queue[Any]:
        return self.queue(message.queue.removeprefix(self.options.get("PREFIX", "")))

    def _finished(self, result: TaskResult, status: TaskResultStatus) -> None:
        object.__setattr__(result, "finished_at", timezone.now())
        object.__setattr__(result, "status", status)
        task_finished.send(type(self), task_result=result)

    # Checks.

    def check(self, **kwargs: Any) -> list[checks.CheckMessage]:
        """Return the problems in the settings."""
        found: list[checks.CheckMessage] = []
        if "duerow.contrib.django" not in settings.INSTALLED_APPS:
            hint = "Add it, and run manage.py migrate."
            text = "The backend needs duerow.contrib.django in INSTALLED_APPS."
            found.append(checks.Error(text, hint=hint, id="duerow.E005"))
        if unknown := sorted(set(self.options) - OPTIONS):
            text = f"TASKS[{self.alias!r}] has no option {', '.join(unknown)}; it has {', '.join(sorted(OPTIONS))}."
            found.append(checks.Error(text, id="duerow.E006"))
        try:
            for name in self.queues or {"default"}:
                self.queue(check_queue_name(name))
        except (DuerowError, InvalidTaskBackend) as error:
            found.append(checks.Error(f"TASKS[{self.alias!r}]: {error}", id="duerow.E007"))
        return found


def _called(result: TaskResult) -> Any:
    """Call the function, with its context if it takes one."""
    context = [TaskContext(task_result=result)] if result.task.takes_context else []
    return result.task.call(*context, *result.args, **result.kwargs)
