"""Where telemetry attaches to duerow: methods of both APIs, wrapped only while something watches them.

While nothing is attached, the methods are the original ones and cost nothing extra.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, Final

from duerow.aio.executor import Executor as AwaitedExecutor
from duerow.aio.queue import Queue as AwaitedQueue
from duerow.aio.turns import Turns as AwaitedTurns
from duerow.queue.reserved import is_reserved
from duerow.sync.executor import Executor
from duerow.sync.queue import Queue
from duerow.sync.turns import Turns

_changing: Final = threading.Lock()


@dataclass
class WatchedCall:
    """A call to a watched method: its arguments, which a watch may change before the call, and its result after it."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any = None


Watch = Callable[[Any, WatchedCall], AbstractContextManager[None]]
"""(the queue or database, the call) -> a context manager around the call, which sees the method's exception."""

OWNERS: Final[Mapping[str, tuple[type[Any], ...]]] = {
    "push": (AwaitedQueue, Queue),
    "push_many": (AwaitedQueue, Queue),
    "reserve_many": (AwaitedQueue, Queue),
    "pop_many": (AwaitedQueue, Queue),
    "extend": (AwaitedTurns, Turns),
    "settle": (AwaitedTurns, Turns),
    "settle_one": (AwaitedTurns, Turns),
    "run": (AwaitedExecutor, Executor),
}
"""The methods that can be watched, and the classes that have them."""

_NAMES: Final = {name: [name] for name in OWNERS} | {"reserve_many": ["reserve_many", "_reserved_along"]}
"""The methods that are watched under each of these names: a settlement may also reserve."""

_ORIGINALS: Final = {
    (owner, method): getattr(owner, method)
    for name, owners in OWNERS.items()
    for owner in owners
    for method in _NAMES[name]
}

_watches: dict[str, list[Watch]] = {name: [] for name in OWNERS}


def attach(watches: Mapping[str, Watch]) -> Callable[[], None]:
    """Watch methods; return a function that stops it."""
    with _changing:
        for name, watch in watches.items():
            _watches[name].append(watch)
            _install(name)

    def detach() -> None:
        with _changing:
            for name, watch in watches.items():
                if watch in _watches[name]:
                    _watches[name].remove(watch)
                    _install(name)

    return detach


def _install(name: str) -> None:
    for owner in OWNERS[name]:
        for called in _NAMES[name]:
            method = _ORIGINALS[owner, called]
            for watch in _watches[name]:
                method = _watched(method, watch)
            setattr(owner, called, method)


def _watched(method: Any, watch: Watch) -> Any:
    if iscoroutinefunction(method):

        @wraps(method)
        async def awaited(self: Any, *args: Any, **kwargs: Any) -> Any:
            watched = _watched_of(self)
            if _is_of_duerow(watched):
                return await method(self, *args, **kwargs)
            call = WatchedCall(args, kwargs)
            with watch(watched, call):
                call.result = await method(self, *call.args, **call.kwargs)
            return call.result

        return awaited

    @wraps(method)
    def blocking(self: Any, *args: Any, **kwargs: Any) -> Any:
        watched = _watched_of(self)
        if _is_of_duerow(watched):
            return method(self, *args, **kwargs)
        call = WatchedCall(args, kwargs)
        with watch(watched, call):
            call.result = method(self, *call.args, **call.kwargs)
        return call.result

    return blocking


def _watched_of(owner: Any) -> Any:
    """Return the queue of these turns; return any other object unchanged."""
    return owner._queue if isinstance(owner, AwaitedTurns | Turns) else owner


def _is_of_duerow(owner: Any) -> bool:
    """Return whether this is one of duerow's own queues, such as that of a singleton's permit; nobody watches those."""
    return isinstance(owner, AwaitedQueue | Queue) and is_reserved(owner.name)


def watching(function: Callable[[Any, WatchedCall], Generator[None, None, None]]) -> Watch:
    """Turn a generator function that yields once, around the call, into a watch."""
    return contextmanager(function)
