"""Run a pipeline on Spark: for each station that has something due, a job whose tasks are consumers of its queue."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from duerow.errors import ConfigurationError, StationFailed
from duerow.pipeline import Pipeline, Station
from duerow.spark.probe import check_reach, last_line, probe
from duerow.spark.session import session
from duerow.spark.task import COUNTS, SCHEMA, Access, Assignment, Tally, task
from duerow.sync.database import Database, connect
from duerow.working.pace import Interval
from duerow.working.rate import Budget
from duerow.working.shift import Until, check_count, check_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHUNK: Final = 2_000
"""Messages that a task claims, handles and settles at once, at most."""

TURN: Final = 5.0
"""Seconds after which a task ends though more is due, so that no station waits long for a place to run."""

LONGEST_SLEEP: Final = 0.5
"""Seconds between two looks at the queues, at most."""

LOG: Final = logging.getLogger("duerow.spark")

Tallies = dict[str, Tally]

_NOW: Final = timedelta(0)


def run(
    pipeline: Pipeline,
    url: str,
    spark: SparkSession | None = None,
    until: Until = "empty",
    *,
    chunk: int = CHUNK,
    parallelism: int | None = None,
    stop: threading.Event | None = None,
    rehome: Mapping[str, str] | None = None,
    **settings: Any,
) -> Tallies:
    """Run a pipeline on Spark; return what the tasks of each station say that they did, which is a hint.

    Args:
        pipeline: what to run.
        url: the database, as `duerow.connect` takes it; the executors must reach it too. It travels inside the
            pickled task and is in no plan and no setting of Spark's.
        spark: a session, also one of Spark Connect; default: the active one, else one on this machine.
        until: "empty" returns when no message with a due time is left in the stations' queues, which waits for
            delayed ones and for those of others; "idle" when nothing is due now; None runs until it is stopped.
        chunk: messages that a task claims and settles at once, at most.
        parallelism: tasks of a station at once; default: as many as Spark runs at once.
        stop: set it to stop: tasks end what they hold, within seconds, and no more are started.
        rehome: where the messages of removed stations go; see `Database.declare_pipeline`.
        settings: what else `duerow.connect` is given.

    Raises:
        ConfigurationError: an executor lacks duerow, a driver or a way to the database; a function cannot be pickled;
            a station was removed that has messages under way.
        NotSupported: the database cannot be reached from where Spark runs, or cannot do what the stations need.
        StationFailed: a station's tasks failed again and again. What they held is due again when its lease ends.
    """
    check_until(until)
    with _runner(pipeline, url, spark, chunk, parallelism, settings, rehome) as runner:
        return runner.run(until, stop or threading.Event())


def step(
    pipeline: Pipeline,
    url: str,
    spark: SparkSession | None = None,
    *,
    chunk: int = CHUNK,
    parallelism: int | None = None,
    **settings: Any,
) -> Tallies:
    """Run one job for each station that has something due, one after the other; arguments and errors as in `run`."""
    with _runner(pipeline, url, spark, chunk, parallelism, settings) as runner:
        return runner.step()


@contextmanager
def _runner(
    pipeline: Pipeline,
    url: str,
    spark: SparkSession | None,
    chunk: int,
    parallelism: int | None,
    settings: dict[str, Any],
    rehome: Mapping[str, str] | None = None,
) -> Iterator[Runner]:
    check_count("chunk", chunk)
    if parallelism is not None:
        check_count("parallelism", parallelism)
    if not isinstance(url, str):
        raise ConfigurationError(f"Spark takes the URL of a database, which its executors open, not {url!r:.80}")
    with connect(url, **settings) as database:
        pipeline.check_store(database.store.capabilities)
        spark = spark or session()
        check_reach(spark, database)
        places = probe(spark, url, settings)
        database.declare_pipeline(pipeline, rehome=rehome)
        yield Runner(
            pipeline, spark, database, Access(secrets.token_hex(6), url, settings), chunk, parallelism or places
        )


class Runner:
    """The driver's side of one run.

    Args:
        pipeline: what to run.
        spark: where.
        database: the driver's own way to the queues.
        access: the executors' way.
        chunk: messages that a task claims at most.
        parallelism: tasks of a station at once.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        spark: SparkSession,
        database: Database,
        access: Access,
        chunk: int,
        parallelism: int,
    ) -> None:
        self._pipeline, self._spark, self._database = pipeline, spark, database
        self._parallelism = parallelism
        self._assignments = {
            station.name: Assignment(access, station.name, _pickled(station), pipeline.max_hops, chunk, TURN)
            for station in pipeline.consumers
        }
        self._consumers = pipeline.consumers
        self._budgets = {
            station.name: Budget(station.begins_at_most)
            for station in self._consumers
            if station.begins_at_most is not None
        }
        self._tallies: Tallies = {station.name: Tally() for station in self._consumers}
        self._tag = f"duerow-{access.run}"
        self._running: dict[str, Future[None]] = {}
        self._ended = threading.Event()

    def step(self) -> Tallies:
        """Run one job for each station that has something due."""
        for station in self._consumers:
            if self._is_due(station):
                self._job(station)
        return self._tallies

    def run(self, until: Until, stop: threading.Event) -> Tallies:
        """Run jobs, those of different stations at once, until there is no more to do."""
        interval = Interval()
        with ThreadPoolExecutor(len(self._consumers), "duerow-station") as threads:
            try:
                while not stop.is_set():
                    self._collect()
                    if self._start(threads):
                        interval.reset()
                    if not self._running and self._is_over(until):
                        break
                    self._ended.wait(interval.next(LONGEST_SLEEP))
                    self._ended.clear()
            except Exception:
                raise  # the other stations' tasks end what they hold, and settle it
            except BaseException:
                self._spark.interruptTag(self._tag)
                raise
        self._collect()
        return self._tallies

    def _collect(self) -> None:
        """Forget the jobs that have ended; raise what ended one badly."""
        for name, job in list(self._running.items()):
            if job.done():
                del self._running[name]
                job.result()

    def _start(self, threads: ThreadPoolExecutor) -> bool:
        """Start a job for each station that has something due and runs none; return whether there was one."""
        started = False
        for station in self._consumers:
            if station.name not in self._running and self._is_due(station):
                job = self._running[station.name] = threads.submit(self._job, station)
                job.add_done_callback(lambda _: self._ended.set())
                started = True
        return started

    def _is_over(self, until: Until) -> bool:
        if until is None:
            return False
        waits = [self._due_in(station) for station in self._consumers]
        return all(wait is None or (until == "idle" and wait > _NOW) for wait in waits)

    def _is_due(self, station: Station) -> bool:
        """Return whether there is something to do in a station that may be begun now."""
        budget = self._budgets.get(station.name)
        if budget is not None and not budget.room():
            return False
        wait = self._due_in(station)
        return wait is not None and wait <= _NOW

    def _due_in(self, station: Station) -> timedelta | None:
        return self._database.run(lambda: self._database.store.idle([station.name], _NOW))

    def _job(self, station: Station) -> None:
        """Run a station's tasks to their end; one task where messages are counted, so that it counts them all."""
        budget, assignment = self._budgets.get(station.name), self._assignments[station.name]
        tasks = self._parallelism if budget is None else 1
        LOG.debug("%s of %s: %d tasks", station, self._pipeline, tasks)
        self._spark.addTag(self._tag)
        work = task(assignment if budget is None else replace(assignment, most=budget.room()))
        try:
            rows = self._spark.range(0, tasks, 1, tasks).mapInArrow(work, SCHEMA).collect()
        except Exception as error:
            raise StationFailed(
                f"{station} of {self._pipeline} failed on Spark: {last_line(error)}. What its tasks held is due again "
                "when its lease ends"
            ) from error
        tally = self._tallies[station.name]
        done = [Tally(*(row[name] for name in COUNTS)) for row in rows]
        if budget is not None:  # begun before now, so that counted from now on they are not too many
            budget.spend(sum(one.claimed - one.released for one in done))
        for one in done:
            tally.add(one)
        LOG.info("%s of %s: %s", station, self._pipeline, tally)


def _pickled(station: Station) -> bytes:
    from duerow.spark.travelling import dumps

    try:
        return dumps(station)
    except Exception as error:
        raise ConfigurationError(
            f"{station}: its function cannot be sent to the executors ({error}); open files and connections inside it, "
            "and define the types of payloads in a module"
        ) from error
