"""The driver of a run on Spark takes no more memory after a million messages, or a day, than soon after it began.

DUEROW_SOAK_MESSAGES says how many messages, if not a million; DUEROW_SOAK_HOURS how many hours, if not a day of them.
"""

import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

import duerow
from duerow import Draft, Pipeline, Relay, Sink, spark
from duerow.spark import runner, service
from duerow.testing.conformance.fixtures import Place
from tests.growth import SAMPLES, Sample, growing

MESSAGES = int(os.environ.get("DUEROW_SOAK_MESSAGES", "1000000"))
HOURS = float(os.environ.get("DUEROW_SOAK_HOURS", "24"))

FASTER = 100
"""How many times faster than usual the driver lives through its day: only its own pauses and lives are shorter."""

STAY = service.LIFE - service.OVERLAP
"""Seconds for which a task stays before the next one is started."""

PORTION = 10_000
WAITING = 20_000
"""Messages that wait, from which on no more are pushed."""

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(6 * 3600),
    pytest.mark.parametrize("place", ["postgresql"], indirect=True),
]


def sample(session: SparkSession) -> Sample:
    """Measure the driver: this process, and its Java."""
    gc.collect()
    java = session._jvm.java.lang  # type: ignore[union-attr]
    java.System.gc()
    heap = java.Runtime.getRuntime()
    process = psutil.Process()
    return {
        "memory": float(process.memory_info().rss),
        "objects": float(len(gc.get_objects())),
        "heap": float(heap.totalMemory() - heap.freeMemory()),
        "threads": float(process.num_threads()),
        "descriptors": float(process.num_fds()),
    }


class Beside:
    """A run of a pipeline beside the test."""

    def __init__(self, begin: Callable[[], Any]) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._run = self._thread.submit(begin)

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; a run that ends before fails the test."""
        while not holds():
            assert not self._run.done(), self._run.exception()
            time.sleep(0.05)

    def close(self) -> None:
        """Wait until the run has ended."""
        self._run.result()
        self._thread.shutdown()


@pytest.fixture
def beside(place: Place, session: SparkSession) -> Iterator[Callable[[], Beside]]:
    """Begins a run of three stations, which is stopped after the test."""
    stop, runs = threading.Event(), list[Beside]()

    def begin() -> Beside:
        terms: dict[str, Any] = {"until": None, "stop": stop, **place.settings}
        runs.append(Beside(lambda: spark.run(three_stations(), place.url, session, **terms)))
        return runs[-1]

    yield begin
    stop.set()
    for run in runs:
        run.close()


def three_stations() -> Pipeline:
    relays = [Relay(name, lambda message: message.payload, to=next) for name, next in [("a", "b"), ("b", "c")]]
    return Pipeline("p", [*relays, Sink("c", lambda message: None)])


def left(db: duerow.Database) -> int:
    return sum(db.queue(name).count() for name in ("a", "b", "c"))


def told(number: int, one: Sample, what: str) -> None:
    print(f"{number + 1}/{SAMPLES} {what}", {name: int(value) for name, value in one.items()}, flush=True)


def test_a_driver_takes_no_more_after_a_million_messages(
    session: SparkSession, db: duerow.Database, beside: Callable[[], Beside]
) -> None:
    run, samples, pushed = beside(), list[Sample](), 0
    for number in range(SAMPLES):
        while pushed < MESSAGES * (number + 1) // SAMPLES:
            run.until(lambda: db.queue("a").count() < WAITING)
            count = min(PORTION, MESSAGES * (number + 1) // SAMPLES - pushed)
            db.queue("a").push_many([Draft({"n": pushed + n}) for n in range(count)])
            pushed += count
        samples.append(sample(session))
        told(number, samples[-1], f"{pushed} pushed")
    run.until(lambda: left(db) == 0)
    assert growing(samples) == {}


def test_a_driver_that_mostly_waits_takes_no_more_after_a_day(
    session: SparkSession, db: duerow.Database, beside: Callable[[], Beside], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "QUIET_LIFE", service.LIFE)  # more tasks begin than in a real day
    for name in ("LIFE", "QUIET_LIFE", "OVERLAP", "LINGER", "PATIENCE", "BEHIND", "LOOK"):
        monkeypatch.setattr(service, name, getattr(service, name) / FASTER)
    monkeypatch.setattr(runner, "PRESENT", runner.PRESENT / FASTER)
    begun: list[None] = []
    serving_task = service.serving_task

    def counted(*terms: Any) -> Any:
        begun.append(None)
        return serving_task(*terms)

    monkeypatch.setattr(service, "serving_task", counted)
    run, samples, lives = beside(), list[Sample](), int(HOURS * 3600 / STAY)
    for number in range(SAMPLES):
        db.queue("a").push({"n": number})
        enough = lives * (number + 1) // SAMPLES
        run.until(lambda enough=enough: len(begun) >= enough)  # type: ignore[misc]
        samples.append(sample(session))
        told(number, samples[-1], f"{len(begun)} tasks")
    run.until(lambda: left(db) == 0)
    assert growing(samples) == {}
