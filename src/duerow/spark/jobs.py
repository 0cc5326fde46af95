"""How a run does a round of work for a station: message stations here, frame stations in `frames`."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from duerow.errors import ConfigurationError, StationFailed
from duerow.pipeline import Crossing, Join, Pipeline, Station
from duerow.queue.limits import NONE, RunLimits
from duerow.spark.consumer import COUNTS, OUTAGE, SCHEMA, Tally
from duerow.spark.labels import grouped, labelled, unfinished
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

TURN: Final = 5.0
"""Seconds after which a task ends even if more is due, so that no station waits long for a free slot."""

OVERDUE: Final = 1.0
"""Seconds past its time after which a task is assumed to hang in a call; until then it may settle its last chunk."""

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
        limited_parallelism: whether no more may run at once, even if Spark has room for them.
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
    limited_parallelism: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    only: dict[str, Collection[str]] = field(default_factory=dict)
    limited: set[str] = field(default_factory=set)

    @property
    def tag(self) -> str:
        """The tag of all of the run's jobs, by which they can be cancelled."""
        return f"duerow-{self.access.run}"

    def labelled(self, station: Station, more: str = "", *tags: str) -> AbstractContextManager[None]:
        """Label the Spark jobs that this thread starts in a block with their station and what they do for it."""
        return labelled(self.spark, f"{station} of {self.pipeline}{more}", self.tag, *tags)


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

    def limit(self, limits: RunLimits) -> None:
        """Apply the operators' limits from now on; running tasks finish what they have begun."""
        before, self._limits = self._limits, limits
        if (limits.rate, limits.rate_span) != (before.rate, before.rate_span):
            self._limited = budget_of(None if limits.rate is None else (limits.rate, limits.rate_span))
        if limits.rate is None:
            self._run.limited.discard(self.queue.name)
        else:
            self._run.limited.add(self.queue.name)

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


@dataclass(frozen=True, eq=False)
class StationRound:
    """A running round of a message station.

    Attributes:
        group: the group of its Spark job.
        tasks: how many tasks it began with.
        until: when its tasks end, unless a call hangs.
    """

    group: str
    tasks: int
    until: float

    @property
    def is_overdue(self) -> bool:
        """Whether one of its tasks must be hanging in a call."""
        return time.monotonic() > self.until + OVERDUE


class MessageJob(Job):
    """Rounds of a station whose function is called for each message; their tasks are consumers of its queue."""

    def __init__(self, run: SparkRun, station: Station) -> None:
        super().__init__(run, station)
        self._running: list[StationRound] = []
        others = [one for one in run.pipeline.consumers if one is not station and one.begins_at_most is None]
        self._others = [one for one in others if not isinstance(one, Crossing)]  # these need none of Spark's slots
        self._assignment = Assignment(
            run.access, station.name, pickled(station, station), run.pipeline.max_hops, run.chunk, TURN
        )

    @property
    def rounds(self) -> int:
        """One, plus the rounds that hang in a call if tasks are free for another round and no rate applies."""
        with self._counting:
            overdue = sum(one.is_overdue for one in self._running)
        if not overdue or self._budgets:
            return 1
        return overdue + (self._free_tasks() > 0)

    def _free_tasks(self) -> int:
        """How many more tasks of this station may begin, given those that run."""
        run = self._run
        with self._counting:
            running = [*self._running]
        return min(run.parallelism, self._limits.concurrency or run.parallelism) - sum(map(self._tasks_of, running))

    def _tasks_of(self, round: StationRound) -> int:
        """How many tasks of a round still run; if Spark cannot tell, all of them if there is a limit, otherwise one."""
        if not round.is_overdue:
            return round.tasks
        left = unfinished(self._run.spark, round.group)
        if left is not None:
            return left
        return round.tasks if self._run.limited_parallelism or self._limits.concurrency else 1

    def round(self) -> None:
        """Run tasks until they end; only one task if messages are counted, so that it can count all of them."""
        most = self._room()
        tasks = max(1, self._free_tasks()) if most is None else 1
        round = StationRound(f"{self._run.tag}-{secrets.token_hex(4)}", tasks, time.monotonic() + TURN)
        with self._counting:
            self._running.append(round)
        try:
            self._work(round, most)
        finally:
            with self._counting:
                self._running.remove(round)

    def _work(self, round: StationRound, most: int | None) -> None:
        run, tasks = self._run, round.tasks
        LOG.debug("%s of %s: %d tasks", self.station, run.pipeline, tasks)
        self.look_for_unknown()
        # Stations with a rate may have to wait although something is due, so tasks do not end earlier for them.
        others = [one.name for one in self._others if one.name not in run.limited]
        work = task(replace(self._assignment, others=others, most=most, only=dict(run.only)))
        with run.labelled(self.station), grouped(run.spark, round.group):
            try:
                rows = run.spark.range(0, tasks, 1, tasks).mapInArrow(work, SCHEMA).collect()
            except Exception as error:
                if self._runs_apart_after(error):
                    return
                raise StationFailed(
                    f"{self.station} of {run.pipeline} failed on Spark: {last_line(error)}. The messages that its "
                    "tasks held are due again when their leases end"
                ) from error
        done = [Tally(*(row[name] for name in COUNTS)) for row in rows]
        # They began before now, so counting them from now on cannot allow too many.
        self._spend(sum(one.claimed - one.released for one in done))
        if any(one.left for one in done):
            self.met_unknown()
        for one in done:
            one.left = 0  # not a count, only a sign that there are some
            self.count(one)
        LOG.info("%s of %s: %s", self.station, run.pipeline, self.tally)

    def _runs_apart_after(self, error: Exception) -> bool:
        """Return whether a round failed because Python processes ended, and the next rounds can avoid that.

        A function that hangs or crashes ends a process at each attempt, and Spark gives up after a few of them. In a
        separate process it fails only the attempt of its own message.
        """
        if self._assignment.apart or isinstance(self.station, Join) or PROCESS_ENDED not in str(error):
            return False
        LOG.warning(
            "%s of %s: %s; from now on its function runs in separate processes, and a call is abandoned after the "
            "station's timeout, or its lease if it has none",
            self.station,
            self._run.pipeline,
            last_line(error),
        )
        self._assignment = replace(self._assignment, apart=True)
        return True


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
