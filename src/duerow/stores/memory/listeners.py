"""Listeners for pushes: threads wait on a condition, and tasks wait on an event."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Protocol


class Hearer(Protocol):
    """An object that is notified of new messages."""

    def hear(self, queues: Iterable[str]) -> None:
        """Note that these queues may have messages due; can be called from any thread."""
        ...


class Audience:
    """All listeners of one in-memory database; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hearers: tuple[Hearer, ...] = ()

    def join(self, hearer: Hearer) -> None:
        """Add a listener."""
        with self._lock:
            self._hearers = (*self._hearers, hearer)

    def leave(self, hearer: Hearer) -> None:
        """Remove a listener."""
        with self._lock:
            self._hearers = tuple(other for other in self._hearers if other is not hearer)

    def tell(self, queues: Iterable[str]) -> None:
        """Notify all listeners about these queues."""
        for hearer in self._hearers:
            hearer.hear(queues)


class MemoryListener:
    """Listens for pushes to some queues in a waiting thread."""

    def __init__(self, audience: Audience, queues: Sequence[str]) -> None:
        self._audience, self._queues = audience, frozenset(queues)
        self._changed = threading.Condition()
        self._heard = self._woken = False
        audience.join(self)

    def hear(self, queues: Iterable[str]) -> None:
        """Note the push, even if no thread is waiting."""
        if not self._queues.isdisjoint(queues):
            with self._changed:
                self._heard = True
                self._changed.notify_all()

    def wait(self, timeout: float) -> bool:
        """Wait at most this many seconds; return True as soon as something may have become due since the last wait."""
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
        """Stop listening."""
        self._audience.leave(self)


class AsyncMemoryListener:
    """Listens for pushes to some queues in a waiting task; create it in the event loop that uses it."""

    def __init__(self, audience: Audience, queues: Sequence[str]) -> None:
        self._audience, self._queues = audience, frozenset(queues)
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._heard = False
        audience.join(self)

    def hear(self, queues: Iterable[str]) -> None:
        """Note the push, even if no task is waiting; it may come from another thread or event loop."""
        if not self._queues.isdisjoint(queues):
            self._call(self._note)

    async def wait(self, timeout: float) -> bool:  # noqa: ASYNC109 - the contract's name and meaning
        """Wait at most this many seconds; return True as soon as something may have become due since the last wait."""
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
        """Stop listening."""
        self._audience.leave(self)

    def _note(self) -> None:
        self._heard = True
        self._changed.set()

    def _call(self, note: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(note)
        except RuntimeError:
            # The loop ended before the listener was closed, so no task can wait for it any more.
            self._audience.leave(self)
