"""Run a pipeline on plain workers of an event loop; the stations' functions, which are plain ones, run in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from duerow.aio.database import Database
from duerow.aio.worker import Worker
from duerow.errors import ConfigurationError
from duerow.message import Message
from duerow.pipeline import Pipeline, Station
from duerow.pipeline.running import NOW, check_run, due_now, next_look
from duerow.settlement import Settlement
from duerow.worker.prefetch import Interval
from duerow.worker.run import Until, check_until
from duerow.worker.signals import signals_of_task, stopped_in_loop_by


class PipelineWorker:
    """Runs a pipeline in tasks, a worker for each station; made by `Pipeline.aworker`.

    Args:
        pipeline: what to run.
        database: where its queues are.
        rehome: where the messages of removed stations go; see `Database.declare_pipeline`.

    Raises:
        ConfigurationError: not an awaited database.
        NotSupported: the store cannot do what forks, splits and joins need; or there are frames, which take Spark.
    """

    def __init__(self, pipeline: Pipeline, database: Database, rehome: Mapping[str, str] | None = None) -> None:
        check_run(pipeline, database.store.capabilities)
        self._pipeline, self._database, self._rehome = pipeline, database, rehome
        self._workers: dict[str, Worker] = {}
        self._stops = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._awake = asyncio.Event()

    async def run(self, until: Until = None, *, signals: bool | None = None) -> None:
        """Declare the pipeline and run it; see `Pipeline.arun`.

        Raises:
            ConfigurationError: a station was removed that has messages under way; it runs already, or an argument
                cannot be what it is.
        """
        check_until(until)
        taken = signals_of_task(signals)
        if self._loop is not None:
            raise ConfigurationError(f"{self._pipeline} is run by this worker already; make another one")
        self._loop, self._awake = asyncio.get_running_loop(), asyncio.Event()
        try:
            with stopped_in_loop_by(taken, self.stop):
                await self._run(until)
        finally:
            self._stops, self._loop = 0, None

    @property
    def unknown(self) -> Mapping[str, Mapping[str, int]]:
        """How many messages its workers leave since they do not know their kinds, by queue and kind."""
        return {queue: kinds for worker in self._workers.values() for queue, kinds in worker.unknown.items()}

    def stop(self) -> None:
        """Ask all its workers to stop, and return at once; asked again, they wait for no handler.

        From any thread, handler or signal. What does not run yet will return as soon as it does.
        """
        self._stops += 1
        if (loop := self._loop) is not None:
            loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        self._awake.set()
        for worker in self._workers.values():
            worker.stop()

    async def _run(self, until: Until) -> None:
        pipeline, database = self._pipeline, self._database
        await database.declare_pipeline(pipeline, rehome=self._rehome)
        self._workers = {station.name: _worker(pipeline, station, database) for station in pipeline.consumers}
        if until is None:
            if not self._stops:
                await _work(self._workers.values(), None)
            return
        interval = Interval()
        while not self._stops:
            waits = {station: await self._due_in(station) for station in self._workers}
            if busy := due_now(waits):
                interval.reset()
                await _work([self._workers[station] for station in busy], "idle")
            elif (wait := next_look(waits, until, interval)) is None:
                return
            else:
                await self._sleep(wait)

    async def _due_in(self, station: str) -> timedelta | None:
        """Return how long until the station's next message is due; None if there is none."""
        store, queue = self._database.store, self._workers[station].queue
        return await self._database.run(lambda: store.next_due([station], NOW, queue.only))

    async def _sleep(self, seconds: float) -> None:
        """Wait for so long, or until it is asked to stop."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._awake.wait()


async def _work(workers: Iterable[Worker], until: Until) -> None:
    """Run workers until each has ended; if one fails, or this is cancelled, cancel the others."""
    tasks = [asyncio.create_task(worker.run(until)) for worker in workers]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def _worker(pipeline: Pipeline, station: Station, database: Database) -> Worker:
    queue = database.queue(station.name, **station.declared)
    return Worker(queue, _handler(pipeline, station, database), rate=station.begins_at_most, name="station")


def _handler(
    pipeline: Pipeline, station: Station, database: Database
) -> Callable[[Message], Coroutine[Any, Any, Settlement]]:
    async def handle(message: Message) -> Settlement:
        return await asyncio.to_thread(station.settlement, message, pipeline.max_hops, database.encryption)

    return handle
