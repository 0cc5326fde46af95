"""Which function handles the messages of a queue: said beside its definition, for who runs workers by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])


class HandledBy(NamedTuple):
    """The handler of a queue, and what its worker is made with besides."""

    function: Callable[..., Any]
    options: Mapping[str, Any]


class Handled:
    """The part of a queue that knows its handler; see `Queue`.

    Attributes:
        handled_by: what `handler` was given; None: nothing.
    """

    database: Any
    handled_by: HandledBy | None = None

    @overload
    def handler(self, function: F, /) -> F: ...
    @overload
    def handler(self, /, **options: Any) -> Callable[[F], F]: ...
    def handler(self, function: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
        """Note which function handles the queue's messages: `@mail.handler`, or `@mail.handler(concurrency=8)`.

        Nothing runs by that: `duerow worker MODULE:QUEUE` makes a worker of both, with the queue's own type, policy and
        dead-letter queue, and `duerow worker MODULE:DATABASE` one for each queue that has a handler.

        Args:
            function: called with each message, as `Worker` does.
            options: what the worker is made with besides; see `Worker`.
        """

        def note(handler: F) -> F:
            self.handled_by = HandledBy(handler, options)
            self.database.handled[id(self)] = self
            return handler

        return note if function is None else note(function)
