"""Listeners that hear of no push, for databases that wake nobody: consumers look again by themselves."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress


class SilentListener:
    """Ends a wait only when its time is up, or when it is woken; as `duerow.store.Listener`."""

    def __init__(self) -> None:
        self._woken = threading.Event()

    def wait(self, timeout: float) -> bool:
        """Wait for this many seconds, or until `wake` is called; return whether it was."""
        woken = self._woken.wait(timeout)
        self._woken.clear()
        return woken

    def wake(self) -> None:
        """End a running wait, or the next one; from any thread."""
        self._woken.set()

    def close(self) -> None:
        """Do nothing: nothing is held."""


class AsyncSilentListener:
    """The same, awaited; as `duerow.store.AsyncListener`."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()

    async def wait(self, timeout: float) -> bool:  # noqa: ASYNC109 - the contract's name and meaning
        """Wait for this many seconds, or until `wake` is called; return whether it was."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), timeout)
        woken = self._woken.is_set()
        self._woken.clear()
        return woken

    def wake(self) -> None:
        """End a running wait, or the next one; from the same loop."""
        self._woken.set()

    async def close(self) -> None:
        """Do nothing: nothing is held."""
