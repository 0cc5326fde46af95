"""Everything at once: flights are pushed, the pipeline runs, its ends are recorded, text messages are sent.

Each part goes on where the database says that it was. So this can end at any moment, in any way, and be begun again.
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
"""How long a restarted demo waits for what a killed one had taken: far longer than a chunk takes."""


class Watcher(Protocol):
    """Is told how far the demo has come."""

    def pushed(self, flights: int) -> None:
        """So many flights have been pushed over all runs."""
        ...

    def recorded(self, flights: int, alerts: int) -> None:
        """So many more flights are through the pipeline, and so many more text messages are to be sent."""
        ...

    def begins(self, what: str) -> None:
        """Something begins that may take a while."""
        ...


@dataclass(frozen=True)
class Job:
    """What to do.

    Attributes:
        url: the database.
        flights: how many flights there should be over all runs.
        lease: how long a station or the sender may have a message before somebody else may.
        spark: whether the pipeline runs on Spark; else in threads of this process.
    """

    url: str
    flights: int
    lease: timedelta = LEASE
    spark: bool = True


def work(job: Job, database: Database, engine: Engine, watcher: Watcher) -> None:
    """Do what is left to do; return when nothing is."""
    watcher.begins("Pushing flights")
    producer.push(database, engine, job.flights, watcher.pushed)
    recorder = Recorder(database, engine, watcher.recorded)
    with _Helpers(recorder, sender.worker(database, engine, job.lease)) as helpers:
        if is_under_way(database, stations.STATIONS):
            _run_pipeline(job, database, watcher)
        watcher.begins("Recording the last flights and sending the last text messages")
        helpers.finish()


def is_under_way(database: Database, queues: Iterable[str]) -> bool:
    """Return whether a message of these queues is still to be handled."""
    return any(waiting(database, queue) for queue in queues)


def waiting(database: Database, queue: str) -> int:
    """Return how many messages of a queue are still to be handled."""
    counts = database.queue(queue).count(by="status")
    return counts["new"] + counts["error"]


class _Helpers:
    """The recorder and the sender, each in a thread beside the pipeline."""

    def __init__(self, recorder: Recorder, worker: Worker) -> None:
        self._recorder, self._worker = recorder, worker
        self._threads = ThreadPoolExecutor(2, "duerow-demo")

    def __enter__(self) -> Self:
        self._recording = self._threads.submit(self._recorder.run)
        self._sending = self._threads.submit(self._worker.run)
        return self

    def finish(self) -> None:
        """Wait until everything that the pipeline gave has been recorded and sent."""
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
        pipeline.run(database, until="empty", signals=False)  # the command handles them, and says where it goes on
        return
    from duerow import spark

    watcher.begins("Starting Spark")
    # In a thread, which Ctrl-C does not interrupt: half started, Java would stay behind when we are gone.
    with ThreadPoolExecutor(1) as threads:
        session = threads.submit(spark.session, app="duerow demo").result()
    try:
        watcher.begins("Running the pipeline on Spark")
        spark.run(pipeline, job.url, spark=session, until="empty")
    except BaseException:
        with suppress(Exception):  # Spark may be gone already: what is raised is why
            session.stop()
        raise
    session.stop()
