"""Hearing of messages that became due: by a condition for threads, by an event for tasks of a loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Protocol


class Hearer(Protocol):
    """Whoever wants to know of queues that have something new."""

    def hear(self, queues: Iterable[str]) -> None:
        """Learn that these queues have something that may be due; called from any thread."""
        ...


class Audience:
    """All who listen to one in-memory database; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hearers: tuple[Hearer, ...] = ()

    def join(self, hearer: Hearer) -> None:
        """Let it hear of everything from now on."""
        with self._lock:
            self._hearers = (*self._hearers, hearer)

    def leave(self, hearer: Hearer) -> None:
        """Let it hear of nothing more."""
        with self._lock:
            self._hearers = tuple(other for other in self._hearers if other is not hearer)

    def tell(self, queues: Iterable[str]) -> None:
        """Let all hear of these queues."""
        for hearer in self._hearers:
            hearer.hear(queues)


class MemoryListener:
    """Hears of pushes into some queues, in a thread that waits."""

    def __init__(self, audience: Audience, queues: Sequence[str]) -> None:
        self._audience, self._queues = audience, frozenset(queues)
        self._changed = threading.Condition()
        self._heard = self._woken = False
        audience.join(self)

    def hear(self, queues: Iterable[str]) -> None:
        """Remember it, also while nobody waits."""
        if not self._queues.isdisjoint(queues):
            with self._changed:
                self._heard = True
                self._changed.notify_all()

    def wait(self, timeout: float) -> bool:
        """Wait at most so many seconds; True as soon as something may have become due since the last wait."""
        with self._changed:
            self._changed.wait_for(lambda: self._heard or self._woken, timeout)
            heard, self._heard, self._woken = self._heard, False, False
        return heard

    def wake(self) -> None:
        """End the running `wait`, or the next one, from another thread."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def close(self) -> None:
        """Hear nothing more."""
        self._audience.leave(self)


class AsyncMemoryListener:
    """Hears of pushes into some queues, in a task that waits; to be made inside the loop that it serves."""

    def __init__(self, audience: Audience, queues: Sequence[str]) -> None:
        self._audience, self._queues = audience, frozenset(queues)
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._heard = False
        audience.join(self)

    def hear(self, queues: Iterable[str]) -> None:
        """Remember it, also while nobody waits; the push may come from another thread or loop."""
        if not self._queues.isdisjoint(queues):
            self._call(self._note)

    async def wait(self, timeout: float) -> bool:  # noqa: ASYNC109 - the contract's name and meaning
        """Wait at most so many seconds; True as soon as something may have become due since the last wait."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._changed.wait()
        self._changed.clear()
        heard, self._heard = self._heard, False
        return heard

    def wake(self) -> None:
        """End the running `wait`, or the next one, from the same loop."""
        self._changed.set()

    async def close(self) -> None:
        """Hear nothing more."""
        self._audience.leave(self)

    def _note(self) -> None:
        self._heard = True
        self._changed.set()

    def _call(self, note: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(note)
        except RuntimeError:
            # The loop ended before the listener was closed: nobody can wait there any more.
            self._audience.leave(self)
