"""The driver of a run on Spark that has nothing to start asks little, and wakes at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest

import duerow
from bench.counting_proxy import counting
from duerow import Pipeline, Relay, Sink
from duerow.spark import driver_sleep, runner, service
from duerow.spark.consumer import due_in, is_due
from duerow.spark.jobs import Job, MessageJob, SparkRun
from duerow.spark.runner import Runner
from duerow.spark.task import Access
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.conformance.fixtures import Place
from duerow.testing.worker_harness import eventually
from duerow.worker.maintenance import PRESENT

STATIONS = ("a", "b", "c")

CONNECTING = 10
"""The most statements with which connections are opened and tried out."""


def pipeline(**terms: Any) -> Pipeline:
    relays = [Relay(one, lambda message: message.payload, to=next, **terms) for one, next in [("a", "b"), ("b", "c")]]
    return Pipeline("p", [*relays, Sink("c", print)])


def driver_of(db: duerow.Database, **terms: Any) -> Runner:
    return Runner(pipeline(**terms), None, db, Access("r", "memory://", {}), 10, 1)  # type: ignore[arg-type]


class Asleep:
    """A driver whose sleeps take no time, and which is stopped at one of them.

    Attributes:
        looks: the queues that each look was about.
        sleeps: the most seconds of each sleep.
    """

    def __init__(self, db: duerow.Database, monkeypatch: pytest.MonkeyPatch, stop_at: int) -> None:
        self.looks: list[list[str]] = []
        self.sleeps: list[float] = []
        stop, next_due = threading.Event(), db.store.messages.next_due

        def look(queues: Sequence[str], *rest: Any, **more: Any) -> Any:
            self.looks.append([*queues])
            return next_due(queues, *rest, **more)

        def sleep(wakeup: Any, seconds: float) -> bool:
            self.sleeps.append(seconds)
            if len(self.sleeps) == stop_at:
                stop.set()
            return False

        monkeypatch.setattr(db.store.messages, "next_due", look)
        monkeypatch.setattr(driver_sleep.Wakeup, "wait", sleep)
        for module in (driver_sleep, runner):
            monkeypatch.setattr(module, "monotonic", lambda: sum(self.sleeps))
        monkeypatch.setattr(Job, "look_for_unknown", lambda *job, **now: None)
        monkeypatch.setattr(service, "collect", lambda *what: stop.wait())
        self.stop = stop


def test_an_idle_driver_asks_about_all_stations_at_once_as_rarely_as_an_idle_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with duerow.connect("memory://") as db:
        asleep = Asleep(db, monkeypatch, stop_at=200)
        driver_of(db).run(None, asleep.stop)
    assert {*map(tuple, asleep.looks)} == {STATIONS}
    assert max(asleep.sleeps) <= driver_sleep.SHORT_SLEEP, "a stop is seen meanwhile"
    growing, poll = 14, 5.0
    assert len(asleep.looks) <= growing + sum(asleep.sleeps) / (poll * 0.75)
    assert sum(asleep.sleeps) / len(asleep.looks) > poll, "a task waits for messages, and the driver only adds others"


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_an_idle_driver_of_three_stations_sends_fewer_than_three_statements_a_second(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with counting(place.url) as proxy, duerow.connect(proxy.url, **place.settings) as db:
        asleep = Asleep(db, monkeypatch, stop_at=400)
        driver_of(db).run(None, asleep.stop)
        looks, presented = len(asleep.looks), sum(asleep.sleeps) / PRESENT
        assert proxy.statements <= (1 + 2 * len(STATIONS)) * looks + 3 * (presented + 1) + CONNECTING
        assert proxy.statements / sum(asleep.sleeps) < 3


def test_a_driver_that_waits_for_a_delayed_message_sleeps_until_it_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    with duerow.connect("memory://") as db:
        db.queue("b").push(1, delay=minutes(10))
        asleep = Asleep(db, monkeypatch, stop_at=40)
        driver_of(db).run("empty", asleep.stop)
    assert {*map(tuple, asleep.looks)} == {STATIONS}, "a station is looked at by itself only if anything is due"


@contextmanager
def running(db: duerow.Database, monkeypatch: pytest.MonkeyPatch, until: Any = None) -> Iterator[list[str]]:
    """A driver that sleeps for an hour unless it is woken; yields the stations of which it starts a round."""
    begun: list[str] = []

    def round(run: SparkRun, served: Sequence[MessageJob], *what: Any) -> None:
        for job in served:
            for reservation in job.queue.reserve_many(10):
                begun.append(job.station.name)
                reservation.commit()

    monkeypatch.setattr(service, "collect", round)
    monkeypatch.setattr(driver_sleep, "poll_interval", lambda woken: hours(1))
    monkeypatch.setattr(driver_sleep.Interval, "next", lambda interval, most: most)
    stop, slept = threading.Event(), threading.Event()
    sleep = driver_sleep.DriverSleep.sleep

    def sleeping(self: Any, most: float, *rest: Any) -> None:
        if most > 1:
            slept.set()
        sleep(self, most, *rest)

    monkeypatch.setattr(driver_sleep.DriverSleep, "sleep", sleeping)
    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(driver_of(db).run, until, stop)
        try:
            assert slept.wait(30)
            yield begun
        finally:
            stop.set()
        done.result()


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_a_push_wakes_a_driver_that_sleeps(place: Place, db: duerow.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with duerow.connect(place.url, **place.settings) as own, running(own, monkeypatch) as begun:
        db.queue("b").push(1)
        eventually(lambda: begun == ["b"])
        db.queue("c").push(1)
        eventually(lambda: begun == ["b", "c"])


def test_a_driver_that_hears_of_what_it_cannot_start_lets_more_and_more_time_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    with duerow.connect("memory://") as db:
        sleep = driver_sleep.DriverSleep("p", db.queue("a"), ["a"])
        monkeypatch.setattr(sleep._ended, "wait", pauses.append)
        monkeypatch.setattr(sleep._wakeup, "wait", lambda seconds: True)
        for _ in range(20):
            sleep.sleep(5.0, None, threading.Event())
            sleep.started(False)
        assert len(pauses) == 20
        assert pauses[0] <= 0.01
        assert max(pauses) <= driver_sleep.SHORT_SLEEP
        assert pauses[-1] > 0.2
        sleep.started(True)
        sleep.sleep(5.0, None, threading.Event())
        sleep.started(False)
        assert pauses[-1] <= 0.01


def test_a_driver_reads_the_limits_of_all_stations_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Sequence[str]] = []
    read = runner.read_limits_of_each
    with duerow.connect("memory://") as db:
        db.queue("b").limit(concurrency=3)
        driver = driver_of(db)
        monkeypatch.setattr(runner, "read_limits_of_each", lambda db, names: (asked.append(names), read(db, names))[1])
        driver._follow_limits()
        assert [job._limits.concurrency for job in driver._jobs] == [None, 3, None]
    assert asked == [[*STATIONS]]


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_what_was_pushed_before_a_look_and_committed_after_it_is_found_by_the_next_look(place: Place) -> None:
    clock = MovableClock()
    with (
        duerow.connect(place.url, clock=clock, **place.settings) as db,
        closing(psycopg.connect(place.url)) as late,
    ):
        db.queue("a").push("late", within=late)
        clock.advance(minutes(1))
        assert due_in(db, STATIONS, {}, seconds(5)) is None
        late.commit()
        assert is_due(due_in(db, STATIONS, {}, seconds(5)))
