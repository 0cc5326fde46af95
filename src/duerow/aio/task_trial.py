"""Tasks in the tests of an application: calls are recorded, or run at once, without a database."""

from __future__ import annotations

from typing import Any

from duerow.aio.task_handle import TaskHandle
from duerow.errors import TimedOut
from duerow.message import Draft
from duerow.payload.codec import Encoded
from duerow.settlement import Bury, Retry, failure
from duerow.tasks import batch, trial
from duerow.tasks.batch import TaskOutcome
from duerow.tasks.call import TaskCall
from duerow.tasks.definition import TaskDefinition
from duerow.tasks.execution import acall_now
from duerow.tasks.outcome import TaskState
from duerow.worker.attempt import CURRENT, Attempt
from duerow.worker.progress import Progress


class TaskTrial:
    """The calls that were pushed during a trial; made by `Tasks.trial`.

    Attributes:
        calls: the calls, in the order in which they were pushed.
        drafts: the same calls as messages, with keys, due times and priorities, and other messages that tasks pushed
            when they ended, as with `Commit(then=[…])`.
    """

    def __init__(self, run: bool) -> None:
        self._run, self._last = run, 0
        self.calls: list[TaskCall] = []
        self.drafts: list[Draft] = []

    async def take(self, host: Any, task: TaskDefinition, draft: Draft) -> TrialHandle:
        """Record a pushed call, and run it if the trial runs calls; exceptions from the call are raised here."""
        arguments = _arguments(task, draft)
        self.calls.append(TaskCall(task.name, arguments))
        self.drafts.append(draft)
        if self._run:
            return await self._ran(host, task, draft)
        id = self._next()
        return TrialHandle(host, task, id, TaskState(id, "waiting", arguments=arguments))

    async def take_batch(
        self, host: Any, tasks: list[TaskDefinition], drafts: list[Draft], then: TaskDefinition
    ) -> list[TaskHandle[Any]]:
        """Record the calls in a batch; if the trial runs calls, run them, and then the callback with their outcomes."""
        handles: list[TaskHandle[Any]] = []
        outcomes: list[TaskOutcome] = []
        for task, draft in zip(tasks, drafts, strict=True):
            try:
                handle = await self.take(host, task, draft)
            except Exception as error:
                if not self._run:
                    raise
                id = self._next()
                handle = TrialHandle(host, task, id, TaskState(id, "failed", 1, error=failure(error)))
            handles.append(handle)
            if (ended := _outcome(task, handle.known)) is not None:
                outcomes.append(ended)
        if self._run:
            await self._ran(host, then, batch.callback_draft(then, outcomes))
        return handles

    async def _ran(self, host: Any, task: TaskDefinition, draft: Draft) -> TrialHandle:
        """Run a call until it has ended, without waiting between attempts; then run what it pushed by ending."""
        id, arguments, said = self._next(), _arguments(task, draft), None
        for number in range(1, trial.MOST + 1):
            attempt = trial.attempt_at(id, task, draft, arguments, number)
            ended = await _attempted(task, attempt)
            said = attempt.said or said
            turn = trial.decided(attempt.message, ended, host.retry_of(task))
            if not trial.goes_on(turn):
                known = trial.state_after(task, attempt.message, turn, ended)
                for other in getattr(turn, "then", ()):
                    await self._follow(host, other)
                return TrialHandle(host, task, id, known, said)
        raise AssertionError(f"task {task.name!r} asked for another attempt {trial.MOST:,} times")

    async def _follow(self, host: Any, draft: Draft) -> None:
        """Take what a call pushed by ending: run or record calls as usual, and record other messages."""
        task = host.definitions.get(draft.payload.kind) if isinstance(draft.payload, Encoded) else None
        if task is None:
            self.drafts.append(draft)
        else:
            await self.take(host, task, draft)

    def _next(self) -> int:
        self._last += 1
        return self._last


def _arguments(task: TaskDefinition, draft: Draft) -> dict[str, Any]:
    encoded: Encoded = draft.payload
    return task.parameters.decode(encoded.kind, encoded.text)


async def _attempted(task: TaskDefinition, attempt: Attempt) -> Any:
    """Call a function as the current attempt; return what it returned, or how it asked to end its turn."""
    before = CURRENT.set(attempt)
    try:
        return await acall_now(task, attempt.message.payload.arguments)
    except (Retry, Bury) as asked:
        return asked
    finally:
        CURRENT.reset(before)


def _outcome(task: TaskDefinition, known: TaskState) -> TaskOutcome | None:
    """Return what the callback of a batch learns about a call; None: nothing, since the call has not ended."""
    if known.status == "done":
        value = batch.plain_value((task.returned or task.loosely_returned).encode(known.value))
        return TaskOutcome(known.id, task.name, "done", value)
    return TaskOutcome(known.id, task.name, "failed", error=known.error) if known.status == "failed" else None


class TrialHandle(TaskHandle[Any]):
    """The handle for a call that was pushed in a trial.

    Attributes:
        known: its state.
    """

    def __init__(
        self, host: Any, task: TaskDefinition, id: int, known: TaskState, said: Progress | None = None
    ) -> None:
        super().__init__(host, task, id)
        self.known, self._said = known, said

    async def state(self) -> TaskState:
        """Return the call's state."""
        return self.known

    async def result(self, timeout: object = None) -> Any:  # noqa: ASYNC109 - as of TaskHandle
        """Return the result; raise TimedOut if the trial runs nothing."""
        if not self.known.ended:
            raise TimedOut(f"task {self.task!r} was pushed in a trial that runs nothing; use tasks.trial(run=True)")
        return self.known.result(self.task)

    async def cancel(self) -> bool:
        """Return whether the call had not ended; do nothing else."""
        return not self.known.ended

    async def progress(self) -> Progress | None:
        """Return the progress that the function last reported; None: it reported none, or has not run."""
        return self._said
