"""Run a pipeline on Spark: tasks serve all message stations; stations of other kinds have rounds, at the same time."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from duerow.errors import ConfigurationError, DuerowError, StoreUnavailable, shown
from duerow.pipeline import Crossing, Frame, Pipeline, Station, TableSink, TableSource
from duerow.pipeline.table import Delivery
from duerow.queue import limits
from duerow.spark.consumer import OUTAGE, Tally, due_in, is_due
from duerow.spark.crossing import CrossingJob
from duerow.spark.driver_sleep import SHORT_SLEEP, DriverSleep
from duerow.spark.frames import FrameJob
from duerow.spark.jobs import Job, MessageJob, SparkRun
from duerow.spark.labels import cancel, context_of
from duerow.spark.openlineage import Reporting, reporting, unreported
from duerow.spark.options import WAYS, url_of
from duerow.spark.probe import check_reach, probe
from duerow.spark.progress import bars
from duerow.spark.service import Service
from duerow.spark.session import session
from duerow.spark.stored_columns import check_accepted, graph_with_columns
from duerow.spark.tables.delivery import deliverer
from duerow.spark.tables.job import TableJob
from duerow.spark.tables.source import SourceJob
from duerow.spark.task import Access
from duerow.store.consumer_id import consumer_name, own_version
from duerow.sync.database import Database, connect
from duerow.sync.limits import read_limits_of_each
from duerow.worker.maintenance import PRESENT
from duerow.worker.outage import patiently
from duerow.worker.run import Until, check_count, check_until

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient
    from pyspark.sql import SparkSession

MESSAGES_PER_CHUNK: Final = 2_000
"""The maximum number of messages that a task claims, handles and settles at once."""

ROUNDS: Final = 2
"""The most rounds of a station at once."""

RARELY: Final = 3
"""How many times longer than an idle worker the driver sleeps while a task waits for the messages of all stations."""

LOG: Final = logging.getLogger("duerow.spark")

Tallies = dict[str, Tally]


def run(
    pipeline: Pipeline,
    url: str | None = None,
    spark: SparkSession | None = None,
    until: Until = "empty",
    *,
    chunk: int = MESSAGES_PER_CHUNK,
    parallelism: int | None = None,
    stop: threading.Event | None = None,
    rehome: Mapping[str, str] | None = None,
    new_columns: Collection[str] = (),
    progress: bool | None = None,
    lineage: bool | OpenLineageClient = False,
    urlenv: str | None = None,
    urlfile: str | None = None,
    **settings: Any,
) -> Tallies:
    """Run a pipeline on Spark; return what the tasks of each station report, which are only hints.

    Args:
        pipeline: the pipeline to run.
        url: the database, as for `duerow.connect`; the executors must be able to reach it too. The URL travels inside
            the pickled task and appears in no query plan and no Spark setting.
        spark: a session, which can be a Spark Connect session; default: `duerow.spark.session()`.
        until: "empty" returns when the stations' queues hold no message with a due time, so it waits for delayed
            messages and for those that others have reserved; "idle" returns when nothing is due now; None runs until
            the run is stopped.
        chunk: the maximum number of messages that a task claims and settles at once.
        parallelism: how many tasks of a station run at once; default: as many as Spark can run at once.
        stop: an event that stops the run when it is set: tasks finish what they hold, within seconds, and no new ones
            start.
        rehome: where to send the messages of removed stations; see `Database.declare_pipeline`.
        new_columns: frame stations that may run although their columns have changed in a way that unfinished messages
            may not fit; messages that do not fit are buried one by one.
        progress: whether to show progress bars on standard error; default: if it is a terminal and `rich` is installed.
        lineage: whether to report to OpenLineage which queues and tables each station reads and writes, through the
            client that the environment configures, or through the given client; needs the extra `openlineage`.
        urlenv: instead of `url`: the environment variable of the driver that holds it.
        urlfile: instead of `url`: the file of the driver that holds it.
        settings: further arguments for `duerow.connect`.

    Raises:
        ConfigurationError: not exactly one of `url`, `urlenv` and `urlfile` is given; an executor lacks duerow, a
            database driver or access to the database; a function cannot be pickled; a removed station still has
            messages; unfinished messages may not fit the changed columns of a frame station; or lineage is wanted, but
            its package is not installed.
        NotSupported: the database cannot be reached from where Spark runs, or lacks what the stations need.
        StationFailed: the tasks of a station failed repeatedly. The messages that they held are due again when their
            leases end.
        StoreUnavailable: the database has not answered for 30 seconds. The messages that tasks held are due again when
            their leases end.
    """
    check_until(until)
    given = _url_of(url, urlenv, urlfile)
    report = reporting(lineage, given, settings, lasts=until is None)
    with _runner(pipeline, given, spark, chunk, parallelism, settings, rehome, new_columns, report) as runner:
        return runner.run(until, stop or threading.Event(), progress)


def step(
    pipeline: Pipeline,
    url: str | None = None,
    spark: SparkSession | None = None,
    *,
    chunk: int = MESSAGES_PER_CHUNK,
    parallelism: int | None = None,
    new_columns: Collection[str] = (),
    urlenv: str | None = None,
    urlfile: str | None = None,
    **settings: Any,
) -> Tallies:
    """Run one round of each station that has due messages, one after another; arguments and errors are as for `run`."""
    given = _url_of(url, urlenv, urlfile)
    with _runner(pipeline, given, spark, chunk, parallelism, settings, new_columns=new_columns) as runner:
        return runner.step()


def _url_of(url: object, urlenv: str | None, urlfile: str | None) -> str:
    if url is not None and not isinstance(url, str):
        raise ConfigurationError(f"run() takes the URL of a database, which the executors open, not {shown(url)}")
    ways = dict(zip(WAYS, (url, urlenv, urlfile), strict=True))
    return url_of({name: way for name, way in ways.items() if way is not None})


@contextmanager
def _runner(
    pipeline: Pipeline,
    url: str,
    spark: SparkSession | None,
    chunk: int,
    parallelism: int | None,
    settings: dict[str, Any],
    rehome: Mapping[str, str] | None = None,
    new_columns: Collection[str] = (),
    report: Reporting = unreported,
) -> Iterator[Runner]:
    if not isinstance(pipeline, Pipeline):
        raise ConfigurationError(f"run() takes a Pipeline, not {shown(pipeline)}")
    check_count("chunk", chunk)
    if parallelism is not None:
        check_count("parallelism", parallelism)
    accepted = check_accepted(pipeline, new_columns)
    with connect(url, **settings) as database:
        pipeline.check_store(database.store.capabilities)
        database.check_may_consume()
        spark = spark or session()
        check_reach(spark, database)
        places = probe(spark, url, settings)
        graph = graph_with_columns(pipeline, spark)
        database._declare(pipeline, graph, rehome, accepted)
        access = Access(secrets.token_hex(6), url, settings)
        runner = Runner(pipeline, spark, database, access, chunk, parallelism or places, places)
        with closing(runner), report(pipeline, graph):
            yield runner


class Runner:
    """The driver's side of a run.

    Args:
        pipeline: the pipeline to run.
        spark: the session to run it on.
        database: the driver's own connection to the queues.
        access: how the executors reach the database.
        chunk: the maximum number of messages that a task claims.
        parallelism: how many tasks of a station run at once.
        places: how many tasks Spark can run at once; default: `parallelism`.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        spark: SparkSession,
        database: Database,
        access: Access,
        chunk: int,
        parallelism: int,
        places: int | None = None,
    ) -> None:
        self._pipeline, self._spark, self._database = pipeline, spark, database
        self._run = SparkRun(pipeline, spark, database, access, chunk, parallelism, places or parallelism)
        self._jobs = [_job(self._run, station) for station in pipeline.consumers]
        self._service = Service(self._run, self._jobs, lasts=False)
        self._running: list[tuple[Job | None, Future[None]]] = []
        self._stop = self._run.stop
        self._next: timedelta | None = None
        names = [job.station.name for job in self._jobs]
        self._sleep = DriverSleep(pipeline, self._jobs[0].queue, names)
        self._presented_at = -PRESENT

    @property
    def tallies(self) -> Tallies:
        """The reports of each station's tasks."""
        return {job.station.name: job.tally for job in self._jobs}

    def step(self) -> Tallies:
        """Run one round of each station with due messages."""
        self._follow_limits()
        for job in self._jobs:
            job.look_for_more()
            if self._is_due(job):
                job.round()
        return self.tallies

    def run(self, until: Until, stop: threading.Event, progress: bool | None = False) -> Tallies:
        """Serve message stations, and run rounds of the others at the same time, until there is nothing left to do."""
        self._stop, sleep = stop, self._sleep
        self._service = service = Service(self._run, self._jobs, lasts=until is None)
        most = self._run.parallelism + ROUNDS * len(self._jobs)
        with ThreadPoolExecutor(most, "duerow-station") as threads, bars(progress, self._left) as show:
            try:
                while not stop.is_set():
                    self._collect()
                    self._present()
                    show(self._jobs)
                    sleep.listen()
                    self._look_for_more()
                    sleep.started(self._start(threads))
                    if not self._running and not self._waits(until) and self._is_over(until):
                        break
                    heard = sleep.sleep(self._longest_sleep(until), self._next, stop, service.takes_pushes_in)
                    if heard or not sleep.hears:
                        service.heard()
                service.recall()
            except Exception:
                service.recall()  # the other stations' tasks finish and settle what they hold
                raise
            except BaseException:
                self._run.stop.set()
                cancel(self._spark, self._run.tag)
                raise
            finally:
                self._run.stop.set()
                sleep.close()
        service.close()
        self._collect()
        return self.tallies

    def close(self) -> None:
        """Release the resources that its jobs have opened."""
        for job in self._jobs:
            job.close()

    def _present(self) -> None:
        """Every ten seconds, record which stations run here, with their kinds and Spark's pages, and apply limits."""
        if monotonic() - self._presented_at < PRESENT:
            return
        self._follow_limits()
        self._presented_at, store = monotonic(), self._database.store
        name = consumer_name(f"spark {page}" if (page := _page_of(self._spark)) else "spark")
        stations: dict[Sequence[str], list[str]] = {}
        for job in self._jobs:
            stations.setdefault(job.queue.kinds, []).append(job.station.name)
        try:
            for kinds, names in stations.items():  # one entry for all stations that know the same kinds
                about = names, kinds, own_version()
                self._database.run(partial(store.metadata.note_consumer, f"{name}/{names[0]}", *about))
        except DuerowError as error:
            LOG.warning("%s: cannot record that it is running: %s", self._pipeline, error)

    def _follow_limits(self) -> None:
        """Apply the operators' limits to each station."""
        try:
            found = read_limits_of_each(self._database, [job.queue.name for job in self._jobs])
        except StoreUnavailable as error:
            LOG.warning("%s: cannot read the limits of its stations: %s", self._pipeline, error)
            return
        if any([job.limit(found.get(job.queue.name, limits.NONE)) for job in self._jobs]):
            self._service.recall()  # tasks that began with other limits

    def _left(self, queue: str) -> int:
        """Return how many messages of a queue have a due time."""
        standing = self._database.run(lambda: self._database.store.operations.queue_stats(queue, None))
        return standing.ready + standing.delayed + standing.leased + standing.waiting

    def _collect(self) -> None:
        """Forget the rounds that have ended; raise the error of a round that failed."""
        over = [round for _, round in self._running if round.done()]
        self._running = [one for one in self._running if one[1] not in over]
        for round in over:
            round.result()

    def _start(self, threads: ThreadPoolExecutor) -> bool:
        """Start what should work on stations with something due; return whether anything was started."""
        able = [job for job in self._jobs if job.may_begin and self._has_room(job)]
        names = [job.station.name for job in able]
        self._next = self._due_in(names, timedelta(seconds=RARELY * self._sleep.poll)) if able else None
        due = [job for job in able if len(able) == 1 or self._is_due(job)] if is_due(self._next) else []
        if self._stop.is_set():
            return False
        served = [job for job in due if self._service.serves(job)]
        for job in due:
            if job not in served:
                self._submit(threads, job, job.round)
        may_wait = not any(job is not None and job.needs_slots for job, _ in self._running)
        begun = [*self._service.begin(served, may_wait)]
        for work in begun:
            self._submit(threads, None, work)
        return bool(begun) or len(due) > len(served)

    def _submit(self, threads: ThreadPoolExecutor, job: Job | None, work: Callable[[], None]) -> None:
        round = threads.submit(work)
        self._running.append((job, round))
        round.add_done_callback(lambda _: self._sleep.wake())

    def _has_room(self, job: Job) -> bool:
        return self._service.has_room(job) if self._service.serves(job) else self._rounds_of(job) < job.rounds

    def _look_for_more(self) -> None:
        for job in self._jobs:
            job.look_for_more()

    def _rounds_of(self, job: Job) -> int:
        return sum(one is job for one, _ in self._running)

    def _waits(self, until: Until) -> bool:
        """Whether the last check found what the run waits for; False for a queue that was not checked."""
        return until is None or (self._next is not None and (until == "empty" or is_due(self._next)))

    def _longest_sleep(self, until: Until) -> float:
        """The longest sleep: that of an idle worker, or longer, if only a push can give the driver something to do."""
        rounds = any(job is not None for job, _ in self._running)
        only_pushes = until is None and not rounds and all(job.may_begin for job in self._jobs)
        longest = SHORT_SLEEP
        if only_pushes and self._service.only_waits:  # if all stations are served, the driver only adds tasks
            longest = self._sleep.poll * (RARELY if all(map(self._service.serves, self._jobs)) else 1)
        looks = [self._service.looks_in, *(job.looks_in for job in self._jobs)]
        return min([longest, *(max(0.0, one) for one in looks if one is not None)])

    def _is_over(self, until: Until) -> bool:
        """Whether there is nothing left to wait for.

        Stations are checked one at a time, so they are checked forwards and then backwards: if another runner moves a
        message back, behind the first check, the second still finds it.
        """
        there = [job.station.name for job in self._jobs if until != "idle" or not job.held]
        waits = (self._due_in([name]) for name in [*there, *there[-2::-1]])
        if not all(wait is None or (until == "idle" and not is_due(wait)) for wait in waits):
            return False
        for job in self._jobs:
            job.look_for_unknown(now=True)
        return True

    def _is_due(self, job: Job) -> bool:
        """Return whether a station has work that may be started now."""
        if not job.may_begin:
            return False
        return is_due(self._due_in([job.station.name]))

    def _due_in(self, queues: Sequence[str], sleep: timedelta = timedelta(0)) -> timedelta | None:
        """Return how long until some queues have something due; wait for the database as long as tasks do.

        Args:
            queues: the queues.
            sleep: for how long, from now on, pushes into them should wake this driver; zero: it relies on the answer.
        """

        def tell(error: StoreUnavailable) -> None:
            which = ", ".join(map(repr, queues))
            LOG.warning("%s: cannot check %s: %s; trying for %.0f s", self._pipeline, which, error, OUTAGE)

        try:
            return patiently(
                lambda: due_in(self._database, queues, self._run.only, sleep), OUTAGE, self._stop.wait, tell
            )
        except StoreUnavailable:
            if self._stop.is_set():
                return None  # nothing further is started
            raise


def _page_of(spark: SparkSession) -> str | None:
    """Return the address of Spark's own pages for a session; None if it has none, or uses Spark Connect."""
    context = context_of(spark)
    return None if context is None else context.uiWebUrl


def _job(run: SparkRun, station: Station) -> Job:
    match station:
        case Crossing():
            return CrossingJob(run, station)
        case TableSink():
            return TableJob(run, station)
        case TableSource():
            return SourceJob(run, station)
        case Delivery():
            return MessageJob(run, deliverer(station))
        case Frame():
            return FrameJob(run, station)
    return MessageJob(run, station)
