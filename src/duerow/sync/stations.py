# Generated from ../aio/stations.py by tools/generate_sync.py; edit that file instead.
"""Run a pipeline on plain workers, one for each station."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import timedelta

from duerow.errors import ConfigurationError
from duerow.pipeline import Crossing, Pipeline, Station
from duerow.pipeline.run import NOW, check_run, due_now, next_look
from duerow.sync.crossing import CrossingWorker
from duerow.sync.pipeline_workers import Alarm, handler_of, work
from duerow.sync.pipelines import Pipelines
from duerow.sync.queue import Queue
from duerow.sync.worker import Worker
from duerow.worker.health import Health, health_of, health_of_all
from duerow.worker.prefetch import Interval
from duerow.worker.run import Until, check_until
from duerow.worker.signals import signals_of_thread, stopped_by


class PipelineWorker:
    """Runs a pipeline in threads, a worker for each station; made by `Pipeline.worker`.

    Args:
        pipeline: the pipeline to run.
        database: the database that contains its queues.
        rehome: where the messages of removed stations go; see `Database.declare_pipeline`.

    Raises:
        ConfigurationError: the database is not blocking.
        NotSupported: the store cannot do what forks, splits and joins need, or there are frame stations, which need
            Spark.
    """

    def __init__(self, pipeline: Pipeline, database: Pipelines, rehome: Mapping[str, str] | None = None) -> None:
        check_run(pipeline, database.store.capabilities)
        self._pipeline, self._database, self._rehome = pipeline, database, rehome
        self._workers: dict[str, Worker | CrossingWorker] = {}
        self._stops = 0
        self._alarm: Alarm | None = None
        self._running = threading.Lock()

    def run(self, until: Until = None, *, signals: bool | None = None) -> None:
        """Declare the pipeline and run it; see `Pipeline.run`.

        Raises:
            ConfigurationError: a station with messages under way was removed, the pipeline is already running, or an
                argument is invalid.
        """
        check_until(until)
        taken = signals_of_thread(signals)
        if not self._running.acquire(blocking=False):
            raise ConfigurationError(f"{self._pipeline} is already being run by this worker; make another worker")
        try:
            self._alarm = alarm = Alarm()
            with stopped_by(taken, self.stop):
                self._run(until, alarm)
        finally:
            try:
                for crossing in self._crossings:
                    crossing.close()
            finally:
                self._stops, self._alarm = 0, None
                self._running.release()

    @property
    def _crossings(self) -> list[CrossingWorker]:
        return [worker for worker in self._workers.values() if isinstance(worker, CrossingWorker)]

    @property
    def unknown(self) -> Mapping[str, Mapping[str, int]]:
        """How many messages its workers skip because they do not know their kinds, by queue and kind."""
        return {queue: kinds for worker in self._workers.values() for queue, kinds in worker.unknown.items()}

    @property
    def health(self) -> Health:
        """Whether its workers are alive and ready to work, for probes."""
        running = [worker.health for worker in list(self._workers.values())]
        return health_of_all(one for one in running if one.why != health_of(None).why or not running)

    def stop(self) -> None:
        """Ask all its workers to stop, and return at once; after a second call they do not wait for running handlers.

        Call it from any thread, handler or signal handler. A worker that is not running yet will return as soon as it
        is run.
        """
        # Nothing here may wait for a lock: a signal may have interrupted its holder.
        self._stops += 1
        for worker in list(self._workers.values()):
            worker.stop()
        if (alarm := self._alarm) is not None:
            alarm.ring()

    def _run(self, until: Until, alarm: Alarm) -> None:
        pipeline, database = self._pipeline, self._database
        database.declare_pipeline(pipeline, rehome=self._rehome)
        self._workers = {station.name: _worker(pipeline, station, database) for station in pipeline.consumers}
        for crossing in self._crossings:
            crossing.check()
        if until is None:
            if not self._stops:
                work(self._workers.values(), None)
            return
        interval = Interval()
        while not self._stops:
            waits = {station: self._due_in(station) for station in self._workers}
            if busy := due_now(waits):
                interval.reset()
                work([self._workers[station] for station in busy], "idle")
            elif (wait := next_look(waits, until, interval)) is None:
                return
            else:
                alarm.sleep(wait)

    def _due_in(self, station: str) -> timedelta | None:
        """Return how long until the station's next message is due; None if there is none."""
        worker = self._workers[station]
        wait = self._database.run(lambda: self._database.store.messages.next_due([station], NOW, worker.queue.only))
        if wait is None or not isinstance(worker, CrossingWorker):
            return wait
        return max(wait, timedelta(seconds=worker.pause))


def _worker(pipeline: Pipeline, station: Station, database: Pipelines) -> Worker | CrossingWorker:
    if isinstance(station, Crossing):
        return CrossingWorker(station, database, pipeline.max_hops)
    queue: Queue = Queue(database, station.name, **station.declared)
    return Worker(
        queue,
        handler_of(pipeline, station, database),
        rate=station.begins_at_most,
        timeout=station.call_timeout,
        name=station.name,
    )
