"""A task of an application: a function that can be called now, or pushed to be called later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

from msgspec import UNSET

from duerow.aio.task_handle import TaskHandle
from duerow.aio.task_host import TaskHost
from duerow.errors import ConfigurationError, shown
from duerow.message import Draft, Pushed
from duerow.queue.beside import WINDOWS
from duerow.queue.schedule import Schedule
from duerow.tasks.call import PushOptions
from duerow.tasks.definition import TaskDefinition
from duerow.tasks.windows import Window, push

P = ParamSpec("P")
C = TypeVar("C")
"""What a call to the function returns: for an async function, a coroutine."""
R = TypeVar("R")
"""The function's result."""


class TaskPusher(Generic[P, C, R]):
    """Pushes calls to a task with some options; made by `Task.options` and its shortcuts."""

    def __init__(self, host: TaskHost, definition: TaskDefinition, options: PushOptions) -> None:
        self._host, self._definition, self._options = host, definition, options

    def options(self, **options: Any) -> TaskPusher[P, C, R]:
        """Return the same task with other options for its pushes.

        Args:
            options: by name: key, due, delay, headers, group, priority, on_duplicate, within; as for `Queue.push`.

        Raises:
            ConfigurationError: an option does not exist, or `on_duplicate` was given although the task has a window.
            InvalidMessage: an option is out of bounds.
        """
        window = self._definition.window
        if window is not None and "on_duplicate" in options:
            raise ConfigurationError(
                f"task {self._definition.name!r} has {window.kind}=, which determines what happens to a second call "
                "with the same key: leave out on_duplicate"
            )
        return TaskPusher(self._host, self._definition, self._options.but(**options))

    def at(self, due: datetime) -> TaskPusher[P, C, R]:
        """Return the same task, to be run at this time: `send.at(tomorrow).push(…)`."""
        return self.options(due=due)

    def after(self, delay: timedelta) -> TaskPusher[P, C, R]:
        """Return the same task, to be run this long from now: `send.after(timedelta(minutes=5)).push(…)`."""
        return self.options(delay=delay)

    def within(self, transaction: Any) -> TaskPusher[P, C, R]:
        """Return the same task, to be pushed in the caller's open transaction: `send.within(session).push(…)`."""
        return self.options(within=transaction)

    def draft(self, *args: P.args, **named: P.kwargs) -> Draft:
        """Return a call as a message to be pushed, for `push_many`, batches, or `Commit(then=[…])`.

        Raises:
            ConfigurationError: the function does not take these arguments.
            CodecError: an argument is of the wrong type, or JSON cannot represent it.
        """
        task, options = self._definition, self._options
        arguments = task.parameters.bind(args, named)
        return Draft(
            task.parameters.encode(arguments),
            task.key(arguments) if options.key is UNSET else options.key,
            options.due,
            options.delay,
            options.headers,
            task.queue,
            task.group(arguments) if options.group is UNSET else options.group,
            task.priority if options.priority is UNSET else options.priority,
        )

    async def push(self, *args: P.args, **named: P.kwargs) -> TaskHandle[R]:
        """Push a call to the function with these arguments; return its handle.

        Raises:
            ConfigurationError, CodecError: as in `draft`.
            DuplicateKey: a live message has the key, and `on_duplicate` is "reject".
        """
        return (await self.push_many([self.draft(*args, **named)]))[0]

    async def push_many(self, drafts: Iterable[Draft]) -> list[TaskHandle[R]]:
        """Push many calls in one transaction; return a handle for each, in the order given.

        Args:
            drafts: the calls, each made by this task's `draft`.
        """
        given = list(drafts)
        for draft in given:
            if getattr(getattr(draft, "payload", None), "kind", None) != self._definition.name:
                raise ConfigurationError(
                    f"push_many of task {self._definition.name!r} takes drafts made with "
                    f"{self._definition.name}.draft(…), not {shown(draft)}"
                )
        self._check_window(given)
        if self._host.trying is not None:
            return [await self._host.trying.take(self._host, self._definition, draft) for draft in given]
        window = self._definition.window
        if window is None or not given:
            queue = self._host.queue(self._definition.queue)
            pushed = await queue.push_many(given, on_duplicate=self._options.on_duplicate, within=self._options.within)
        else:
            pushed = await self._push_in_window(given, window)
        return [TaskHandle(self._host, self._definition, one.id, one.outcome) for one in pushed]

    def _check_window(self, drafts: list[Draft]) -> None:
        """Raise ConfigurationError if the task has a window and one of these calls does not fit into it."""
        window = self._definition.window
        if window is None:
            return
        for draft in drafts:
            if draft.key is None:
                raise ConfigurationError(f"task {self._definition.name!r} has {window.kind}=, so each call needs a key")
            if window.kind != "unique" and (draft.due is not None or draft.delay is not None):
                raise ConfigurationError(
                    f"task {self._definition.name!r} has {window.kind}=, which sets when it runs: leave out "
                    "due and delay"
                )

    async def _push_in_window(self, drafts: list[Draft], window: Window) -> list[Pushed]:
        """Push calls to a task that has a window."""
        entries = [self._host.entry_of(draft) for draft in drafts]
        database = self._host.database
        database.expiring.add(self._definition.queue + WINDOWS)
        return await database.run(lambda: push(database.store, window, entries), self._options.within, len(entries))

    def handle(self, id: int) -> TaskHandle[R]:
        """Return the handle for a call that was pushed before, by the id of its message."""
        return TaskHandle(self._host, self._definition, id)


class Task(TaskPusher[P, C, R]):
    """A function that messages call by name; made by `Tasks.task`. Calling the task calls the function.

    Attributes:
        name: the kind of its messages.
        queue: the name of the queue that its messages go to.
        function: the function.
    """

    def __init__(self, host: TaskHost, definition: TaskDefinition) -> None:
        super().__init__(host, definition, PushOptions())
        self.name, self.queue, self.function = definition.name, definition.queue, definition.function
        update_wrapper(self, definition.function)

    def __repr__(self) -> str:
        return f"<task {self.name!r} in queue {self.queue!r}>"

    def __call__(self, *args: P.args, **named: P.kwargs) -> C:
        """Call the function here and now."""
        called: C = self.function(*args, **named)
        return called

    async def schedule(
        self, *, name: str | None = None, arguments: Mapping[str, Any] | None = None, **times: Any
    ) -> Schedule:
        """Have workers call the function regularly, on a schedule.

        Declaring the same schedule again has no effect: `cleanup.schedule(cron="0 3 * * *")`.

        Args:
            name: the schedule's name; default: the task's.
            arguments: the arguments by name; default: none.
            times: cron, every or daily, and zone, start, headers, missed, grace; as for `Database.schedule`.

        Raises:
            ConfigurationError: the function does not take these arguments, or the times are invalid.
        """
        draft = self.draft(**(arguments or {}))  # type: ignore[call-arg]
        return await self._host.database.schedule(
            self.name if name is None else name,
            queue=self.queue,
            payload=draft.payload,
            group=draft.group,
            priority=draft.priority,
            **times,
        )
