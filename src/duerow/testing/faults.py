"""Faults at named points of a database's work, where tests kill a process or break a connection.

    watch(database, kill_at("settle: step 1"))          # before it creates any queues

A point is named after the plan and the place in it: `before` its first step, after each `step n` (inside the
transaction, if the plan has one), `done` but not yet committed, and `committed` before the caller learns of it. The
library itself has no code for this: the store and the connections of the database are wrapped.
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
"""A function that is called with the name of each point that is reached; exceptions that it raises are raised there."""

PLANS: Final[dict[str, frozenset[str]]] = {
    "messages": frozenset(
        {
            "push",
            "push_chunks",
            "push_keyed_chunks",
            "reserve",
            "extend",
            "settle",
            "settle_and_reserve",
            "pop",
            "find",
            "next_due",
        }
    ),
    "operations": frozenset({"change", "remove", "count", "queues"}),
    "metadata": frozenset({"put_settings"}),
    "bulk": frozenset({"lend", "leased_range", "message_headers", "stage", "publish", "discard", "scan", "receive"}),
}
"""The plans that have points, by their part of the store contract."""


def watch(database: Database | aio.Database, hook: Hook) -> None:
    """Call the hook at every point of a database's work, for queues that are created from now on."""
    reached = _Reached(hook)
    awaited = isinstance(database, aio.Database)
    database.store = _WatchedStore(database.store, reached)
    wrapped = (_WatchedAsyncConnections if awaited else _WatchedConnections)(database.connections, reached)
    database.connections = wrapped


def at(point: str, act: Callable[[], None], nth: int = 1) -> Hook:
    """Return a hook that calls `act` once, when the point is reached for the nth time."""
    left = [nth]

    def hook(reached: str) -> None:
        if reached == point:
            left[0] -= 1
            if left[0] == 0:
                act()

    return hook


def kill_at(point: str, nth: int = 1) -> Hook:
    """Return a hook that kills this process with SIGKILL, as a power cut would."""
    return at(point, lambda: os.kill(os.getpid(), signal.SIGKILL), nth)


def fail_at(point: str, error: BaseException, nth: int = 1, times: int = 1) -> Hook:
    """Return a hook that raises an error `times` times, starting when the point is reached for the nth time."""
    seen = [0]

    def hook(reached: str) -> None:
        if reached == point:
            seen[0] += 1
            if nth <= seen[0] < nth + times:
                raise error

    return hook


class _Reached:
    """Calls the hook, and remembers which plan each thread ran last."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook
        self._last = threading.local()

    def __call__(self, plan: str, place: str) -> None:
        self._last.plan = plan
        self._hook(f"{plan}: {place}")

    def committed(self) -> None:
        """Report that the last plan was committed."""
        plan = getattr(self._last, "plan", None)
        if plan is not None:
            self._hook(f"{plan}: committed")


class _WatchedStore:
    def __init__(self, store: Any, reached: _Reached) -> None:
        self._store, self._reached = store, reached

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return _WatchedPart(found, PLANS[name], self._reached) if name in PLANS else found


class _WatchedPart:
    def __init__(self, part: Any, plans: frozenset[str], reached: _Reached) -> None:
        self._part, self._plans, self._reached = part, plans, reached

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        if name not in self._plans:
            return found
        return lambda *args, **named: _watched(name, found(*args, **named), self._reached)


def _watched(name: str, plan: Plan[T], reached: _Reached) -> Plan[T]:
    """Run the plan step by step, and report each point."""
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
