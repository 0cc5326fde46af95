"""Waiting for pushes by looking again: nobody is told of them, but a wait can be ended."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress


class PollingListener:
    """Hears of nothing; as `Listener`."""

    def __init__(self) -> None:
        self._woken = threading.Event()

    def wait(self, timeout: float) -> bool:
        """Wait for so many seconds, or until somebody wakes it."""
        woken = self._woken.wait(timeout)
        self._woken.clear()
        return woken

    def wake(self) -> None:
        """End a running wait from another thread."""
        self._woken.set()

    def close(self) -> None:
        """Hold nothing."""


class AsyncPollingListener:
    """Hears of nothing; as `AsyncListener`."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()

    async def wait(self, timeout: float) -> bool:  # noqa: ASYNC109 - the contract's name and meaning
        """Wait for so many seconds, or until somebody wakes it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._woken.wait()
        woken = self._woken.is_set()
        self._woken.clear()
        return woken

    def wake(self) -> None:
        """End a running wait from the same loop."""
        self._woken.set()

    async def close(self) -> None:
        """Hold nothing."""
