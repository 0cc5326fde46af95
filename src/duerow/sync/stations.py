"""Run a pipeline on plain workers, in threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from queue import Empty, SimpleQueue
from typing import Any

from duerow.errors import ConfigurationError
from duerow.message import Message
from duerow.pipeline import Pipeline, Station
from duerow.pipeline.running import NOW, check_run, due_now, next_look
from duerow.settlement import Settlement
from duerow.sync.database import Database
from duerow.sync.worker import Worker
from duerow.worker.prefetch import Interval
from duerow.worker.run import Until, check_until
from duerow.worker.signals import LOOK, signals_of_thread, stopped_by


class PipelineWorker:
    """Runs a pipeline in threads, a worker for each station; made by `Pipeline.worker`.

    Args:
        pipeline: what to run.
        database: where its queues are.
        rehome: where the messages of removed stations go; see `Database.declare_pipeline`.

    Raises:
        ConfigurationError: not a blocking database.
        NotSupported: the store cannot do what forks, splits and joins need; or there are frames, which take Spark.
    """

    def __init__(self, pipeline: Pipeline, database: Database, rehome: Mapping[str, str] | None = None) -> None:
        check_run(pipeline, database.store.capabilities)
        self._pipeline, self._database, self._rehome = pipeline, database, rehome
        self._workers: dict[str, Worker] = {}
        self._stops = 0
        self._awake: SimpleQueue[None] = SimpleQueue()
        self._running = threading.Lock()

    def run(self, until: Until = None, *, signals: bool | None = None) -> None:
        """Declare the pipeline and run it; see `Pipeline.run`.

        Raises:
            ConfigurationError: a station was removed that has messages under way; it runs already, or an argument
                cannot be what it is.
        """
        check_until(until)
        taken = signals_of_thread(signals)
        if not self._running.acquire(blocking=False):
            raise ConfigurationError(f"{self._pipeline} is run by this worker already; make another one")
        try:
            with stopped_by(taken, self.stop):
                self._run(until)
        finally:
            self._stops, self._awake = 0, SimpleQueue()
            self._running.release()

    @property
    def unknown(self) -> Mapping[str, Mapping[str, int]]:
        """How many messages its workers leave since they do not know their kinds, by queue and kind."""
        return {queue: kinds for worker in self._workers.values() for queue, kinds in worker.unknown.items()}

    def stop(self) -> None:
        """Ask all its workers to stop, and return at once; asked again, they wait for no handler.

        From any thread, handler or signal. What does not run yet will return as soon as it does.
        """
        # Nothing here may wait for a lock: the signal may have interrupted its holder.
        self._stops += 1
        for worker in list(self._workers.values()):
            worker.stop()
        self._awake.put(None)

    def _run(self, until: Until) -> None:
        pipeline, database = self._pipeline, self._database
        database.declare_pipeline(pipeline, rehome=self._rehome)
        self._workers = {station.name: _worker(pipeline, station, database) for station in pipeline.consumers}
        if until is None:
            if not self._stops:
                self._work(self._workers.values(), None)
            return
        interval = Interval()
        while not self._stops:
            waits = {station: self._due_in(station) for station in self._workers}
            if busy := due_now(waits):
                interval.reset()
                self._work([self._workers[station] for station in busy], "idle")
            elif (wait := next_look(waits, until, interval)) is None:
                return
            else:
                self._sleep(wait)

    def _due_in(self, station: str) -> timedelta | None:
        """Return how long until the station's next message is due; None if there is none."""
        store, queue = self._database.store, self._workers[station].queue
        return self._database.run(lambda: store.next_due([station], NOW, queue.only))

    def _sleep(self, seconds: float) -> None:
        """Wait for so long, or until it is asked to stop."""
        with suppress(Empty):
            self._awake.get(timeout=seconds)

    def _work(self, workers: Iterable[Worker], until: Until) -> None:
        """Run workers, each in a thread of its own so that a signal comes to this one; if one fails, stop the others.

        Args:
            workers: which.
            until: when each of them ends.
        """
        failures: list[BaseException] = []

        def work(worker: Worker) -> None:
            try:
                worker.run(until)
            except BaseException as error:  # raised again by whoever waits for the thread
                failures.append(error)
                self.stop()

        threads = [threading.Thread(target=work, args=(worker,), daemon=True) for worker in workers]
        for thread in threads:
            thread.start()
        try:
            _join(threads)
        except BaseException:
            self.stop()
            _join(threads)
            raise
        if failures:
            raise failures[0]


def _join(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        while thread.is_alive():
            thread.join(LOOK)


def _worker(pipeline: Pipeline, station: Station, database: Database) -> Worker:
    queue = station.queue(database)
    return Worker(queue, _handler(pipeline, station, database), rate=station.begins_at_most, name="station")


def _handler(pipeline: Pipeline, station: Station, database: Database) -> Callable[[Message], Any]:
    def handle(message: Message) -> Settlement:
        return station.settlement(message, pipeline.max_hops, database.encryption)

    return handle
