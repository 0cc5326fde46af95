"""Run the workers of a pipeline side by side, as tasks of one loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from duerow.aio.executor import Executor
from duerow.message import Message
from duerow.pipeline import Pipeline, Station
from duerow.pipeline.host import AwaitedPipelineRun
from duerow.settlement import Settlement
from duerow.worker.run import Until

T = TypeVar("T")


class Alarm:
    """Ends a sleep; must be created on the loop that sleeps."""

    def __init__(self) -> None:
        self._loop, self._rung = asyncio.get_running_loop(), asyncio.Event()

    def ring(self) -> None:
        """End this sleep or the next one; may be called from any thread."""
        with suppress(RuntimeError):  # the loop was closed meanwhile
            self._loop.call_soon_threadsafe(self._rung.set)

    async def sleep(self, seconds: float) -> None:
        """Sleep for this many seconds, or until it rings."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._rung.wait()


async def work(workers: Iterable[AwaitedPipelineRun], until: Until) -> None:
    """Run workers until each has ended; if one fails, or this is cancelled, cancel the others."""
    tasks = [asyncio.create_task(worker.run(until)) for worker in workers]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def handler_of(
    pipeline: Pipeline, station: Station, database: Executor
) -> Callable[[Message], Coroutine[Any, Any, Settlement]]:
    """Return the handler of a station, which runs the station's plain function in a thread."""

    async def handle(message: Message) -> Settlement:
        return await beside(lambda: station.settlement(message, pipeline.max_hops, database.encryption))

    async def beside(call: Callable[[], Settlement]) -> Settlement:
        return await (asyncio.to_thread(call) if station.call_timeout is None else _in_own_thread(call))

    return handle


async def _in_own_thread(call: Callable[[], T]) -> T:
    """Return what a call returns or raise what it raises; if cancelled, abandon the call.

    A call that hangs would occupy a thread of the loop's pool forever, and the loop could not be closed.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def conclude(conclusion: Callable[[], None]) -> None:
        if not done.done():  # otherwise it was abandoned
            conclusion()

    def work() -> None:
        try:
            result = call()
        except BaseException as error:
            conclusion = partial(done.set_exception, error)
        else:
            conclusion = partial(done.set_result, result)
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(conclude, conclusion)

    threading.Thread(target=work, name="duerow-station", daemon=True).start()
    return await done
