"""How a run does a round of work for a station: message stations here, frame stations in `frames`."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from duerow.errors import ConfigurationError, StationFailed
from duerow.pipeline import Crossing, Join, Pipeline, Station
from duerow.queue.limits import NONE, RunLimits
from duerow.spark.consumer import COUNTS, OUTAGE, SCHEMA, Tally
from duerow.spark.labels import labelled
from duerow.spark.probe import last_line
from duerow.spark.task import Access, Assignment, task
from duerow.sync.database import Database
from duerow.worker.budget import Budget, budget_of
from duerow.worker.maintenance import UNKNOWN
from duerow.worker.outage import patiently

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from duerow.sync.queue import Queue

T = TypeVar("T")

Work = Callable[[Any], Any]
"""The function of a task, for `mapInArrow`."""

TURN: Final = 5.0
"""Seconds after which a task ends even if more is due, so that no station waits long for a free slot."""

LISTED: Final = 6
"""The most stations by which Spark's pages call a job; the others are only counted."""

PROCESS_ENDED: Final = "Python worker exited unexpectedly"
"""Spark's message when a Python process of a task has exited."""

LOG: Final = logging.getLogger("duerow.spark")


@dataclass(frozen=True)
class SparkRun:
    """What all stations of a run share: the session, the database and the limits.

    Attributes:
        pipeline: the pipeline that is run.
        spark: the session that runs it.
        database: the driver's own access to the queues.
        access: the executors' access to the queues.
        chunk: the maximum number of messages that a task of a message station claims.
        parallelism: how many tasks of a station run at once.
        places: how many tasks Spark can run at once.
        stop: set when nothing more may begin.
        only: for queues that hold other kinds too, the kinds that their stations know; see `OnlyKinds`.
        limited: the queues whose rate operators limit.
    """

    pipeline: Pipeline
    spark: SparkSession
    database: Database
    access: Access
    chunk: int
    parallelism: int
    places: int = 1
    stop: threading.Event = field(default_factory=threading.Event)
    only: dict[str, Collection[str]] = field(default_factory=dict)
    limited: set[str] = field(default_factory=set)

    @property
    def tag(self) -> str:
        """The tag of all of the run's jobs, by which they can be cancelled."""
        return f"duerow-{self.access.run}"

    def labelled(self, stations: object, more: str = "", *tags: str) -> AbstractContextManager[None]:
        """Label the Spark jobs that this thread starts in a block with their stations and what they do for them."""
        return labelled(self.spark, f"{stations} of {self.pipeline}{more}", self.tag, *tags)


class Job(ABC):
    """One station's work in a run.

    Args:
        run: what the stations share.
        station: the station.

    Attributes:
        station: the station.
        queue: the driver's handle to its queue.
        tally: what its tasks report.
    """

    def __init__(self, run: SparkRun, station: Station) -> None:
        self._run, self.station = run, station
        self.queue: Queue[Any] = station.queue(run.database)
        self._looked_at = 0.0
        self._budget, self._limited = budget_of(station.begins_at_most), budget_of(None)
        self._limits = NONE
        self.tally = Tally()
        self._counting = threading.Lock()

    needs_slots = True
    """Whether its rounds are Spark jobs."""

    @property
    def rounds(self) -> int:
        """How many rounds may run at once."""
        return 1

    def count(self, tally: Tally) -> None:
        """Add counts; thread-safe."""
        with self._counting:
            self.tally.add(tally)

    @property
    def reads_by_kind(self) -> bool:
        """Whether its tasks leave messages of kinds that it does not know."""
        return True

    def met_unknown(self) -> None:
        """Handle messages of unknown kinds that tasks met: log them once, and claim only known kinds from now on."""
        if not self.queue.only:
            self._look(self.queue._found_unknown)

    def look_for_unknown(self, now: bool = False) -> None:
        """Count the left messages again, from time to time or `now`, if there were any."""
        if self.queue.only and (now or time.monotonic() - self._looked_at > UNKNOWN):
            self._look(self.queue.look_for_unknown)

    def _look(self, look: Callable[[], None]) -> None:
        self._patiently(look)
        self._looked_at = time.monotonic()
        name = self.queue.name
        if self.queue.only:
            self._run.only[name] = self.queue.only[name]
        else:
            self._run.only.pop(name, None)
        with self._counting:
            self.tally.left = sum(self.queue.unknown.get(name, {}).values())

    def _patiently(self, ask: Callable[[], T]) -> T:
        """Return the database's answer; if it does not answer, wait as long as tasks do."""
        return patiently(ask, OUTAGE, self._run.stop.wait)

    def limit(self, limits: RunLimits) -> bool:
        """Apply the operators' limits from now on, and return whether they are new.

        Running tasks finish what they have begun.
        """
        before, self._limits = self._limits, limits
        if (limits.rate, limits.rate_span) != (before.rate, before.rate_span):
            self._limited = budget_of(None if limits.rate is None else (limits.rate, limits.rate_span))
        if limits.rate is None:
            self._run.limited.discard(self.queue.name)
        else:
            self._run.limited.add(self.queue.name)
        return limits != before

    @property
    def may_begin(self) -> bool:
        """Whether its rates and everything else allow another round now."""
        return self._room() != 0 and not self.held

    @property
    def held(self) -> bool:
        """Whether its messages wait for something outside the queues, such as another database."""
        return False

    def _room(self) -> int | None:
        """How many messages its own rate and the operators' rate let it begin now; None: any number."""
        return min((budget.room() for budget in self._budgets), default=None)

    def _spend(self, count: int) -> None:
        """Record that this many messages were begun."""
        for budget in self._budgets:
            budget.spend(count)

    @property
    def _budgets(self) -> list[Budget]:
        return [budget for budget in (self._budget, self._limited) if budget is not None]

    @property
    def is_counted(self) -> bool:
        """Whether a rate applies, so that all messages that begin must be counted."""
        return bool(self._budgets)

    @property
    def looks_in(self) -> float | None:
        """The seconds until it next looks outside the queues for more to do; None: it does not look."""
        return None

    def look_for_more(self) -> None:  # noqa: B027 - most stations have nothing to look for
        """Push new work from outside the queues, if it is time to look for it."""

    @abstractmethod
    def round(self) -> None:
        """Work on due messages for some seconds; raise if it makes no sense to continue."""

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Release the resources that it has opened."""


class MessageJob(Job):
    """A station whose function is called for each message; the tasks that work for it are consumers of its queue.

    Usually its tasks serve other stations too; see `duerow.spark.service`. It has rounds of its own if its messages are
    counted because of a rate.
    """

    def __init__(self, run: SparkRun, station: Station) -> None:
        super().__init__(run, station)
        others = [one for one in run.pipeline.consumers if one is not station and one.begins_at_most is None]
        self._others = [one for one in others if not isinstance(one, Crossing)]  # these need none of Spark's slots
        self.assignment = Assignment(
            run.access, station.name, pickled(station, station), run.pipeline.max_hops, run.chunk, TURN
        )

    @property
    def tasks(self) -> int:
        """How many tasks may work for it at once."""
        return min(self._run.parallelism, self._limits.concurrency or self._run.parallelism)

    def round(self) -> None:
        """Run tasks until they end; only one task if messages are counted, so that it can count all of them."""
        run, most = self._run, self._room()
        tasks = self.tasks if most is None else 1
        LOG.debug("%s of %s: %d tasks", self.station, run.pipeline, tasks)
        self.look_for_unknown()
        # Stations with a rate may have to wait although something is due, so tasks do not end earlier for them.
        others = [one.name for one in self._others if one.name not in run.limited]
        assignment = replace(self.assignment, others=others, most=most, only=dict(run.only))
        begun = collect(run, [self], task(assignment), tasks)
        # They began before now, so counting them from now on cannot allow too many.
        self._spend(sum(one.claimed - one.released for one in begun))

    def has_done(self, tally: Tally) -> None:
        """Add what a task has done."""
        if tally.left:
            self.met_unknown()
            tally.left = 0  # not a count, only a sign that there are some
        self.count(tally)

    def run_apart(self) -> bool:
        """Call its function in separate processes from now on; return False if it cannot be called there.

        A function that hangs or crashes ends a process at each attempt, and Spark gives up after a few of them. In a
        separate process it fails only the attempt of its own message.
        """
        if isinstance(self.station, Join):
            return False
        self.assignment = replace(self.assignment, apart=True)
        return True


def collect(run: SparkRun, served: Sequence[MessageJob], work: Work, tasks: int) -> list[Tally]:
    """Run tasks that serve stations, add what they have done to the stations' tallies, and return it.

    Args:
        run: what the stations share.
        served: the stations.
        work: their function.
        tasks: how many there are.
    """
    apart, stations = [one.assignment.apart for one in served], _listed(served)
    with run.labelled(stations):
        try:
            rows = run.spark.range(0, tasks, 1, tasks).mapInArrow(work, SCHEMA).collect()
        except Exception as error:
            if PROCESS_ENDED in str(error) and any(
                [job.run_apart() for job, was in zip(served, apart, strict=True) if not was]
            ):
                LOG.warning(
                    "%s of %s: %s; from now on functions run in separate processes, and a call is abandoned after its "
                    "station's timeout, or its lease if it has none",
                    stations,
                    run.pipeline,
                    last_line(error),
                )
                return []
            raise StationFailed(
                f"{stations} of {run.pipeline} failed on Spark: {last_line(error)}. The messages that its tasks held "
                "are due again when their leases end"
            ) from error
    done = {job.station.name: job for job in served}
    tallies = []
    for row in rows:
        tallies.append(Tally(*(row[name] for name in COUNTS)))
        done[row["station"]].has_done(tallies[-1])
    for job in served:
        LOG.info("%s of %s: %s", job.station, run.pipeline, job.tally)
    return tallies


def _listed(served: Sequence[MessageJob]) -> str:
    names = [*dict.fromkeys(str(one.station) for one in served)]  # a join has two queues
    return ", ".join(names if len(names) <= LISTED else [*names[: LISTED - 1], f"{len(names) - LISTED + 1} others"])


def pickled(station: Station, what: Any) -> bytes:
    """Return what a station's tasks need as bytes; raise ConfigurationError if it cannot be pickled."""
    from duerow.spark.pickling import dumps

    try:
        return dumps(what)
    except Exception as error:
        raise ConfigurationError(
            f"{station}: its function cannot be sent to the executors ({error}); open files and connections inside it, "
            "and define the types of payloads in a module"
        ) from error
