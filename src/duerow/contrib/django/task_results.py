"""The result of a task, read from its message and from the history of its queue."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string

from duerow.contrib.django.framework import Task, TaskError, TaskResult, TaskResultStatus
from duerow.message import Failure, Message
from duerow.queue.history import Event

ENQUEUED: Final = "enqueued-at"
"""The header that says when the task was enqueued."""

RUN_AFTER: Final = "run-after"
"""The header with the earliest time at which it may run, if one was given."""

RETURNED: Final = "return_value"
"""The member of the payload in the history that holds what the function returned."""


def written(moment: datetime) -> str:
    """Return a time as a header stores it."""
    return moment.isoformat()


def read(header: Any) -> datetime | None:
    """Return the time in a header."""
    return None if header is None else datetime.fromisoformat(str(header))


def local(moment: datetime | None) -> datetime | None:
    """Return one of duerow's times, in UTC, in the form that the project uses."""
    if moment is None or settings.USE_TZ:
        return moment
    return timezone.make_naive(moment)


def result_id(queue: str, id: int) -> str:
    """Return the id of a result: the queue and the message."""
    return f"{queue}:{id}"


def parsed_id(result_id: object) -> tuple[str, int] | None:
    """Return the queue and the message of a result's id; None if it is not one of duerow's."""
    queue, colon, number = str(result_id).rpartition(":")
    if not colon or not queue or not number.isdecimal() or not number.isascii():
        return None
    return (queue, int(number)) if int(number) < 1 << 63 else None


def is_task(payload: Any) -> bool:
    """Return whether a message was pushed by the backend."""
    return isinstance(payload, dict) and {"task", "args", "kwargs"} <= set(payload)


def new_result(task: Task, id: str, args: Any, kwargs: Any, enqueued_at: datetime) -> TaskResult:
    """Return the result of a task that was enqueued just now."""
    return TaskResult(
        task=task,
        id=id,
        status=TaskResultStatus.READY,
        enqueued_at=enqueued_at,
        started_at=None,
        finished_at=None,
        last_attempted_at=None,
        args=args,
        kwargs=kwargs,
        backend=task.backend,
        errors=[],
        worker_ids=[],
    )


def found_result(alias: str, queue_name: str, message: Message | None, turns: Sequence[Event]) -> TaskResult:
    """Return the result of a task.

    Args:
        alias: the backend.
        queue_name: the backend's name for its queue.
        message: its message, if it still exists.
        turns: its turns, latest first; at least one if there is no message.
    """
    source: Message | Event = turns[0] if message is None else message
    ended = next((turn for turn in turns if turn.outcome == "done"), None)
    turns = list(reversed(turns))
    if ended is not None:
        message = None
    status = _status(message, ended)
    started = [turn.started_at for turn in turns]
    workers = [turn.worker or "" for turn in turns]
    if status == TaskResultStatus.RUNNING and message is not None:
        started += [one for one in (message.last_attempt_at,) if one is not None]
        workers.append(message.leased_by or "")
    errors = [error_of(turn.error) for turn in turns if turn.error is not None and turn.outcome != "done"]
    if not errors and message is not None and message.last_error is not None:  # kept longer than its turns
        errors = [error_of(message.last_error)]
        workers = workers or [""] * message.attempts
    finished = status in (TaskResultStatus.SUCCESSFUL, TaskResultStatus.FAILED) and turns
    result = TaskResult(
        task=task_of(alias, queue_name, source),
        id=result_id(queue_name, source.id),
        status=status,
        enqueued_at=read(source.headers.get(ENQUEUED)),
        started_at=local(started[0]) if started else None,
        finished_at=local(turns[-1].finished_at) if finished else None,
        last_attempted_at=local(started[-1]) if started else None,
        args=source.payload["args"],
        kwargs=source.payload["kwargs"],
        backend=alias,
        errors=errors,
        worker_ids=workers,
    )
    if ended is not None:
        object.__setattr__(result, "_return_value", ended.payload.get(RETURNED))
    return result


def task_of(alias: str, queue_name: str, source: Message | Event) -> Task:
    """Return the task that was enqueued.

    Raises:
        ImportError: the function no longer exists.
    """
    task = import_string(source.payload["task"])
    if not isinstance(task, Task):
        raise ImportError(f"{source.payload['task']} is not a task")
    changes: dict[str, Any] = {"queue_name": queue_name, "backend": alias, "priority": -source.priority}
    if source.headers.get(RUN_AFTER) is not None:
        changes["run_after"] = read(source.headers[RUN_AFTER])
    return task.using(**changes)


def error_of(failure: Failure) -> TaskError:
    """Return why an attempt failed."""
    path = failure.type if "." in failure.type else f"builtins.{failure.type}"
    return TaskError(exception_class_path=path, traceback=failure.traceback or failure.message)


def _status(message: Message | None, ended: Event | None) -> TaskResultStatus:
    if ended is not None:
        return TaskResultStatus.SUCCESSFUL
    if message is None or message.status == "dead":
        return TaskResultStatus.FAILED
    return TaskResultStatus.READY if message.leased_by is None else TaskResultStatus.RUNNING
