# Generated from ../aio/tasks.py by tools/generate_sync.py; edit that file instead.
"""The tasks of an application: functions that workers call, with the arguments that were pushed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar, overload

from duerow.errors import ConfigurationError, shown
from duerow.message import Draft, Message, check_queue_name
from duerow.payload.types import Upgrades
from duerow.retry import RetryFunction, RetryPolicy
from duerow.sync.database import Database
from duerow.sync.queue import Queue
from duerow.sync.task import Task
from duerow.sync.task_handle import TaskHandle
from duerow.sync.task_host import TaskHost
from duerow.sync.task_trial import TaskTrial
from duerow.sync.worker import Worker
from duerow.tasks import batch
from duerow.tasks.definition import TaskDefinition, Text
from duerow.tasks.execution import call, check_attempts, conclude, task_of

P = ParamSpec("P")
R = TypeVar("R")


class TaskBatch:
    """Calls that were pushed together, and whose callback is called once when all of them have ended.

    Attributes:
        id: the value of the header `batch` of their messages.
        handles: a handle for each call, in the order given.
    """

    def __init__(self, id: str, handles: list[TaskHandle[Any]]) -> None:
        self.id, self.handles = id, handles

    def __repr__(self) -> str:
        return f"<batch {self.id} of {len(self.handles)} calls>"

    def cancel(self) -> int:
        """Cancel the calls that have not ended; return how many. The callback is still called."""
        return sum([handle.cancel() for handle in self.handles])


class TaskDecorator:
    """The result of `Tasks.task` with options: it declares the function that it is called with."""

    def __init__(self, declare: Callable[[Any, dict[str, Any]], Any], terms: dict[str, Any]) -> None:
        self._declare, self._terms = declare, terms

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Task[P, Coroutine[Any, Any, R], R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R, R]: ...
    def __call__(self, function: Any, /) -> Any:
        """Declare a function."""
        return self._declare(function, self._terms)


class Tasks(TaskHost):
    """Functions that workers call later: declared with `@tasks.task`, pushed with `function.push(…)`.

    A call is a message whose kind is the task's name and whose payload holds the arguments, so tasks have all features
    of queues.

    Args:
        database: the database of their queues; None: it is given to `use` later.
        queue: the queue of tasks that do not name one.
        retry: the retry policy of tasks that do not have one; default: the queue's.
        results: how long results are kept, for tasks that do not set it themselves; default: not at all.
    """

    def __init__(
        self,
        database: Database | None = None,
        *,
        queue: str = "tasks",
        retry: RetryPolicy | RetryFunction | None = None,
        results: timedelta | None = None,
    ) -> None:
        super().__init__(database, queue)
        self._queue, self._retry, self._results = check_queue_name(queue), retry, results

    def __repr__(self) -> str:
        return f"<Tasks {', '.join(self.definitions) or 'none yet'}>"

    @overload
    def task(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Task[P, Coroutine[Any, Any, R], R]: ...
    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R, R]: ...
    @overload
    def task(
        self,
        /,
        *,
        name: str | None = ...,
        queue: str | None = ...,
        retry: RetryPolicy | RetryFunction | None = ...,
        key: Text | None = ...,
        group: Text | None = ...,
        priority: int = ...,
        results: timedelta | None = ...,
        unique: timedelta | None = ...,
        debounce: timedelta | None = ...,
        throttle: timedelta | None = ...,
        upgrades: Upgrades | None = ...,
    ) -> TaskDecorator: ...
    def task(self, function: Any = None, /, **terms: Any) -> Any:
        """Declare a function as a task: `@tasks.task`, or `@tasks.task(queue="mail", retry=fixed(seconds=5))`.

        Args:
            function: the function, plain or async. Its parameters define what a message carries: JSON values, or types
                as for `Database.queue(payload=…)`.
            terms: by name, as follows.
            name: the kind of its messages, which must not begin with "duerow."; default: the function's name. If it
                changes, waiting messages need `upgrades`.
            queue: the queue that its calls are pushed to; default: the queue of these tasks.
            retry: the delays between attempts, and how many attempts are allowed.
            key: the key of each message, so that a live one is not pushed twice: a template that the arguments fill in,
                such as `"order-{order_id}"`, or a function of them.
            group: the group of each message, given in the same way: calls in the same group run one at a time, in
                order.
            priority: lower goes first.
            results: how long its return value is kept; None: not at all; default: as for these tasks.
            unique: for this long after a push, further pushes with the same key are ignored, even after the call has
                run. Give at most one of `unique`, `debounce` and `throttle`; each needs `key`.
            debounce: a call runs once nothing has been pushed with the same key for this long, with the latest
                arguments.
            throttle: at most one call with a key runs in any span of time of this length. The first runs at once; all
                others in the span are merged into one call at its end, with the latest arguments.
            upgrades: functions that convert the arguments of older messages (a dict) to the current ones, keyed by the
                task's name at that time.

        Raises:
            ConfigurationError: a setting is invalid, the types of its parameters or of its result cannot be stored as
                JSON, or another function has this name.
        """
        return TaskDecorator(self._declare, terms) if function is None else self._declare(function, terms)

    def callback(self, function: Any = None, /, **terms: Any) -> Any:
        """Declare a task that batches call when all of their calls have ended: `@tasks.callback`.

        Args:
            function: a function of one argument, the outcomes in the order of the calls: `list[duerow.TaskOutcome]`.
            terms: as for `task`.

        Raises:
            ConfigurationError: the function does not take exactly that argument; or as for `task`.
        """

        def declare(given: Any, terms: dict[str, Any]) -> Task[Any, Any, Any]:
            declared = self._declare(given, terms)
            self.callbacks[declared.name] = batch.check_callback(self.definitions[declared.name])
            return declared

        return TaskDecorator(declare, terms) if function is None else declare(function, terms)

    def push_batch(
        self,
        drafts: Iterable[Draft],
        then: Task[Any, Any, Any],
        *,
        deadline: timedelta = batch.DEADLINE,
        within: Any = None,
    ) -> TaskBatch:
        """Push many calls to any of these tasks, and call a callback once when all of them have ended.

        A call has ended when it is done, has failed for good, or was cancelled through its handle. The callback gets
        the outcomes in the order of the calls. If some are still missing at the deadline, it gets only the others.

        Args:
            drafts: the calls, each made by a task's `draft`: `[resize.draft(1), resize.draft(2)]`.
            then: a task that was declared with `@tasks.callback`.
            deadline: how long after the first outcome the callback is called even if others are missing.
            within: the caller's open transaction.

        Raises:
            ConfigurationError: there are no calls, or too many; a draft is not of these tasks, or is of a task with
                `unique`, `debounce` or `throttle`; or `then` is not a callback.
            DuplicateKey: a live message has the key of one of the calls; nothing was pushed.
            NotSupported: the store has no transactions.
        """
        callback = self.callbacks.get(getattr(then, "name", ""))
        if callback is None:
            raise ConfigurationError(f"then= takes a task declared with @tasks.callback, not {shown(then)}")
        given = list(drafts)
        tasks = [self._of_draft(draft) for draft in given]
        if self.trying is not None:
            return TaskBatch("trial", self.trying.take_batch(self, tasks, given, callback))
        store = self.database.store
        name, made = batch.members(given, tasks, callback, deadline, self.parts, store)
        entries = [self.entry_of(draft) for draft in made]
        pushed = self.database.run(lambda: store.messages.push(entries, "reject"), within, len(entries))
        handles = [TaskHandle[Any](self, task, one.id) for task, one in zip(tasks, pushed, strict=True)]
        return TaskBatch(name, handles)

    @contextmanager
    def trial(self, *, run: bool = False) -> Iterator[TaskTrial]:
        """Capture the calls that a block pushes instead of storing them, for an application's tests.

        Arguments are checked as usual. `with tasks.trial() as pushed:` only records the calls, in `pushed.calls`. With
        `run=True` each call runs as soon as it is pushed: `push` raises its exceptions, its handle has the result, and
        due times are ignored. `Bury`, `Retry` and other ways to end a turn work as in a worker, except that a retry
        follows at once.

        Args:
            run: whether to run the calls.
        """
        before, self.trying = self.trying, TaskTrial(run)
        try:
            yield self.trying
        finally:
            self.trying = before

    def _of_draft(self, draft: Any) -> TaskDefinition:
        task = self.definitions.get(getattr(getattr(draft, "payload", None), "kind", ""))
        if task is None:
            raise ConfigurationError(f"a batch takes drafts of these tasks, such as send.draft(…), not {shown(draft)}")
        if task.window is not None:
            raise ConfigurationError(
                f"task {task.name!r} has {task.window.kind}=, so a call may be dropped or merged into another one, "
                "which a batch would wait for: push it on its own, or declare a task without "
                "that option for batches"
            )
        return task

    def worker(self, queues: Sequence[str] | None = None, **options: Any) -> Worker:
        """Return one worker that runs the tasks of all their queues.

        Args:
            queues: only the tasks of these queues.
            options: as for `Worker`: batch, concurrency, middleware, timeout, rate, grace, name and others.

        Raises:
            ConfigurationError: there are no tasks, a queue has none, or an option is invalid.
        """
        if odd := options.keys() & {"whole_batch", "transactional", "processes"}:
            raise ConfigurationError(
                f"a worker for tasks does not take {sorted(odd)[0]}=: duerow's own handler calls the functions"
            )
        self.expire_results()
        return Worker(list(self.handlers(queues)), self.run, **options)

    def handlers(self, queues: Sequence[str] | None = None) -> dict[Queue[Any], Callable[[Message], Any]]:
        """Return the queues of the tasks and of the outcomes of batches, each with `run` as its handler.

        Args:
            queues: only the tasks of these queues.

        Raises:
            ConfigurationError: there are no tasks, or a queue has none.
        """
        known = dict.fromkeys(task.queue for task in self.definitions.values())
        if not known:
            raise ConfigurationError("there are no tasks yet: declare them with @tasks.task, and import their modules")
        wanted = list(known) if queues is None else list(dict.fromkeys(queues))
        if strange := [name for name in wanted if name not in known]:
            raise ConfigurationError(
                f"queue {shown(strange[0])} has no tasks; the queues with tasks are {', '.join(known)}"
            )
        return dict.fromkeys([*(self.queue(name) for name in wanted), *self.gathering()], self.run)

    def _declare(self, function: Any, terms: dict[str, Any]) -> Task[Any, Any, Any]:
        chosen = {"retry": self._retry, "results": self._results, **terms}
        queue = chosen.pop("queue", None)
        definition = TaskDefinition(function, self._queue if queue is None else check_queue_name(queue), **chosen)
        self.add(definition)
        return Task(self, definition)

    def run(self, message: Message) -> Any:
        """Run the task of a message; return how the turn ends. For workers, and for `duerow.testing.drain`."""
        database = self.database
        if message.queue == self.parts:
            return batch.gather(message, self.sets)
        if message.queue == self.sets:
            return batch.merge(message, database.queue(self.parts).payloads, self.callbacks, self.parts)
        task = task_of(message, self.definitions)
        try:
            check_attempts(task, message)
            ended = call(task, message)
        except Exception as error:
            ended = error
        policy = self.queue(task.queue).retry
        parts = self.parts if database.store.capabilities.transactions else None
        return conclude(task, message, ended, policy, database.host_time(), parts)
