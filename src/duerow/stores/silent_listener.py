"""Listeners that hear no pushes, for databases that send no notifications: consumers poll instead."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress


class SilentListener:
    """A `duerow.store.Listener` whose waits end only when their time is up or when `wake` is called.

    Attributes:
        silent: whether it never hears a push, so that its consumer has to poll.
    """

    silent = True

    def __init__(self) -> None:
        self._woken = threading.Event()

    def wait(self, timeout: float) -> bool:
        """Wait for this many seconds, or until `wake` is called; return whether it was called."""
        woken = self._woken.wait(timeout)
        self._woken.clear()
        return woken

    def wake(self) -> None:
        """End a running wait, or the next one; can be called from any thread."""
        self._woken.set()

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class AsyncSilentListener:
    """The same as a `duerow.store.AsyncListener`."""

    silent = True

    def __init__(self) -> None:
        self._woken = asyncio.Event()

    async def wait(self, timeout: float) -> bool:  # noqa: ASYNC109 - the contract's name and meaning
        """Wait for this many seconds, or until `wake` is called; return whether it was called."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):  # wait_for would make a task on Python 3.11
                await self._woken.wait()
        woken = self._woken.is_set()
        self._woken.clear()
        return woken

    def wake(self) -> None:
        """End a running wait, or the next one; must be called from the same loop."""
        self._woken.set()

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""
