"""Functions around each call to a handler: for logging, metrics, trace context, or the user's own connections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from duerow.errors import ConfigurationError, shown
from duerow.signatures import check_call
from duerow.worker.run import is_async, is_generator

CallNext = Callable[[Any], Any]
"""Calls the next layer with the message (or the list of a batch); async workers await the result."""

Middleware = Callable[[Any, CallNext], Any]
"""(message, call_next) -> the outcome; the first in a list is the outermost."""


EVERYWHERE: Final[list[Middleware]] = []
"""Layers around the handlers of all workers created from now on, outside their own middleware: for telemetry."""


def around(handler: Callable[..., Any], middleware: object, awaited: bool) -> Callable[..., Any]:
    """Return a handler wrapped in all of the middleware; the handler itself if there is none.

    Args:
        handler: the innermost function.
        middleware: the functions, outermost first.
        awaited: whether an async worker calls it and awaits the result.

    Raises:
        ConfigurationError: it is not a list of functions, or one of them is a generator function, or is a coroutine
            function that would not be awaited.
    """
    if not isinstance(middleware, list | tuple):
        raise ConfigurationError(
            f"middleware must be a list of functions of (message, call_next), not {shown(middleware)}; the first is "
            "outermost"
        )
    for layer in middleware:
        if not callable(layer):
            raise ConfigurationError(
                f"middleware must consist of functions of (message, call_next), not {shown(layer)}"
            )
        if is_generator(layer):
            raise ConfigurationError(
                f"the middleware {shown(layer)} is a generator function, so calling it runs nothing; it must "
                "call call_next and return its result"
            )
        check_call("middleware", layer, "message", "call_next")
        if not awaited and is_async(layer):
            raise ConfigurationError(
                f"the middleware {shown(layer)} is an async function; give it to duerow.aio.Worker"
            )
    for layer in reversed([*EVERYWHERE, *middleware]):
        handler = _inside(layer, handler)
    return handler


def _inside(layer: Middleware, inner: Callable[..., Any]) -> Callable[..., Any]:
    """Return a handler in one layer, which receives only the message; a transaction's connection bypasses it."""

    def call(subject: Any, *more: Any) -> Any:
        return layer(subject, (lambda one: inner(one, *more)) if more else inner)

    return call
