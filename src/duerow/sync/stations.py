"""Run a pipeline on plain workers, in this process: for small things, and for tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final, Literal

from duerow.errors import ConfigurationError
from duerow.message import Message
from duerow.pipeline import Pipeline, Station
from duerow.settlement import Settlement
from duerow.sync.database import Database
from duerow.sync.worker import Worker
from duerow.working.pace import Interval

LONGEST_SLEEP: Final = 1.0
"""Seconds between two looks at queues whose messages are all due later."""


def run(pipeline: Pipeline, database: Database, until: Literal["idle", "empty"]) -> None:
    """Run rounds: in each, every station with something due has a worker until that station is idle.

    Raises:
        ConfigurationError: not a blocking database, or `until` is neither.
    """
    if not isinstance(database, Database):
        raise ConfigurationError(
            f"{pipeline} runs on what duerow.connect() returns, not on {type(database).__module__}."
            f"{type(database).__qualname__}"
        )
    if until not in ("idle", "empty"):
        raise ConfigurationError(f"until cannot be {until!r:.80}: say 'idle' or 'empty'")
    interval = Interval()
    while True:
        looks = [(station, _due_in(database, station)) for station in pipeline.stations]
        waits = [wait for _, wait in looks if wait is not None]
        busy = [station for station, wait in looks if wait is not None and wait <= _NOW]
        if busy:
            interval.reset()
            _round(pipeline, busy, database)
        elif until == "idle" or not waits:
            return
        else:
            time.sleep(min(min(waits).total_seconds(), interval.next(LONGEST_SLEEP)))


_NOW: Final = timedelta(0)


def _due_in(database: Database, station: Station) -> timedelta | None:
    """Return how long until the station's next message is due; None if there is none."""
    return database.run(lambda: database.store.idle([station.name], _NOW))


def _round(pipeline: Pipeline, stations: Sequence[Station], database: Database) -> None:
    """Give each station a worker, in a thread of its own so that a signal comes to this one."""
    workers = [_worker(pipeline, station, database) for station in stations]
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
    return Worker(station.queue(database), _handler(station, pipeline.max_hops), name="station")


def _handler(station: Station, max_hops: int) -> Callable[[Message], Any]:
    def handle(message: Message) -> Settlement:
        return station.settlement(message, max_hops)

    return handle
