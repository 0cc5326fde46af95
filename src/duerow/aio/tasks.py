"""The tasks of an application: functions that workers call, with the arguments that were pushed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar, overload

from duerow.aio.database import Database
from duerow.aio.queue import Queue
from duerow.aio.task import Task
from duerow.aio.task_handle import TaskHandle
from duerow.aio.task_host import TaskHost
from duerow.aio.task_trial import TaskTrial
from duerow.aio.worker import Worker
from duerow.errors import ConfigurationError, shown
from duerow.message import Draft, Message, check_queue_name
from duerow.payload.types import Upgrades
from duerow.retry import RetryFunction, RetryPolicy
from duerow.tasks import batch
from duerow.tasks.definition import TaskDefinition, Text
from duerow.tasks.execution import acall, check_attempts, conclude, task_of

P = ParamSpec("P")
R = TypeVar("R")


class TaskBatch:
    """Calls that were pushed together, and whose callback is called once when all of them have ended.

    Attributes:
        id: what the header `batch` of their messages says.
        handles: a handle for each call, in the order given.
    """

    def __init__(self, id: str, handles: list[TaskHandle[Any]]) -> None:
        self.id, self.handles = id, handles

    def __repr__(self) -> str:
        return f"<batch {self.id} of {len(self.handles)} calls>"

    async def cancel(self) -> int:
        """Cancel the calls that have not ended; return how many. The callback is still called."""
        return sum([await handle.cancel() for handle in self.handles])


class TaskDecorator:
    """What `Tasks.task` with options returns: it declares the function that it is given."""

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
    """Functions that are called later, by workers: declared with `@tasks.task`, pushed with `function.push(…)`.

    A call is a message whose kind is the task's name and whose payload is the arguments, so everything that queues of
    messages have is there for tasks too.

    Args:
        database: where their queues are; None: `use` says later.
        queue: the queue of tasks that name none.
        retry: the retry policy of tasks that have none; default: that of their queue.
        results: how long the results of tasks are kept that do not say so themselves; default: not at all.
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
            function: the function, plain or async. Its parameters say what a message carries: JSON values, or types as
                for `Database.queue(payload=…)`.
            terms: by name, as follows.
            name: what its messages are called; default: the function's name. If it changes, messages that wait need
                `upgrades`.
            queue: the queue that it is pushed to; default: that of these tasks.
            retry: the delays between attempts, and how many attempts are allowed.
            key: makes the key of each message, so that a live one is not pushed twice: a template of the arguments such
                as `"order-{order_id}"`, or a function of them.
            group: makes the group of each message, likewise: calls of one group run one at a time, in order.
            priority: lower goes first.
            results: how long what it returns is kept; None: not at all; default: as these tasks say.
            unique: for so long after a push, others with its key are ignored, also when it has run. Give at most one of
                these three; each needs `key`.
            debounce: a call runs when nothing was pushed with its key for so long, with the latest arguments.
            throttle: of the calls with one key, at most one runs in any span of this length: the first at once, and all
                others of the span as one at its end, with the latest arguments.
            upgrades: functions that turn the arguments of older messages, as a dict, into today's, by the name that the
                task had then.

        Raises:
            ConfigurationError: a setting is not valid, its parameters or its result are of types that JSON cannot
                carry, or another function has this name.
        """
        return TaskDecorator(self._declare, terms) if function is None else self._declare(function, terms)

    def callback(self, function: Any = None, /, **terms: Any) -> Any:
        """Declare a task that batches call when all of their calls have ended: `@tasks.callback`.

        Args:
            function: takes one argument, the outcomes in the order of the calls: `list[duerow.TaskOutcome]`.
            terms: as for `task`.

        Raises:
            ConfigurationError: it takes something else; or as for `task`.
        """

        def declare(given: Any, terms: dict[str, Any]) -> Task[Any, Any, Any]:
            declared = self._declare(given, terms)
            self.callbacks[declared.name] = batch.check_callback(self.definitions[declared.name])
            return declared

        return TaskDecorator(declare, terms) if function is None else declare(function, terms)

    async def push_batch(
        self,
        drafts: Iterable[Draft],
        then: Task[Any, Any, Any],
        *,
        deadline: timedelta = batch.DEADLINE,
        within: Any = None,
    ) -> TaskBatch:
        """Push many calls, of any of these tasks, and have a callback called once when all of them have ended.

        A call has ended when it is done, given up, or cancelled by its handle. The callback gets the outcomes in the
        order of the calls. If some are still missing when the deadline is over, it gets the others.

        Args:
            drafts: what `draft` of the tasks returned: `[resize.draft(1), resize.draft(2)]`.
            then: a task that was declared with `@tasks.callback`.
            deadline: how long after the first outcome the callback is called, whatever is missing.
            within: the caller's open transaction.

        Raises:
            ConfigurationError: there are no calls, or too many; one is no draft of these tasks, or of one that has
                `unique`, `debounce` or `throttle`; or `then` is no callback.
            DuplicateKey: a live message has the key of one of the calls; nothing was pushed.
            NotSupported: the store has no transactions.
        """
        callback = self.callbacks.get(getattr(then, "name", ""))
        if callback is None:
            raise ConfigurationError(f"then= takes a task declared with @tasks.callback, not {shown(then)}")
        given = list(drafts)
        tasks = [self._of_draft(draft) for draft in given]
        if self.trying is not None:
            return TaskBatch("trial", await self.trying.take_batch(self, tasks, given, callback))
        store = self.database.store
        name, made = batch.members(given, tasks, callback, deadline, self.parts, store)
        entries = [self.entry_of(draft) for draft in made]
        pushed = await self.database.run(lambda: store.messages.push(entries, "reject"), within, len(entries))
        handles = [TaskHandle[Any](self, task, one.id) for task, one in zip(tasks, pushed, strict=True)]
        return TaskBatch(name, handles)

    @contextmanager
    def trial(self, *, run: bool = False) -> Iterator[TaskTrial]:
        """Take what is pushed in a block, instead of the database: for the tests of an application.

        Arguments are checked as ever. `with tasks.trial() as pushed:` only notes the calls, in `pushed.calls`. With
        `run=True` each call runs at once, where it is pushed: what it raises is raised there, its handle has the
        result, and due times are ignored. `Bury`, `Retry` and other ways to end a turn work as in a worker; another
        attempt comes at once.

        Args:
            run: whether to run what is pushed.
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
                "which a batch would wait for: push it by itself, or declare a task without it for batches"
            )
        return task

    def worker(self, queues: Sequence[str] | None = None, **options: Any) -> Worker:
        """Return a worker that runs the tasks: one for all of their queues.

        Args:
            queues: only the tasks of these queues.
            options: as for `Worker`: batch, concurrency, middleware, timeout, rate, grace, name and others.

        Raises:
            ConfigurationError: there are no tasks, a queue has none, or an option is not valid.
        """
        if odd := options.keys() & {"whole_batch", "transactional", "processes"}:
            raise ConfigurationError(f"a worker of tasks cannot be {sorted(odd)[0]}: its handler calls the functions")
        self.expire_results()
        return Worker(list(self.handlers(queues)), self.run, **options)

    def handlers(self, queues: Sequence[str] | None = None) -> dict[Queue[Any], Callable[[Message], Any]]:
        """Return the queues of the tasks, and those that gather the outcomes of batches, with `run` as handler of each.

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
            raise ConfigurationError(f"queue {shown(strange[0])} has no tasks; there are {', '.join(known)}")
        return dict.fromkeys([*(self.queue(name) for name in wanted), *self.gathering()], self.run)

    def _declare(self, function: Any, terms: dict[str, Any]) -> Task[Any, Any, Any]:
        chosen = {"retry": self._retry, "results": self._results, **terms}
        queue = chosen.pop("queue", None)
        definition = TaskDefinition(function, self._queue if queue is None else check_queue_name(queue), **chosen)
        self.add(definition)
        return Task(self, definition)

    async def run(self, message: Message) -> Any:
        """Run the task of a message; return how the turn ends. For workers, and for `duerow.testing.drain`."""
        database = self.database
        if message.queue == self.parts:
            return batch.gather(message, self.sets)
        if message.queue == self.sets:
            return batch.merge(message, database.queue(self.parts).payloads, self.callbacks, self.parts)
        task = task_of(message, self.definitions)
        try:
            check_attempts(task, message)
            ended = await acall(task, message)
        except Exception as error:
            ended = error
        policy = self.queue(task.queue).retry
        parts = self.parts if database.store.capabilities.transactions else None
        return conclude(task, message, ended, policy, database.host_time(), parts)
