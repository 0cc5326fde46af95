"""A task of message stations, in an executor: claim a chunk, call the function for each message, settle, repeat.

A task is a consumer like any other. Its messages are fenced by id and token, so their safety does not depend on Spark:
a task that is repeated, duplicated or killed can neither lose a message nor send one on twice. The messages of a killed
task are due again when their leases end.
"""

from __future__ import annotations

import atexit
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from duerow.pipeline import Station
from duerow.spark.apart import ApartConsumer, WatchedConsumer
from duerow.spark.calls import Calls
from duerow.spark.consumer import COUNTS, OnlyKinds, Tally, TaskConsumer
from duerow.spark.gc_freeze import keep_what_is_imported
from duerow.spark.task_service import TaskService, Terms
from duerow.sync.database import Database, connect
from duerow.telemetry.startup import start as telemetry

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    TaskFunction = Callable[[Iterable[RecordBatch]], Iterator[RecordBatch]]


@dataclass(frozen=True)
class Access:
    """How executors reach the database; the same during a run, so that each connects only once.

    Attributes:
        run: the name of the run.
        url: the database.
        settings: further arguments of `connect`.
    """

    run: str
    url: str = field(compare=False, repr=False)
    settings: Mapping[str, Any] = field(compare=False, repr=False)


@dataclass(frozen=True)
class Assignment:
    """The driver's instructions for a task.

    Attributes:
        access: how to reach the database.
        name: the station's name.
        pickled: the station.
        max_hops: how many queues a message may go through.
        chunk: the maximum number of messages of a claim.
        seconds: the time after which the task ends even if more is due, so that others can run.
        others: the queues of the pipeline's other stations: the task ends earlier if something is due there.
        most: the maximum number of messages that the task claims in all; None: no limit.
        only: see `OnlyKinds`.
        apart: whether the function is called in a separate process, although the station has no timeout.
    """

    access: Access
    name: str
    pickled: bytes = field(compare=False, repr=False)
    max_hops: int = field(compare=False)
    chunk: int = field(compare=False)
    seconds: float = field(compare=False)
    others: Sequence[str] = field(default=(), compare=False)
    most: int | None = field(default=None, compare=False)
    only: OnlyKinds = field(default_factory=dict, compare=False)
    apart: bool = False


def task(assignment: Assignment) -> TaskFunction:
    """Return the function for `mapInArrow`; query plans show it by the station's name."""

    def work() -> Mapping[str, Tally]:
        done = _consumer(assignment).work(assignment.seconds, assignment.most, assignment.others, assignment.only)
        keep_what_is_imported()
        return {assignment.name: done}

    return _named(assignment.name, work)


def serving_task(name: str, assignments: Sequence[Assignment], terms: Terms) -> TaskFunction:
    """Return the function for `mapInArrow` of a task that serves several stations.

    Args:
        name: the function's name in query plans.
        assignments: the stations.
        terms: how long it serves them.
    """

    def work() -> Mapping[str, Tally]:
        service = TaskService(database_of(assignments[0].access), [_consumer(one) for one in assignments], terms)
        keep_what_is_imported()
        return service.work()

    return _named(name, work)


def _named(name: str, work: Callable[[], Mapping[str, Tally]]) -> TaskFunction:
    """Return a task's function: it returns the counts of each station as a row for the driver; see SCHEMA."""

    def rows(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        from pyarrow import RecordBatch

        for _ in batches:  # the rows only determine the number of tasks
            pass
        tallies = work()
        counts = {column: [getattr(one, column) for one in tallies.values()] for column in COUNTS}
        yield RecordBatch.from_pydict({"station": [*tallies], **counts})

    rows.__name__ = name
    return rows


@lru_cache(maxsize=4)
def database_of(access: Access) -> Database:
    """Return the database for this process, which Spark reuses for many tasks."""
    return connect(access.url, **access.settings)


@lru_cache(maxsize=128)
def _consumer(assignment: Assignment) -> TaskConsumer:
    """Return this process's consumer of a station."""
    telemetry()
    station: Station = pickle.loads(assignment.pickled)  # noqa: S301 - from the driver, as the task itself
    terms = station, database_of(assignment.access), assignment.max_hops, assignment.chunk
    if station.call_timeout is None and not assignment.apart:
        return WatchedConsumer(*terms)
    return ApartConsumer(*terms, calls=_calls(), key=(assignment.access.run, station.name), pickled=assignment.pickled)


@cache
def _calls() -> Calls:
    """Return the object that calls functions in a child of this process."""
    calls = Calls()
    atexit.register(calls.close)  # otherwise multiprocessing would wait for the child, which ignores signals
    return calls
