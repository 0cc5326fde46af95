"""Run a pipeline on plain workers of an event loop; the stations' functions, which are plain ones, run in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from duerow.aio.database import Database
from duerow.aio.worker import Worker
from duerow.message import Message
from duerow.pipeline import Pipeline, Station
from duerow.pipeline.pipeline import Until
from duerow.pipeline.running import LONGEST_SLEEP, check_run, due_now
from duerow.settlement import Settlement
from duerow.working.pace import Interval

_NOW: Final = timedelta(0)


async def run(pipeline: Pipeline, database: Database, until: Until, rehome: Mapping[str, str] | None = None) -> None:
    """Run rounds: in each, every station with something due has a worker until that station is idle.

    Raises:
        ConfigurationError: not an awaited database, `until` is neither, or messages would be lost from sight.
        NotSupported: the store cannot do what forks, splits and joins need.
    """
    check_run(pipeline, database, Database, until)
    await database.declare_pipeline(pipeline, rehome=rehome)
    workers = {station.name: _worker(pipeline, station, database) for station in pipeline.consumers}
    interval = Interval()
    while True:
        waits = {station: await _due_in(database, station) for station in workers}
        if busy := due_now(waits):
            interval.reset()
            await _round([workers[station] for station in busy])
            continue
        later = [wait for wait in waits.values() if wait is not None]
        if until == "idle" or not later:
            return
        await asyncio.sleep(min(min(later).total_seconds(), interval.next(LONGEST_SLEEP)))


async def _due_in(database: Database, station: str) -> timedelta | None:
    """Return how long until the station's next message is due; None if there is none."""
    return await database.run(lambda: database.store.idle([station], _NOW))


async def _round(workers: Sequence[Worker]) -> None:
    """Run each worker until it is idle; if one fails, or this is cancelled, stop the others."""
    tasks = [asyncio.create_task(worker.run(until="idle")) for worker in workers]
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
