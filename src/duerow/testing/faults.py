"""Faults at named points of a database's work: in tests, a process can be killed or a connection broken right there.

    watch(database, kill_at("settle: step 1"))          # before queues are made from it

A point is named by the plan and the place in it: `before` its first step, after each `step n` (in mid-transaction,
where the plan has one), when it is `done` but not yet committed, and when it is `committed` but nobody knows yet.
The product knows nothing of this: the database's store and connections are wrapped from outside.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, TypeVar

from duerow import Database, aio
from duerow.plan import BEGIN, AsyncExecute, Execute, Plan

T = TypeVar("T")

Hook = Callable[[str], None]
"""Is told each point when it is reached; what it raises comes up there."""

PLANS: Final = frozenset(
    {"push", "reserve", "extend", "settle", "pop", "remove", "find", "count", "queues", "next_due"}
    | {"lend", "leased_range", "message_headers", "stage", "publish", "discard"}
    | {"scan", "change", "put_settings", "receive"}
)


def watch(database: Database | aio.Database, hook: Hook) -> None:
    """Call the hook at every point of the work of a database; of queues that are made from now on."""
    reached = _Reached(hook)
    awaited = isinstance(database, aio.Database)
    database.store = _WatchedStore(database.store, reached)
    wrapped = (_WatchedAsyncConnections if awaited else _WatchedConnections)(database.connections, reached)
    database.connections = wrapped


def at(point: str, act: Callable[[], None], nth: int = 1) -> Hook:
    """Return a hook that acts once, when the point is reached for the nth time."""
    left = [nth]

    def hook(reached: str) -> None:
        if reached == point:
            left[0] -= 1
            if left[0] == 0:
                act()

    return hook


def kill_at(point: str, nth: int = 1) -> Hook:
    """Return a hook that ends this process at once, as a power cut would."""
    return at(point, lambda: os.kill(os.getpid(), signal.SIGKILL), nth)


def fail_at(point: str, error: BaseException, nth: int = 1, times: int = 1) -> Hook:
    """Return a hook that raises an error so many times, from the nth time on that the point is reached."""
    seen = [0]

    def hook(reached: str) -> None:
        if reached == point:
            seen[0] += 1
            if nth <= seen[0] < nth + times:
                raise error

    return hook


class _Reached:
    """Tells the hook, and remembers for each thread which plan was last at work."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook
        self._last = threading.local()

    def __call__(self, plan: str, place: str) -> None:
        self._last.plan = plan
        self._hook(f"{plan}: {place}")

    def committed(self) -> None:
        """Tell that the last plan was committed."""
        plan = getattr(self._last, "plan", None)
        if plan is not None:
            self._hook(f"{plan}: committed")


class _WatchedStore:
    def __init__(self, store: Any, reached: _Reached) -> None:
        self._store, self._reached = store, reached

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in PLANS:
            return found
        return lambda *args, **named: _watched(name, found(*args, **named), self._reached)


def _watched(name: str, plan: Plan[T], reached: _Reached) -> Plan[T]:
    """The same plan, step by step, with a word at each point."""
    reached(name, "before")
    steps = 0
    try:
        step = next(plan)
        while True:
            try:
                answer = yield step
            except Exception as error:
                step = plan.throw(error)
            else:
                if step is not BEGIN:
                    steps += 1
                    reached(name, f"step {steps}")
                step = plan.send(answer)
    except StopIteration as finished:
        result: T = finished.value
    reached(name, "done")
    return result


class _WatchedConnections:
    def __init__(self, connections: Any, reached: _Reached) -> None:
        self._connections, self._reached = connections, reached

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connections, name)

    @contextmanager
    def open(self) -> Iterator[Execute]:
        with self._connections.open() as execute:
            yield execute
        self._reached.committed()

    def begin(self) -> Any:
        return _WatchedTransaction(self._connections.begin(), self._reached)


class _WatchedTransaction:
    def __init__(self, own: Any, reached: _Reached) -> None:
        self._own, self._reached = own, reached

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def commit(self) -> None:
        self._own.commit()
        self._reached.committed()


class _WatchedAsyncConnections(_WatchedConnections):
    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncExecute]:  # type: ignore[override]
        async with self._connections.open() as execute:
            yield execute
        self._reached.committed()

    async def begin(self) -> Any:
        return _WatchedAsyncTransaction(await self._connections.begin(), self._reached)


class _WatchedAsyncTransaction(_WatchedTransaction):
    async def commit(self) -> None:  # type: ignore[override]
        await self._own.commit()
        self._reached.committed()
