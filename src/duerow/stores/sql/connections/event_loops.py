"""The connections of each event loop: a driver binds a connection to the loop that opened it."""

from __future__ import annotations

import asyncio
import time
import weakref
from asyncio import AbstractEventLoop
from typing import Any

from sqlalchemy import Engine, Pool
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from duerow.stores.sql.connections.engines import AT_HAND


class AwaitedLink:
    """A connection, and the object that runs steps on it.

    Attributes:
        used: since when it has been idle, in monotonic seconds; only set at hand.
    """

    __slots__ = ("execute", "lent", "used")

    def __init__(self, lent: AsyncConnection, execute: Any) -> None:
        self.lent, self.execute = lent, execute
        self.used = 0.0


class Hand:
    """The connections that one event loop keeps at hand.

    They no longer belong to its pool: a loop may end without closing them, and SQLAlchemy warns about lent connections
    that were never given back.

    Attributes:
        idle: those that nobody uses, the last used one at the end.
    """

    def __init__(self) -> None:
        self.idle: list[AwaitedLink] = []
        self._kept: set[AwaitedLink] = set()

    def keep(self, link: AwaitedLink) -> bool:
        """Take a connection after use, or return False if there are enough others."""
        if link not in self._kept:
            if len(self._kept) >= AT_HAND or link.lent.sync_connection is None:
                return False
            link.lent.sync_connection.detach()
            self._kept.add(link)
        link.used = time.monotonic()
        self.idle.append(link)
        return True

    def forget(self, link: AwaitedLink) -> bool:
        """Return whether a connection was kept here; it no longer is."""
        if link not in self._kept:
            return False
        self._kept.remove(link)
        return True


class HandOfLoop:
    """The connections at hand in several event loops, each in its own thread."""

    def __init__(self) -> None:
        self._hands: weakref.WeakKeyDictionary[AbstractEventLoop, Hand] = weakref.WeakKeyDictionary()

    def here(self) -> Hand:
        """Return those of the running loop."""
        loop = asyncio.get_running_loop()
        if (hand := self._hands.get(loop)) is None:
            _drop_closed(self._hands)
            hand = self._hands[loop] = Hand()
        return hand

    def forget(self) -> list[Hand]:
        """Start anew without those of any loop, and return them unclosed."""
        hands = list(self._hands.values())
        self._hands.clear()
        return hands


class EngineOfLoop:
    """An async engine for several event loops, each in its own thread.

    The first loop that asks gets the engine itself, and every other loop a copy with its own pool.

    Args:
        engine: duerow's own engine, or the user's.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._home: weakref.ref[AbstractEventLoop] | None = None
        self._twins: weakref.WeakKeyDictionary[AbstractEventLoop, AsyncEngine] = weakref.WeakKeyDictionary()

    def here(self) -> AsyncEngine:
        """Return the engine for the running loop."""
        loop = asyncio.get_running_loop()
        if self._home is None:
            self._home = weakref.ref(loop)
        if self._home() is loop:
            return self._engine
        if loop not in self._twins:
            _drop_closed(self._twins)
            self._twins[loop] = _twin(self._engine)
        return self._twins[loop]

    def forget(self, own: bool) -> list[Pool]:
        """Replace all pools with empty ones, and return the old ones unclosed; the engine's own pool only if `own`."""
        engines = [each.sync_engine for each in self._twins.values()]
        if own:
            engines.append(self._engine.sync_engine)
        pools = [each.pool for each in engines]
        for each in engines:
            each.dispose(close=False)
        return pools

    async def close(self, own: bool) -> None:
        """Close the idle connections of the running loop; those of the engine itself only if `own`."""
        engine = self.here()
        if own or engine is not self._engine:
            await engine.dispose()


def _drop_closed(of_loops: weakref.WeakKeyDictionary[AbstractEventLoop, Any]) -> None:
    """Drop what belongs to loops that have been closed: some drivers' connections keep their loop alive."""
    for loop in list(of_loops):
        if loop.is_closed():
            of_loops.pop(loop, None)


def _twin(engine: AsyncEngine) -> AsyncEngine:
    inner = engine.sync_engine
    options = inner.get_execution_options()
    return AsyncEngine(Engine(inner.pool.recreate(), inner.dialect, inner.url, execution_options=options))
