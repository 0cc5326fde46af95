"""Runs all parts together: they push flights, run the pipeline, record its outputs, and send text messages.

The database records how far each part has come. So the demo can stop at any time, in any way, and be started again.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Final, Protocol, Self

from sqlalchemy import Engine

from duerow import Database, Worker
from examples.flights import producer, sender, stations
from examples.flights.recorder import Recorder

LEASE: Final = timedelta(seconds=15)
"""How long a restarted demo waits for the messages that a killed run had taken; far longer than a chunk takes."""


class Watcher(Protocol):
    """Receives reports on the demo's progress."""

    def pushed(self, flights: int) -> None:
        """Report the number of flights that have been pushed in all runs together."""
        ...

    def recorded(self, flights: int, alerts: int) -> None:
        """Report how many more flights have come through the pipeline, and how many more text messages were pushed."""
        ...

    def begins(self, what: str) -> None:
        """Report the beginning of a step that may take a while."""
        ...


@dataclass(frozen=True)
class Job:
    """The settings of a run.

    Attributes:
        url: the database.
        flights: how many flights to handle in all runs together.
        lease: how long a lease lasts at the stations and in the sender.
        spark: whether to run the pipeline on Spark; otherwise it runs in threads of this process.
    """

    url: str
    flights: int
    lease: timedelta = LEASE
    spark: bool = True


def work(job: Job, database: Database, engine: Engine, watcher: Watcher) -> None:
    """Do all the work that is left, and return when it is done."""
    watcher.begins("Pushing flights")
    producer.push(database, engine, job.flights, watcher.pushed)
    recorder = Recorder(database, engine, watcher.recorded)
    with _Helpers(recorder, sender.worker(database, engine, job.lease)) as helpers:
        if is_under_way(database, stations.STATIONS):
            _run_pipeline(job, database, watcher)
        watcher.begins("Recording the last flights and sending the last text messages")
        helpers.finish()


def is_under_way(database: Database, queues: Iterable[str]) -> bool:
    """Return whether any message in these queues has not been handled yet."""
    return any(waiting(database, queue) for queue in queues)


def waiting(database: Database, queue: str) -> int:
    """Return how many messages in a queue have not been handled yet."""
    counts = database.queue(queue).count(by="status")
    return counts["new"] + counts["error"]


class _Helpers:
    """The recorder and the sender, each in its own thread while the pipeline runs."""

    def __init__(self, recorder: Recorder, worker: Worker) -> None:
        self._recorder, self._worker = recorder, worker
        self._threads = ThreadPoolExecutor(2, "duerow-demo")

    def __enter__(self) -> Self:
        self._recording = self._threads.submit(self._recorder.run)
        self._sending = self._threads.submit(self._worker.run)
        return self

    def finish(self) -> None:
        """Wait until all output of the pipeline has been recorded and all text messages have been sent."""
        self._recorder.finish()
        self._recording.result()
        self._worker.stop()
        self._sending.result()
        self._threads.submit(self._worker.run, "empty").result()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recorder.stop()
        self._worker.stop()
        self._threads.shutdown()


def _run_pipeline(job: Job, database: Database, watcher: Watcher) -> None:
    watcher.begins("Loading weather and planes")
    pipeline = stations.pipeline(job.lease)
    if not job.spark:
        watcher.begins("Running the pipeline in threads")
        pipeline.run(database, until="empty", signals=False)  # the command handles them instead
        return
    from duerow import spark

    watcher.begins("Starting Spark")
    # In a thread, which Ctrl-C does not interrupt: otherwise a half-started Java process could outlive this one.
    with ThreadPoolExecutor(1) as threads:
        session = threads.submit(spark.session, app="duerow demo").result()
    try:
        watcher.begins("Running the pipeline on Spark")
        spark.run(pipeline, job.url, spark=session, until="empty")
    except BaseException:
        with suppress(Exception):  # Spark may already be gone; the original error says why
            session.stop()
        raise
    session.stop()
