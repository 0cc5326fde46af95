"""Both faces behind one interface of blocking calls, so that one set of tests covers both.

The blocking face is used as it is. The awaited face is wrapped in the same interface: each call runs its coroutine to
the end on an event loop that lives as long as the test. So every test really uses `duerow.aio`, its drivers and its
connections, and no test exists twice. What only an event loop can show (that it is never blocked) has tests of its own.
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
    """One of the two faces, behind blocking calls."""

    name: str

    def connect(self, target: Any, **settings: Any) -> duerow.Database:
        """As `duerow.connect`."""
        ...


class BlockingFace:
    """`duerow` itself."""

    name = "sync"

    def connect(self, target: Any, **settings: Any) -> duerow.Database:
        """As `duerow.connect`."""
        return duerow.connect(target, **settings)


class AwaitedFace:
    """`duerow.aio`, each call awaited on an event loop of its own; a context manager."""

    name = "async"

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def connect(self, target: Any, **settings: Any) -> duerow.Database:
        """Like `duerow.connect`, through `duerow.aio.connect`."""
        database = self.run(aio.connect(target, **settings))
        return cast(duerow.Database, _Awaited(database, self.run))

    def run(self, awaitable: Awaitable[T]) -> T:
        """Await something on the loop of this face, such as an async object that the test made."""

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
    """Show something of the awaited face as the blocking face would."""
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
    """Take the presentation off what a test hands back, also in lists, but not deep: one may hold itself."""
    if isinstance(value, _Awaited):
        return value._wrapped
    if isinstance(value, Iterator):
        return (_bare(part, depth) for part in value)
    if isinstance(value, list | tuple) and depth:
        return type(value)(_bare(part, depth - 1) for part in value)
    return value


@contextmanager
def _entering(manager: Any, run: Callable[[Awaitable[Any]], Any]) -> Iterator[Any]:
    """An `async with` as a `with`."""
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
    """Return the wrapped database: of `duerow` or of `duerow.aio`."""
    return cast("duerow.Database | aio.Database", _bare(database))


def tasks_of(face: Face, database: duerow.Database, **terms: Any) -> Tasks:
    """Return tasks of this face in a database: two attempts at once one after the other, results kept for an hour."""
    terms = {"results": timedelta(hours=1), "retry": limited(2, fixed(timedelta(0))), **terms}
    if isinstance(face, AwaitedFace):
        return cast(Tasks, presented(AwaitedTasks(cast(aio.Database, unwrapped(database)), **terms), face))
    return Tasks(database, **terms)


@contextmanager
def another(face: Face) -> Iterator[Face]:
    """Return a face of the same kind for another thread, with a loop of its own if it needs one."""
    if isinstance(face, AwaitedFace):
        with AwaitedFace() as mine:
            yield mine
    else:
        yield BlockingFace()
