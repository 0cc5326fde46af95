"""Run a pipeline on plain workers, in this process: for small things, and for tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from duerow.message import Message
from duerow.pipeline import Pipeline, Station
from duerow.pipeline.pipeline import Until
from duerow.pipeline.running import LONGEST_SLEEP, check_run, due_now
from duerow.settlement import Settlement
from duerow.sync.database import Database
from duerow.sync.worker import Worker
from duerow.working.pace import Interval

_NOW: Final = timedelta(0)


def run(pipeline: Pipeline, database: Database, until: Until, rehome: Mapping[str, str] | None = None) -> None:
    """Run rounds: in each, every station with something due has a worker until that station is idle.

    Raises:
        ConfigurationError: not a blocking database, `until` is neither, or messages would be lost from sight.
        NotSupported: the store cannot do what forks, splits and joins need.
    """
    check_run(pipeline, database, Database, until)
    database.declare_pipeline(pipeline, rehome=rehome)
    workers = {station.name: _worker(pipeline, station, database) for station in pipeline.consumers}
    interval = Interval()
    while True:
        waits = {station: _due_in(database, station) for station in workers}
        if busy := due_now(waits):
            interval.reset()
            _round([workers[station] for station in busy])
            continue
        later = [wait for wait in waits.values() if wait is not None]
        if until == "idle" or not later:
            return
        time.sleep(min(min(later).total_seconds(), interval.next(LONGEST_SLEEP)))


def _due_in(database: Database, station: str) -> timedelta | None:
    """Return how long until the station's next message is due; None if there is none."""
    return database.run(lambda: database.store.idle([station], _NOW))


def _round(workers: Sequence[Worker]) -> None:
    """Run each worker until it is idle, in a thread of its own so that a signal comes to this one."""
    failures: list[BaseException] = []
    threads = [threading.Thread(target=_work, args=(worker, failures), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        _join(threads)
    except BaseException:
        for worker in workers:
            worker.stop()
        _join(threads)
        raise
    if failures:
        raise failures[0]


def _join(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.join()


def _work(worker: Worker, failures: list[BaseException]) -> None:
    try:
        worker.run(until="idle")
    except BaseException as error:  # raised again by whoever waits for the thread
        failures.append(error)


def _worker(pipeline: Pipeline, station: Station, database: Database) -> Worker:
    queue = station.queue(database)
    return Worker(queue, _handler(pipeline, station, database), rate=station.begins_at_most, name="station")


def _handler(pipeline: Pipeline, station: Station, database: Database) -> Callable[[Message], Any]:
    def handle(message: Message) -> Settlement:
        return station.settlement(message, pipeline.max_hops, database.encryption)

    return handle
