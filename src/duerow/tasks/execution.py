"""Run a task: call its function with a message's arguments, and decide how the turn ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from contextlib import suppress
from contextvars import copy_context
from datetime import datetime
from typing import Any, Final

from duerow.errors import CodecError, ConfigurationError
from duerow.message import Message
from duerow.retry import RetryPolicy
from duerow.settlement import Bury, Commit, Move, Retry, Settlement, decide, mistake
from duerow.tasks import batch, outcome
from duerow.tasks.definition import TaskDefinition
from duerow.worker.attempt import Attempt, current


class _Loops(threading.local):
    """An event loop for each thread of handlers, for async functions that a blocking worker runs."""

    runner: asyncio.Runner | None = None

    def run(self, coroutine: Any) -> Any:
        """Run a coroutine to its end on this thread's loop, which is kept for the next coroutine."""
        if self.runner is None:
            self.runner = asyncio.Runner()
        return self.runner.run(coroutine, context=copy_context())  # in which `current` is that of this call


_LOOPS: Final = _Loops()


def call(task: TaskDefinition, message: Message) -> Any:
    """Call a task's function with the arguments of a message; an async one runs on this thread's event loop."""
    returned = task.parameters.call(task.function, message.payload.arguments)
    return _LOOPS.run(_until_over(returned, current())) if task.is_async else returned


def call_now(task: TaskDefinition, arguments: Mapping[str, Any]) -> Any:
    """Call a task's function here, outside of any worker."""
    returned = task.parameters.call(task.function, arguments)
    return _LOOPS.run(returned) if task.is_async else returned


async def acall_now(task: TaskDefinition, arguments: Mapping[str, Any]) -> Any:
    """Call a task's function here, outside of any worker."""
    returned = task.parameters.call(task.function, arguments)
    return await returned if task.is_async else returned


async def acall(task: TaskDefinition, message: Message) -> Any:
    """Call a task's function with the arguments of a message; a plain one runs in a thread, so it blocks no loop."""
    if task.is_async:
        return await _until_over(task.parameters.call(task.function, message.payload.arguments), current())
    return await asyncio.to_thread(task.parameters.call, task.function, message.payload.arguments)


async def _until_over(coroutine: Any, attempt: Attempt | None) -> Any:
    """Await a coroutine; if its message is no longer its own, cancel it and raise the reason."""
    if attempt is None:
        return await coroutine
    loop, running = asyncio.get_running_loop(), asyncio.ensure_future(coroutine)

    def cancel(_: Exception) -> None:
        with suppress(RuntimeError):  # the loop has ended, and the coroutine with it
            loop.call_soon_threadsafe(running.cancel)

    attempt.when_over(cancel)
    try:
        return await running
    except asyncio.CancelledError:
        running.cancel()
        attempt.check()
        raise


def check_attempts(task: TaskDefinition, message: Message) -> None:
    """Raise Bury if the task's attempts are used up, because the worker died during the last one."""
    limit = None if task.retry is None else task.retry.limit
    if limit is not None and message.attempts > limit:
        why = "no reason is known" if message.last_error is None else message.last_error.message
        raise Bury(f"attempt {limit} of {limit} did not finish: {why}")


def conclude(
    task: TaskDefinition, message: Message, ended: object, policy: RetryPolicy, now: datetime, parts: str | None
) -> object:
    """Return how the turn ends.

    If the result cannot be stored, another attempt would not help, so the message is buried.

    Args:
        task: the task of the message.
        message: the message.
        ended: what its function returned or raised.
        policy: the retry policy.
        now: the time.
        parts: the queue of the parts of batches; None: the store has no transactions, so nothing else can be pushed.
    """
    settlement: object
    how: outcome.Outcome | None = None
    if ends_turn(ended) or mistake(ended) is not None:
        settlement = decide(message, ended, task.retry or policy)
    elif task.results is None and batch.BATCH not in message.headers:
        return None
    else:
        try:
            how = outcome.done(task, message, ended, now)
            settlement = outcome.kept(task, how)
        except CodecError as error:
            settlement = Bury(error)
    if parts is None:
        return settlement
    if isinstance(settlement, Bury):
        how = outcome.failed(task, message, settlement, now)
        if task.results is not None:
            beside = outcome.beside(task, message.id, how)
            settlement = Bury(settlement.reason, (*settlement.then, beside))
    if how is None and isinstance(settlement, Commit):  # the function has ended the turn itself
        how = outcome.done(task, message, None, now)
    if how is not None and isinstance(settlement, Settlement):
        part = batch.part_of(message.id, message.headers, how, parts)
        return settlement if part is None else batch.with_part(settlement, part)
    return settlement


def task_of(message: Message, tasks: dict[str, TaskDefinition]) -> TaskDefinition:
    """Return the task of a message; raise ConfigurationError if its payload is not a call."""
    task = tasks.get(getattr(message.payload, "task", ""))
    if task is None:
        raise ConfigurationError(f"message {message.id} in queue {message.queue!r} is not a call to a task")
    return task


def ends_turn(ended: object) -> bool:
    """Return whether what a function returned or raised ends its turn, and is not a result."""
    moves = isinstance(ended, list) and any(isinstance(part, Move) for part in ended)
    return moves or isinstance(ended, BaseException | Settlement | Retry)
