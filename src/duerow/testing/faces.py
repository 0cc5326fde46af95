"""Both APIs behind one blocking interface, so that one set of tests covers both.

The blocking API is used as it is. The async API is wrapped in the same interface: each call runs its coroutine to the
end on an event loop that lives as long as the test. So every test really uses `duerow.aio`, its drivers and its
connections, and no test exists twice. Separate tests check what only an event loop can show: that it is never blocked.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, cast

import duerow
from duerow import aio, fixed, limited
from duerow.aio.tasks import Tasks as AwaitedTasks
from duerow.sync.tasks import Tasks

T = TypeVar("T")


class Face(Protocol):
    """One of the two APIs, behind blocking calls."""

    name: str

    def connect(self, target: Any, **settings: Any) -> duerow.Database:
        """Like `duerow.connect`."""
        ...


class BlockingFace:
    """`duerow` itself."""

    name = "sync"

    def connect(self, target: Any, **settings: Any) -> duerow.Database:
        """Like `duerow.connect`."""
        return duerow.connect(target, **settings)


class AwaitedFace:
    """`duerow.aio`, with each call awaited on a separate event loop; a context manager."""

    name = "async"

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def connect(self, target: Any, **settings: Any) -> duerow.Database:
        """Like `duerow.connect`, through `duerow.aio.connect`."""
        database = self.run(aio.connect(target, **settings))
        return cast(duerow.Database, _Awaited(database, self.run))

    def run(self, awaitable: Awaitable[T]) -> T:
        """Await something, such as an async object that the test made, on the loop of this face."""

        async def waiting() -> T:
            return await awaitable

        return self._runner.run(waiting())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.close()


class _Awaited:
    """An object of `duerow.aio` whose coroutines run to the end when called."""

    def __init__(self, wrapped: Any, run: Callable[[Awaitable[Any]], Any]) -> None:
        self._wrapped, self._run = wrapped, run

    def __getattr__(self, name: str) -> Any:
        return _present(getattr(self._wrapped, name), self._run)

    def __repr__(self) -> str:
        return f"awaited {self._wrapped!r}"

    def __call__(self, *args: Any, **named: Any) -> Any:
        return _present(self._wrapped(*map(_bare, args), **named), self._run)

    def __enter__(self) -> Self:
        self._run(self._wrapped.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        return self._run(self._wrapped.__aexit__(kind, error, trace))


def _present(value: Any, run: Callable[[Awaitable[Any]], Any]) -> Any:
    """Present an object of the async API as the blocking API would return it."""
    if isinstance(value, list):
        return [_present(member, run) for member in value]
    if inspect.isawaitable(value):
        return _present(run(value), run)
    if inspect.ismethod(value) and _is_ours(value.__self__):
        return _calling(value, run)
    if hasattr(value, "__aenter__") and not _is_ours(value):
        return _entering(value, run)
    return _Awaited(value, run) if _is_ours(value) else value


def _is_ours(value: Any) -> bool:
    return type(value).__module__.startswith("duerow.aio")


def _calling(method: Callable[..., Any], run: Callable[[Awaitable[Any]], Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **named: Any) -> Any:
        bare = {name: _bare(value) for name, value in named.items()}
        return _present(method(*map(_bare, args), **bare), run)

    return call


def _bare(value: Any, depth: int = 3) -> Any:
    """Unwrap what a test passes back, in lists too, but only to a limited depth: a list may contain itself."""
    if isinstance(value, _Awaited):
        return value._wrapped
    if isinstance(value, Iterator):
        return (_bare(part, depth) for part in value)
    if isinstance(value, list | tuple) and depth:
        return type(value)(_bare(part, depth - 1) for part in value)
    return value


@contextmanager
def _entering(manager: Any, run: Callable[[Awaitable[Any]], Any]) -> Iterator[Any]:
    """Use an `async with` block as a `with` block."""
    entered = run(manager.__aenter__())
    try:
        yield _present(entered, run)
    except BaseException as error:
        if not run(manager.__aexit__(type(error), error, error.__traceback__)):
            raise
    else:
        run(manager.__aexit__(None, None, None))


def presented(wrapped: Any, face: AwaitedFace) -> Any:
    """Wrap an object of `duerow.aio` that a test made itself."""
    return _Awaited(wrapped, face.run)


def unwrapped(database: duerow.Database) -> duerow.Database | aio.Database:
    """Return the wrapped database, of `duerow` or `duerow.aio`."""
    return cast("duerow.Database | aio.Database", _bare(database))


def tasks_of(face: Face, database: duerow.Database, **terms: Any) -> Tasks:
    """Return tasks of this face in a database: two attempts without a delay, results kept for an hour."""
    terms = {"results": timedelta(hours=1), "retry": limited(2, fixed(timedelta(0))), **terms}
    if isinstance(face, AwaitedFace):
        return cast(Tasks, presented(AwaitedTasks(cast(aio.Database, unwrapped(database)), **terms), face))
    return Tasks(database, **terms)


@contextmanager
def another(face: Face) -> Iterator[Face]:
    """Return a face of the same kind for another thread, with a separate loop if it needs one."""
    if isinstance(face, AwaitedFace):
        with AwaitedFace() as mine:
            yield mine
    else:
        yield BlockingFace()
