"""The handle for a pushed task: its status, its result, and how to cancel it."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Final, Generic, TypeVar

from duerow.aio.task_host import TaskHost
from duerow.errors import ConfigurationError, StoreUnavailable, TimedOut
from duerow.message import Outcome as PushOutcome
from duerow.message import check_span
from duerow.payload.codec import decode_headers
from duerow.plan import Plan
from duerow.queue.beside import RESULTS
from duerow.store import Entry, Record
from duerow.tasks import outcome
from duerow.tasks.batch import part_of
from duerow.tasks.definition import TaskDefinition
from duerow.tasks.outcome import TaskState, TaskStatus
from duerow.worker.progress import Progress

R = TypeVar("R")
"""What the task's function returns."""

POLL_WOKEN: Final = 2.0
"""The longest interval, in seconds, between checks if pushes wake waiting callers."""

POLL_ALONE: Final = 1.0
"""The longest interval, in seconds, between checks otherwise."""

FIRST_POLL: Final = 0.02
"""Seconds until the second check; each wait is half as long again as the one before."""


class TaskHandle(Generic[R]):
    """A task that was pushed: it gives the status, the result and the progress, and cancels the task.

    Attributes:
        id: the id of its message.
        pushed: "created", or, if a live message had the key, "updated" or "ignored"; the id is then that message's.
        task: the task's name.
    """

    def __init__(self, host: TaskHost, task: TaskDefinition, id: int, pushed: PushOutcome = "created") -> None:
        self._host, self._definition = host, task
        self.id, self.pushed, self.task = id, pushed, task.name

    def __repr__(self) -> str:
        return f"<task {self.task!r}, message {self.id}>"

    async def state(self) -> TaskState:
        """Return what is known about the task: status, attempts, arguments, result or error, and times."""
        queue = self._host.queue(self._definition.queue)
        found = await self._host.database.run(
            lambda: outcome.find(queue.database.store, queue.name, queue.dead_letter, self.id)
        )
        return outcome.state(self._definition, self.id, found, queue.payloads)

    async def status(self) -> TaskStatus:
        """Return "waiting", "running", "done", "failed", "cancelled", or "unknown" if nothing is stored about it."""
        return (await self.state()).status

    async def result(self, timeout: timedelta | None = None) -> R:  # noqa: ASYNC109
        """Wait until the task has ended, and return what its function returned.

        The database wakes the caller if it can (PostgreSQL, SQLite, MongoDB, memory); otherwise this call polls at
        intervals that grow to a second.

        Args:
            timeout: how long to wait; None: no limit; `timedelta(0)`: not at all.

        Raises:
            TimedOut: it has not ended in time.
            TaskFailed: it failed for good; the error says why.
            TaskCancelled: it was cancelled.
            ResultMissing: its result was not kept, or is no longer kept.
            ConfigurationError: the task keeps no results.
        """
        if self._definition.results is None:
            raise ConfigurationError(
                f"task {self.task!r} keeps no results: declare it with results=timedelta(hours=1), or all tasks with "
                "Tasks(…, results=…)"
            )
        wait = None if timeout is None else check_span("timeout", timeout).total_seconds()
        known = await self.state()
        if not known.ended and wait != 0:
            known = await self._ended_within(wait)
        if not known.ended:
            raise TimedOut(f"task {self.task!r}, message {self.id}, did not end within {timeout}: it is {known.status}")
        value: R = known.result(self.task)
        return value

    async def cancel(self) -> bool:
        """Cancel the task, even while it runs; return whether it had not ended yet.

        A waiting task will never run. A running task is notified within a second or two: `duerow.current().cancelled`
        becomes true, and an async function is cancelled. Whatever it returns is ignored, and it is not tried again.
        """
        host, task = self._host, self._definition
        queue = host.queue(task.queue)
        how = outcome.cancelled(task, host.database.host_time())

        def notes(record: Record) -> list[Entry]:
            beside = None if task.results is None else outcome.beside(task, self.id, how)
            part = part_of(self.id, decode_headers(record.headers), how, host.parts)
            return [host.entry_of(draft) for draft in (beside, part) if draft is not None]

        def take_out() -> Plan[bool]:
            return (yield from outcome.cancel(queue.database.store, queue.name, queue.keeping, self.id, notes))

        cancelled: bool = await host.database.run(take_out)
        return cancelled

    async def progress(self) -> Progress | None:
        """Return the progress that the function last reported with `duerow.current().progress(…)`; None: none."""
        return await self._host.queue(self._definition.queue).progress(self.id)

    async def _ended_within(self, seconds: float | None) -> TaskState:
        """Wait until the task has ended or the time is up; return what is known then."""
        deadline = None if seconds is None else time.monotonic() + seconds
        database = self._host.database
        hears = database.store.capabilities.wakes_consumers
        queues = [self._definition.queue + RESULTS, self._definition.queue]
        most, pause = POLL_WOKEN if hears else POLL_ALONE, FIRST_POLL
        listener = await database.connections.listen(queues)
        try:
            while True:
                left = most if deadline is None else deadline - time.monotonic()
                sleep = max(0.0, min(left, most if hears else pause))
                if hears:  # so that whatever ends the task knows that somebody is waiting
                    await database.run(
                        lambda until=timedelta(seconds=sleep): database.store.messages.next_due(queues[:1], until)  # type: ignore[misc]
                    )
                known = await self.state()
                if known.ended or left <= 0:
                    return known
                try:
                    await listener.wait(sleep)
                except StoreUnavailable:
                    await listener.close()
                    listener = await database.connections.listen(queues)
                pause = min(most, pause * 1.5)
        finally:
            await listener.close()
