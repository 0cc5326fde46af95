"""Long polling: one listener of the process learns of pushes for all waiting requests."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from typing import Final

from duerow.aio.database import Database
from duerow.errors import StoreUnavailable
from duerow.store import AsyncListener

LOOK_WOKEN: Final = timedelta(seconds=5)
LOOK_ALONE: Final = timedelta(seconds=1)
"""How often to look if the database wakes consumers, and if it does not."""

SHORTEST_LOOK: Final = 0.02
"""Seconds until the next look at a due message that no request could take; doubled each time."""


class Waiting:
    """Tells requests when to look for messages again.

    Args:
        database: the database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._look = LOOK_WOKEN if database.store.capabilities.wakes_consumers else LOOK_ALONE
        self._queues: Counter[str] = Counter()
        self._rung = asyncio.Event()
        self._listener: AsyncListener | None = None
        self._task: asyncio.Task[None] | None = None

    async def until_due(self, queue: str, seconds: float) -> None:
        """Wait until something may have become due in a queue, at most this many seconds."""
        self._queues[queue] += 1
        try:
            self._begin(queue)
            rung = self._rung
            with suppress(TimeoutError):
                await asyncio.wait_for(rung.wait(), seconds)
        finally:
            self._queues[queue] -= 1
            if not self._queues[queue]:
                del self._queues[queue]
            if not self._queues and self._task is not None:
                self._task.cancel()

    def _begin(self, queue: str) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._listen())
        elif self._queues[queue] == 1 and self._listener is not None:
            self._listener.wake()  # to listen for this queue as well

    async def _listen(self) -> None:
        """Listen while requests wait; wake them whenever a message may have become due."""
        heard_of: frozenset[str] = frozenset()
        in_vain = 0
        try:
            while self._queues:
                if (wanted := frozenset(self._queues)) - heard_of or self._listener is None:
                    await self._stop()
                    self._listener, heard_of = await self._database.connections.listen(sorted(wanted)), wanted
                due_in = await self._next_due(sorted(wanted))
                if due_in <= 0:
                    # No request takes what is due: its queue is paused, or a consumer was faster. Do not keep asking.
                    due_in = min(self._look.total_seconds(), SHORTEST_LOOK * 2**in_vain)
                    in_vain = min(in_vain + 1, 10)
                else:
                    in_vain = 0
                await self._listener.wait(due_in)
                self._ring()
        except StoreUnavailable:
            self._ring()  # the requests get the same error, and report it
        finally:
            await asyncio.shield(self._stop())

    async def _next_due(self, queues: list[str]) -> float:
        look = self._look
        due_in = await self._database.run(lambda: self._database.store.messages.next_due(queues, look))
        return min(look, look if due_in is None else due_in).total_seconds()

    def _ring(self) -> None:
        self._rung.set()
        self._rung = asyncio.Event()

    async def _stop(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            await listener.close()
