"""Tasks as they are declared: a function with a name, a queue, and settings for pushing and running it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cached_property
from string import Formatter
from typing import Any, Final

from duerow.errors import CodecError, ConfigurationError, shown
from duerow.message import check_key, check_priority, check_span
from duerow.payload import codec
from duerow.payload.codec import BYTES, JSON, MAX_PAYLOAD_BYTES, OWN, SEALED, Encoded
from duerow.payload.types import Upgrades
from duerow.retry import RetryFunction, RetryPolicy, as_policy
from duerow.tasks.call import TaskCall
from duerow.tasks.parameters import Parameters, Returned
from duerow.tasks.windows import window_of

Text = str | Callable[..., str | None]
"""Text made from a task's arguments: a template such as `"order-{order_id}"`, or a function of the same arguments."""

SHORTEST: Final = timedelta(seconds=1)

_LONGEST_NAME: Final = 100


class TaskDefinition:
    """A task: the kind of its messages, and how they are pushed, run and remembered.

    Attributes:
        name: the kind of its messages.
        function: the function to call, plain or async.
        is_async: whether a call has to be awaited.
        queue: the queue that its messages go to.
        retry: its retry policy; None: the queue's.
        results: how long results are kept; None: they are not kept.
        priority: the priority of its messages.
        parameters: the parameters of the function.
        window: how calls with the same key are spaced in time; None: they are not.

    Raises:
        ConfigurationError: a setting is not valid, or the function cannot be a task.
        InvalidMessage: the priority or one of the times is out of bounds.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        queue: str,
        *,
        name: str | None = None,
        retry: RetryPolicy | RetryFunction | None = None,
        key: Text | None = None,
        group: Text | None = None,
        priority: int = 0,
        results: timedelta | None = None,
        unique: timedelta | None = None,
        debounce: timedelta | None = None,
        throttle: timedelta | None = None,
        upgrades: Upgrades | None = None,
    ) -> None:
        if isinstance(given := function, type) or not callable(given):
            raise ConfigurationError(f"a task must be a function, not {shown(function)}")
        self.name = _check_name(getattr(function, "__name__", "task") if name is None else name)
        self.function, self.queue = function, queue
        self.is_async = inspect.iscoroutinefunction(function)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ConfigurationError(f"task {self.name!r} is a generator function, so calling it runs nothing")
        self.retry = None if retry is None else as_policy(retry)
        self.priority = check_priority(priority)
        self.results = None if results is None else check_span("results", results, SHORTEST)
        self.parameters = Parameters(self.name, function, upgrades)
        self.returned = Returned(self.name, self.parameters.returned) if self.results is not None else None
        self.window = window_of(self.name, key is not None, unique, debounce, throttle)
        self._key, self._group = self._text("key", key), self._text("group", group)

    def __repr__(self) -> str:
        return f"<task {self.name!r} in queue {self.queue!r}>"

    @cached_property
    def loosely_returned(self) -> Returned:
        """How to write results that are not kept but only passed to the callback of a batch."""
        return Returned(self.name, Any)

    def key(self, arguments: Mapping[str, Any]) -> str | None:
        """Return the key of a message with these arguments."""
        return None if self._key is None else check_key(self._key(arguments))

    def group(self, arguments: Mapping[str, Any]) -> str | None:
        """Return the group of a message with these arguments."""
        return None if self._group is None else self._group(arguments)

    def _text(self, what: str, text: Text | None) -> Callable[[Mapping[str, Any]], str | None] | None:
        """Return a function of the arguments by name; raise ConfigurationError if the text needs other arguments."""
        if text is None:
            return None
        if callable(text):
            function = text
            return lambda arguments: function(**self._complete(arguments))
        if not isinstance(text, str):
            raise ConfigurationError(
                f"{what}= of task {self.name!r} must be a template or a function, not {shown(text)}"
            )
        template: str = text
        try:
            names = {(name or "").split(".")[0].split("[")[0] for _, name, _, _ in Formatter().parse(template)}
        except ValueError as error:
            raise ConfigurationError(
                f"{what}={template!r} of task {self.name!r} is not a valid template: {error}"
            ) from error
        if strange := names - {"", *self.parameters.signature.parameters}:
            raise ConfigurationError(
                f"{what}={template!r} of task {self.name!r} names {', '.join(sorted(strange))}, which its function "
                "does not take"
            )
        return lambda arguments: template.format(**self._complete(arguments))

    def _complete(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments, with defaults for those that were not given."""
        bound = inspect.BoundArguments(self.parameters.signature, dict(arguments))
        bound.apply_defaults()
        return dict(bound.arguments)


class TaskCalls:
    """The payloads of a queue of tasks: function calls, each with its task's name as its kind.

    Args:
        queue: the queue.
        tasks: all tasks by name; more may be added later.
    """

    kind: Final = "task"

    def __init__(self, queue: str, tasks: Mapping[str, TaskDefinition]) -> None:
        self._queue, self._tasks = queue, tasks

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of messages that one of the queue's tasks can read."""
        mine = (task.parameters.kinds for task in self._tasks.values() if task.queue == self._queue)
        return tuple(sorted(frozenset().union(*mine) - {JSON}))

    def encode(self, payload: Any, max_bytes: int = MAX_PAYLOAD_BYTES) -> Encoded:
        """Return a call as its task stores it; raise CodecError if it is not a call, or its arguments do not fit."""
        if type(payload) is Encoded:
            return payload
        if not isinstance(payload, TaskCall) or payload.task not in self._tasks:
            raise CodecError(
                f"queue {self._queue!r} takes calls to its tasks, not {shown(payload)}: push a call through "
                "its task, as in send.push(…)"
            )
        return self._tasks[payload.task].parameters.encode(payload.arguments)

    def decode(self, kind: str, text: str) -> TaskCall:
        """Return a call; raise CodecError if no task here has that kind, or the arguments do not fit."""
        own = self._tasks.get(kind)
        for task in [own] if own is not None else self._tasks.values():
            if kind in task.parameters.kinds - {JSON}:
                return TaskCall(task.name, task.parameters.decode(kind, text))
        if kind.endswith(SEALED):
            raise codec.key_missing(text)
        known = ", ".join(map(repr, self.kinds)) or "none"
        raise CodecError(f"queue {self._queue!r} has no task {kind!r} here; its tasks are {known}", quotes=False)

    def patched(self, payload: Any, patch: Any) -> Encoded:
        """Return a call with a JSON merge patch applied to its arguments; raise CodecError if they no longer fit."""
        encoded = self.encode(payload)
        text = codec.encode(codec.merge_patch(codec.decode(JSON, encoded.text), patch)).text
        self.decode(encoded.kind, text)
        return Encoded(encoded.kind, text)


def _check_name(name: object) -> str:
    if not isinstance(name, str) or not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable():
        raise ConfigurationError(
            f"the name of a task must be 1 to {_LONGEST_NAME} printable characters, not {shown(name)}"
        )
    if name in (JSON, BYTES) or name.startswith(OWN) or name.endswith(SEALED):
        raise ConfigurationError(
            f"a task cannot be called {name!r}, which is a kind reserved for other messages; choose another name"
        )
    return name
