"""The handler of a queue: a function is declared together with the queue, so that workers can be run by queue name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])


class HandledBy(NamedTuple):
    """The handler of a queue, and other options for its worker."""

    function: Callable[..., Any]
    options: Mapping[str, Any]


class TakesHandler:
    """Something that has a `handler` decorator to declare the function that handles it.

    Attributes:
        handled_by: the arguments of `handler`; None: it was not called.
    """

    handled_by: HandledBy | None = None

    @overload
    def handler(self, function: F, /) -> F: ...
    @overload
    def handler(self, /, **options: Any) -> Callable[[F], F]: ...
    def handler(self, function: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
        """Register the function that handles the queue's messages: `@mail.handler`, or `@mail.handler(concurrency=8)`.

        This starts nothing: `duerow worker MODULE:QUEUE` runs a worker for the queue, with the queue's own type, policy
        and dead-letter queue, and `duerow worker MODULE:DATABASE` runs one for each queue that has a handler.

        Args:
            function: called with each message, as `Worker` does.
            options: other options of the worker; see `Worker`.
        """

        def note(handler: F) -> F:
            self.handled_by = HandledBy(handler, options)
            self._note_handler()
            return handler

        return note if function is None else note(function)

    def _note_handler(self) -> None:
        """Take note that there is a handler."""


class Handled(TakesHandler):
    """The part of a queue that knows its handler; see `Queue`."""

    database: Any

    def _note_handler(self) -> None:
        self.database.handled[id(self)] = self
