"""A worker counts as woken by pushes only if its connection hears them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from duerow.aio.wakeup import Wakeup as AsyncWakeup
from duerow.store import Capabilities
from duerow.stores.silent_listener import AsyncSilentListener, SilentListener
from duerow.sync.wakeup import Wakeup


class Hearing:
    """A run that notes whether it hears pushes."""

    queues = ("mail",)
    poll = 5.0
    gave_up = False

    def __init__(self) -> None:
        self.hears = False

    def hears_again(self) -> None:
        self.hears = True

    def hears_no_more(self, error: Exception) -> None:
        self.hears = False


class AsyncListening(AsyncSilentListener):
    """A listener that hears pushes."""

    silent = False


class Listening(SilentListener):
    """A listener that hears pushes."""

    silent = False


def queue_with(listen: Any) -> Any:
    """Return a queue whose connections listen in this way."""
    store = SimpleNamespace(capabilities=Capabilities(wakes_consumers=True))
    return SimpleNamespace(database=SimpleNamespace(store=store, connections=SimpleNamespace(listen=listen)))


@pytest.mark.parametrize(("listener", "hears"), [(SilentListener, False), (Listening, True)])
def test_pushes_wake_a_worker_only_if_its_driver_hears_them(listener: type[SilentListener], hears: bool) -> None:
    run = Hearing()
    Wakeup(run, queue_with(lambda queues: listener())).listen()
    assert run.hears is hears


@pytest.mark.parametrize(("listener", "hears"), [(AsyncSilentListener, False), (AsyncListening, True)])
def test_pushes_wake_an_awaited_worker_only_if_its_driver_hears_them(
    listener: type[AsyncSilentListener], hears: bool
) -> None:
    run = Hearing()

    async def listen(queues: Any) -> AsyncSilentListener:
        return listener()

    asyncio.run(AsyncWakeup(run, queue_with(listen)).listen())
    assert run.hears is hears
