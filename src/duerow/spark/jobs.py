"""What a run has for each station: how a round of its work is done. Message stations are here, others in `frames`."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from duerow.errors import ConfigurationError, StationFailed
from duerow.pipeline import Pipeline, Station
from duerow.spark.probe import last_line
from duerow.spark.task import COUNTS, SCHEMA, Access, Assignment, Tally, task
from duerow.sync.database import Database
from duerow.worker.budget import Budget

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TURN: Final = 5.0
"""Seconds after which a task ends though more is due, so that no station waits long for a place to run."""

LOG: Final = logging.getLogger("duerow.spark")


@dataclass(frozen=True)
class SparkRun:
    """What all stations of a run share.

    Attributes:
        pipeline: what is run.
        spark: where.
        database: the driver's own way to the queues.
        access: the executors' way.
        chunk: messages that a task of a message station claims at most.
        parallelism: tasks of a station at once.
        stop: set when no more is to be begun.
    """

    pipeline: Pipeline
    spark: SparkSession
    database: Database
    access: Access
    chunk: int
    parallelism: int
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def tag(self) -> str:
        """The tag of all of its jobs, by which they can be cancelled."""
        return f"duerow-{self.access.run}"

    @contextmanager
    def tagged(self, station: Station) -> Iterator[None]:
        """Let Spark's jobs that this thread starts in a block say whose they are."""
        tags = (self.tag, f"{station} of {self.pipeline}")
        for tag in tags:
            self.spark.addTag(tag)
        try:
            yield
        finally:
            for tag in tags:
                self.spark.removeTag(tag)


class Job(ABC):
    """One station's work in a run.

    Args:
        run: what the stations share.
        station: the station.

    Attributes:
        station: the station.
        tally: what its tasks say that they did.
    """

    def __init__(self, run: SparkRun, station: Station) -> None:
        self._run, self.station = run, station
        rate = station.begins_at_most
        self._budget = None if rate is None else Budget(rate)
        self.tally = Tally()
        self._counting = threading.Lock()

    @property
    def rounds(self) -> int:
        """How many rounds may be under way at once."""
        return 1

    def count(self, tally: Tally) -> None:
        """Count in what was done; from any thread."""
        with self._counting:
            self.tally.add(tally)

    @property
    def may_begin(self) -> bool:
        """Whether its rate allows another round now."""
        return self._budget is None or self._budget.room() > 0

    @abstractmethod
    def round(self) -> None:
        """Do some seconds of work, on what is due; raise what makes it senseless to go on."""


class MessageJob(Job):
    """Rounds of a station whose function is called for each message: tasks that are consumers of its queue."""

    def __init__(self, run: SparkRun, station: Station) -> None:
        super().__init__(run, station)
        # Others with a rate may have to wait although something is due there, so nothing ends earlier for them.
        others = [one.name for one in run.pipeline.consumers if one is not station and one.begins_at_most is None]
        self._assignment = Assignment(
            run.access, station.name, pickled(station, station), run.pipeline.max_hops, run.chunk, TURN, others
        )

    def round(self) -> None:
        """Run tasks to their end; one task where messages are counted, so that it counts them all."""
        run, budget = self._run, self._budget
        tasks = run.parallelism if budget is None else 1
        LOG.debug("%s of %s: %d tasks", self.station, run.pipeline, tasks)
        work = task(self._assignment if budget is None else replace(self._assignment, most=budget.room()))
        with run.tagged(self.station):
            try:
                rows = run.spark.range(0, tasks, 1, tasks).mapInArrow(work, SCHEMA).collect()
            except Exception as error:
                raise StationFailed(
                    f"{self.station} of {run.pipeline} failed on Spark: {last_line(error)}. What its tasks held is due "
                    "again when its lease ends"
                ) from error
        done = [Tally(*(row[name] for name in COUNTS)) for row in rows]
        if budget is not None:  # begun before now, so that counted from now on they are not too many
            budget.spend(sum(one.claimed - one.released for one in done))
        for one in done:
            self.count(one)
        LOG.info("%s of %s: %s", self.station, run.pipeline, self.tally)


def pickled(station: Station, what: Any) -> bytes:
    """Return what a station's tasks need as bytes; raise ConfigurationError if it cannot travel."""
    from duerow.spark.pickling import dumps

    try:
        return dumps(what)
    except Exception as error:
        raise ConfigurationError(
            f"{station}: its function cannot be sent to the executors ({error}); open files and connections inside it, "
            "and define the types of payloads in a module"
        ) from error
