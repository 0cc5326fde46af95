"""One pool of connections for each event loop: a driver binds a connection to the loop that opened it."""

from __future__ import annotations

import asyncio
import weakref
from asyncio import AbstractEventLoop

from sqlalchemy import Engine, Pool
from sqlalchemy.ext.asyncio import AsyncEngine


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


def _twin(engine: AsyncEngine) -> AsyncEngine:
    inner = engine.sync_engine
    options = inner.get_execution_options()
    return AsyncEngine(Engine(inner.pool.recreate(), inner.dialect, inner.url, execution_options=options))
