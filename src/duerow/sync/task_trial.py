# Generated from ../aio/task_trial.py by tools/generate_sync.py; edit that file instead.
"""Tasks in the tests of an application: what is pushed is noted, or run at once, and no database is asked."""

from __future__ import annotations

from typing import Any

from duerow.errors import TimedOut
from duerow.message import Draft
from duerow.payload.codec import Encoded
from duerow.settlement import failure
from duerow.sync.task_handle import TaskHandle
from duerow.tasks.batch import TaskOutcome
from duerow.tasks.call import TaskCall
from duerow.tasks.definition import TaskDefinition
from duerow.tasks.execution import call_now
from duerow.tasks.outcome import TaskState


class TaskTrial:
    """What was pushed while a trial went on; made by `Tasks.trial`.

    Attributes:
        calls: the calls, in the order in which they were pushed.
        drafts: the same, as messages, with keys, due times and priorities.
    """

    def __init__(self, run: bool) -> None:
        self._run = run
        self.calls: list[TaskCall] = []
        self.drafts: list[Draft] = []

    def take(self, host: Any, task: TaskDefinition, draft: Draft) -> TrialHandle:
        """Note a call that is pushed, and run it if the trial runs calls; what it raises is raised."""
        encoded: Encoded = draft.payload
        arguments = task.parameters.decode(encoded.kind, encoded.text)
        self.calls.append(TaskCall(task.name, arguments))
        self.drafts.append(draft)
        id = len(self.drafts)
        if not self._run:
            return TrialHandle(host, task, id, TaskState(id, "waiting", arguments=arguments))
        value = call_now(task, arguments)
        if task.returned is not None:
            value = task.returned.decode(task.returned.encode(value))
        return TrialHandle(host, task, id, TaskState(id, "done", 1, arguments, value))

    def take_batch(
        self, host: Any, tasks: list[TaskDefinition], drafts: list[Draft], then: TaskDefinition
    ) -> list[TaskHandle[Any]]:
        """Note the calls of a batch; if the trial runs calls, run them, and then the callback with their outcomes."""
        handles: list[TaskHandle[Any]] = []
        outcomes: list[TaskOutcome] = []
        for task, draft in zip(tasks, drafts, strict=True):
            try:
                handle = self.take(host, task, draft)
            except Exception as error:
                if not self._run:
                    raise
                id = len(self.drafts)
                handle = TrialHandle(host, task, id, TaskState(id, "failed", 1, error=failure(error)))
            handles.append(handle)
            known = handle.known
            status: Any = known.status
            outcomes.append(TaskOutcome(handle.id, task.name, status, known.value, known.error))
        if self._run:
            call_now(then, {name: outcomes for name in then.parameters.signature.parameters})
        return handles


class TrialHandle(TaskHandle[Any]):
    """The handle of a call that was pushed in a trial.

    Attributes:
        known: what became of it.
    """

    def __init__(self, host: Any, task: TaskDefinition, id: int, known: TaskState) -> None:
        super().__init__(host, task, id)
        self.known = known

    def state(self) -> TaskState:
        """Return what became of it."""
        return self.known

    def result(self, timeout: object = None) -> Any:  # noqa: ASYNC109 - as of TaskHandle
        """Return the result; TimedOut if the trial runs nothing."""
        if not self.known.ended:
            raise TimedOut(f"task {self.task!r} was pushed in a trial that runs nothing: tasks.trial(run=True) does")
        return self.known.result(self.task)

    def cancel(self) -> bool:
        """Return whether it had not ended, without doing anything."""
        return not self.known.ended
