"""One task serves all message stations, waits for messages, and ends when others need its slot or it is recalled."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from pyspark.sql import SparkSession

import duerow
from duerow import Frame, Pipeline, Relay, Sink, spark
from duerow.queue.limits import RunLimits
from duerow.spark import service as services
from duerow.spark.consumer import TaskConsumer
from duerow.spark.jobs import MessageJob, SparkRun, collect
from duerow.spark.service import Service
from duerow.spark.task import Access, serving_task
from duerow.spark.task_service import FOR_EVER, RECALLS, TaskService, Terms
from duerow.testing.clock import hours, seconds
from duerow.testing.conformance.fixtures import Place
from duerow.testing.worker_harness import eventually
from tests.spark.test_labels import described
from tests.spark.test_stations import pushed

ONE_DATABASE = pytest.mark.parametrize("place", ["postgresql"], indirect=True)


def relays(*names: str, **terms: Any) -> list[Relay]:
    return [Relay(one, lambda m: m.payload, to=next, **terms) for one, next in pairwise(names)]


@contextmanager
def running(pipeline: Pipeline, place: Place, session: SparkSession, **terms: Any) -> Iterator[threading.Event]:
    """A run without an end, which is stopped after the block."""
    stop = threading.Event()
    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(
            lambda: spark.run(pipeline, place.url, session, until=None, stop=stop, **terms, **place.settings)
        )
        try:
            yield stop
        finally:
            stop.set()
        done.result()


def jobs_of(session: SparkSession, pipeline: Pipeline) -> int:
    """How many Spark jobs there have been for a pipeline."""
    return sum(str(pipeline) in str(name) for name in described(session, "job").values())


def test_messages_pass_three_stations_within_one_spark_job_and_an_idle_run_starts_no_more(
    session: SparkSession, place: Place, db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "BEHIND", FOR_EVER)
    pipeline = Pipeline(f"three-{place.url.partition(chr(58))[0]}", relays("a", "b", "c", "d"), outputs=["d"])
    with running(pipeline, place, session):
        for count in range(1, 6):
            pushed(db, "a", 1)
            eventually(lambda count=count: db.queue("d").count() == count)  # type: ignore[misc]
        assert jobs_of(session, pipeline) == 1
    assert jobs_of(session, pipeline) == 1
    assert not db.queue(RECALLS).count()


def test_a_stopped_run_gives_back_what_its_tasks_hold_and_have_not_begun(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    pushed(db, "a", 400)

    def slow(message: duerow.Message) -> Any:
        threading.Event().wait(0.01)
        return message.payload

    with running(Pipeline("p", [Relay("a", slow, to="b", lease=hours(1))], outputs=["b"]), place, session):
        eventually(lambda: db.queue("b").count() > 0)
    left = db.queue("a").find(limit=1_000)
    assert len(left) + db.queue("b").count() == 400
    assert not any(message.leased_by for message in left)


@ONE_DATABASE
def test_a_waiting_task_leaves_a_slot_to_a_frame_station_and_serves_meanwhile(
    session: SparkSession, place: Place, db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wait in ("BEHIND", "PATIENCE"):
        monkeypatch.setattr(services, wait, FOR_EVER)
    stations = [*relays("a", "b"), Frame("b", lambda frame: frame, to="c", schema="n int"), *relays("c", "d")]
    pipeline = Pipeline("with-a-frame", stations, outputs=["d"])
    with running(pipeline, place, session):
        for count in range(1, 4):
            pushed(db, "a", 1)
            eventually(lambda count=count: db.queue("d").count() == count)  # type: ignore[misc]
    names = [name for name in described(session, "job").values() if str(pipeline) in str(name)]
    assert names.count(f"relay 'a', relay 'c' of {pipeline}") == 1


@ONE_DATABASE
def test_the_only_task_gives_up_its_slot_to_a_frame_station(
    session: SparkSession, place: Place, db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    stations = [*relays("a", "b"), Frame("b", lambda frame: frame, to="c", schema="n int")]
    run = SparkRun(Pipeline("p", stations, outputs=["c"]), session, db, Access("r", place.url, place.settings), 10, 1)
    job = MessageJob(run, stations[0])
    pushed(db, "b", 1)
    terms = Terms("r/0", seconds=3_600, idle=FOR_EVER, others=["b"])
    assert [one.claimed for one in collect(run, [job], serving_task("a", [job.assignment], terms), 1)] == [0]


class Begun:
    """What a service begins, without Spark."""

    def __init__(self, db: duerow.Database, monkeypatch: pytest.MonkeyPatch, parallelism: int, lasts: bool) -> None:
        self.now = 100.0
        monkeypatch.setattr(services, "monotonic", lambda: self.now)
        pipeline = Pipeline("p", [*relays("a", "b"), Sink("b", print)])
        run = SparkRun(pipeline, None, db, Access("r", "memory://", {}), 10, parallelism)  # type: ignore[arg-type]
        self.jobs = [MessageJob(run, station) for station in pipeline.consumers]
        self.service = Service(run, self.jobs, lasts)

    def begin(self, *due: MessageJob, may_wait: bool = True) -> int:
        return len([*self.service.begin(due, may_wait)])

    @property
    def stay(self) -> list[bool]:
        return [task.stays for task in self.service._tasks.values()]


def test_more_tasks_begin_when_those_that_run_do_not_keep_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with duerow.connect("memory://") as db:
        begun = Begun(db, monkeypatch, parallelism=3, lasts=True)
        assert (begun.begin(), begun.stay) == (1, [True])
        assert begun.begin(begun.jobs[0]) == 0, "the task that waits takes it"
        begun.now += 0.2
        assert begun.begin() == 0
        begun.now += services.BEHIND
        assert begun.begin(begun.jobs[0]) == 0, "something else is due now"
        begun.now += services.BEHIND
        assert begun.begin(begun.jobs[0]) == 2
        assert begun.stay == [True, False, False]


def test_a_task_that_stays_is_replaced_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    with duerow.connect("memory://") as db:
        begun = Begun(db, monkeypatch, parallelism=2, lasts=True)
        begun.begin()
        begun.now += services.LIFE - services.OVERLAP
        assert begun.service.looks_in is None
        assert (begun.begin(), begun.stay) == (1, [False, True])


def test_a_task_stays_longer_if_nothing_happened_while_the_one_before_stayed(monkeypatch: pytest.MonkeyPatch) -> None:
    with duerow.connect("memory://") as db:
        begun = Begun(db, monkeypatch, parallelism=2, lasts=True)
        lives = []
        for happens in (lambda: None, lambda: None, begun.service.heard, lambda: None):
            begun.begin()
            [staying] = [task for task in begun.service._tasks.values() if task.stays]
            assert staying.stays_until is not None
            lives.append(staying.stays_until - begun.now + services.OVERLAP)
            happens()
            for task in begun.service._tasks.values():
                task.over = not task.stays
            begun.now = staying.stays_until
        assert lives == [services.LIFE, services.QUIET_LIFE, services.QUIET_LIFE, services.LIFE]


def test_a_task_that_would_only_wait_is_not_begun_while_other_stations_need_slots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with duerow.connect("memory://") as db:
        begun = Begun(db, monkeypatch, parallelism=2, lasts=True)
        assert begun.begin(may_wait=False) == 0
        assert begun.begin(begun.jobs[1], may_wait=False) == 1


def test_a_run_with_an_end_has_no_task_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    with duerow.connect("memory://") as db:
        begun = Begun(db, monkeypatch, parallelism=2, lasts=False)
        assert begun.begin() == 0
        assert (begun.begin(begun.jobs[0]), begun.stay) == (2, [False, False])


def test_a_station_has_another_task_while_a_call_holds_one_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with duerow.connect("memory://") as db:
        begun = Begun(db, monkeypatch, parallelism=2, lasts=False)
        assert begun.begin(begun.jobs[0]) == 2
        begun.service._tasks[0].over = True
        assert begun.service.has_room(begun.jobs[0])
        assert begun.begin(begun.jobs[0]) == 0, "the other task may still take it"
        begun.now += services.BEHIND
        assert begun.begin(begun.jobs[0]) == 1
        assert not begun.service.has_room(begun.jobs[0])


def test_a_large_cluster_is_filled_only_by_need(monkeypatch: pytest.MonkeyPatch) -> None:
    with duerow.connect("memory://") as db:
        begun = Begun(db, monkeypatch, parallelism=20, lasts=False)
        assert begun.begin(begun.jobs[0]) == services.FEW
        begun.now += services.BEHIND
        assert [begun.begin(begun.jobs[0]) for _ in range(4)] == [2, 4, 8, 4]


def test_tasks_serve_a_station_only_as_operators_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    with duerow.connect("memory://") as db:
        begun = Begun(db, monkeypatch, parallelism=3, lasts=False)
        begun.jobs[0].limit(RunLimits(concurrency=1))
        begun.jobs[1].limit(RunLimits(rate=5, rate_span=seconds(1)))
        assert [begun.service.serves(job) for job in begun.jobs] == [True, False]
        assert begun.begin(begun.jobs[0]) == 1
        assert not begun.service.has_room(begun.jobs[0])


def test_tasks_with_old_limits_are_recalled_once_and_the_message_goes_with_the_last_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with duerow.connect("memory://") as db:
        begun = Begun(db, monkeypatch, parallelism=2, lasts=True)
        begun.begin()
        begun.service.recall()
        assert [message.key for message in db.queue(RECALLS).find()] == ["r/0"]
        assert begun.begin() == 1, "its successor is not recalled"
        assert {task.recall for task in begun.service._tasks.values()} == {"r/0", "r/1"}
        begun.service._tasks[0].over = True
        begun.service.close()
        assert not db.queue(RECALLS).find()


def serving(db: duerow.Database, terms: Terms, *stations: Relay, chunk: int = 10) -> TaskService:
    return TaskService(db, [TaskConsumer(station, db, max_hops=9, chunk=chunk) for station in stations], terms)


def test_a_backlog_at_one_station_does_not_keep_others_waiting() -> None:
    order: list[str] = []

    def noting(message: duerow.Message) -> Any:
        order.append(message.queue)
        return message.payload

    with duerow.connect("memory://") as db:
        pushed(db, "a", 30)
        pushed(db, "b", 10)
        stations = Relay("a", noting, to="x"), Relay("b", noting, to="y")
        tallies = serving(db, Terms("r/0", seconds=3_600), *stations).work()
    assert order == [*["a"] * 10, *["b"] * 10, *["a"] * 20]
    assert {name: tally.settled for name, tally in tallies.items()} == {"a": 30, "b": 10}


def test_a_task_that_was_recalled_before_it_began_claims_nothing_and_others_work_on() -> None:
    with duerow.connect("memory://") as db:
        pushed(db, "a", 3)
        db.queue(RECALLS).push(None, key="r/0")
        (station,) = relays("a", "b")
        assert serving(db, Terms("r/0", seconds=3_600, idle=FOR_EVER), station).work()["a"].claimed == 0
        assert serving(db, Terms("r/1", seconds=3_600, idle=0.001), station).work()["a"].claimed == 3


def test_a_task_that_stays_begins_with_long_sleeps_and_one_that_lingers_with_short_ones() -> None:
    with duerow.connect("memory://") as db:
        (station,) = relays("a", "b")
        staying, lingering = (serving(db, Terms("r/0", seconds=3_600, idle=idle), station) for idle in (FOR_EVER, 2.0))
        assert staying._sleep._interval.next(5.0) > 3 > lingering._sleep._interval.next(5.0)


def test_a_task_that_waits_sleeps_longer_and_longer_over_what_it_cannot_claim(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []
    with duerow.connect("memory://") as db:
        (station,) = relays("a", "b")
        task = serving(db, Terms("r/0", seconds=3_600, idle=FOR_EVER), station)
        monkeypatch.setattr(TaskConsumer, "take", lambda *what: False)
        pushed(db, "a", 1)

        def sleep(most: float, *rest: Any) -> None:
            slept.append(most)
            if len(slept) == 3:
                db.queue(RECALLS).push(None, key="r/0")

        monkeypatch.setattr(task._sleep, "sleep", sleep)
        task.work()
    assert len(slept) == 3, "it does not look at the queue again and again"


def test_a_push_ends_a_sleep_and_what_it_brought_is_claimed_before_any_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    with duerow.connect("memory://") as db:
        (station,) = relays("a", "b")
        task = serving(db, Terms("r/0", seconds=3_600, idle=FOR_EVER), station)
        take = TaskConsumer.take

        def heard(seconds: float) -> bool:
            events.append("push")
            if events.count("push") == 1:
                pushed(db, "a", 1)
            elif events.count("push") == 3:
                db.queue(RECALLS).push(None, key="r/0")
            return True

        def noting(self: TaskConsumer, *what: Any) -> bool:
            found = take(self, *what)
            events.append("message" if found else "nothing")
            return found

        monkeypatch.setattr(task._sleep._wakeup, "wait", heard)
        monkeypatch.setattr(task._sleep._ended, "wait", lambda seconds: events.append("pause"))
        monkeypatch.setattr(TaskConsumer, "take", noting)
        task.work()
    until_the_next_sleep = events[events.index("push") :][:7]
    assert until_the_next_sleep == ["push", "message", "nothing", "push", "nothing", "pause", "push"]
