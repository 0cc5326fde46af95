"""Whatever Spark kills, tries again or runs twice: no message is lost, and each is sent on once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

import duerow
from duerow import Draft, Message, Move, Pipeline, Relay, Sink, Switch, backoff, spark
from duerow.errors import StoreUnavailable
from duerow.message import Failure
from duerow.reservation import BareReservation
from duerow.retry import fixed, limited
from duerow.spark import consumer as consumers
from duerow.spark.consumer import TaskConsumer
from duerow.spark.runner import Runner
from duerow.spark.task import Access
from duerow.testing.clock import MovableClock, minutes, seconds
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faults import fail_at, watch
from duerow.worker.poison import begin_with
from tests.spark.test_stations import found, pushed

AT_ONCE = fixed(timedelta(0))


def killing_once(flag: Path, at: int) -> Callable[[Message], Any]:
    """A relay's function that kills its process at one message, the first time."""

    def function(message: Message) -> Any:
        if message.payload["n"] == at and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return {**message.payload, "by": message.attempts}

    return function


def test_what_a_killed_worker_had_claimed_comes_back_and_goes_on_once(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    ids = pushed(db, "a", 1_000)
    flag = tmp_path / "killed"
    station = Relay("a", killing_once(flag, at=100), to="b", lease=seconds(3))

    spark.run(Pipeline("p", [station], outputs=["b"]), place.url, session, **place.settings)

    assert flag.exists(), "nothing was killed, so nothing was shown"
    moved = found(db, "b")
    assert sorted(moved) == ids
    assert [moved[id]["n"] for id in ids] == list(range(1_000))
    assert max(payload["by"] for payload in moved.values()) > 1
    assert db.queue("a").count() == 0


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)  # who goes together is decided without a database
def test_a_message_that_always_kills_its_worker_is_buried_and_takes_no_other_with_it(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    ids = pushed(db, "a", 40)

    def killing(message: Message) -> Any:
        if message.payload["n"] == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return message.payload

    station = Relay("a", killing, to="b", lease=seconds(2), retry=limited(3, AT_ONCE))

    spark.run(Pipeline("p", [station], outputs=["b"]), place.url, session, **place.settings)

    assert sorted(found(db, "b")) == [id for id in ids if id != ids[5]]
    (dead,) = db.queue("a").find()
    assert (dead.id, dead.status, dead.attempts) == (ids[5], "dead", 3)
    assert dead.last_error is not None
    assert "attempt 3 of 3" in dead.last_error.message


def test_of_two_copies_of_a_task_that_settle_one_reservation_one_does(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    ids = pushed(db, "a", 100)
    lent = [(one.message, one.until) for one in db.queue("a").reserve_many(100)]
    url, settings = place.url, place.settings

    def settle(batches: Any) -> Any:
        from pyarrow import RecordBatch

        for _ in batches:
            pass
        with duerow.connect(url, **settings) as there:
            pairs = [(BareReservation(message, until), Move("b", {"n": -1})) for message, until in lent]
            refused = there.queue("a").settle(pairs)
        yield RecordBatch.from_pydict({"moved": [len(lent) - len(refused)]})

    copies = session.range(0, 2, 1, 2).mapInArrow(settle, "moved long").collect()

    assert sorted(row.moved for row in copies) in ([0, 100], [n for n in (50, 50)])
    assert sum(row.moved for row in copies) == 100
    assert sorted(found(db, "b")) == ids


def test_what_was_taken_over_meanwhile_is_refused_and_counted(place: Place) -> None:
    clock = MovableClock()
    with duerow.connect(place.url, clock=clock, **place.settings) as db:
        ids = pushed(db, "a", 10)
        other = TaskConsumer(Relay("a", lambda m: "other", to="b"), db, max_hops=9, chunk=100)

        def overtaken(message: Message) -> str:
            if message.id == ids[-1] and message.attempts == 1:
                clock.advance(minutes(2))
                taken = other.work(60)
                assert (taken.claimed, taken.settled) == (10, 10)
            return "late"

        late = TaskConsumer(Relay("a", overtaken, to="b"), db, max_hops=9, chunk=100).work(60)

        assert (late.claimed, late.settled, late.refused) == (10, 0, 10)
        assert found(db, "b") == dict.fromkeys(ids, "other")


def test_a_slow_function_claims_less_and_gives_back_what_it_cannot_begin(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(consumers, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=None))
    attempts: list[int] = []

    def slow(message: Message) -> Any:
        now[0] += 0.3 * consumers.HORIZON
        attempts.append(message.attempts)
        return message.payload

    with duerow.connect(place.url, **place.settings) as db:
        ids = pushed(db, "a", 200)
        tally = TaskConsumer(Relay("a", slow, to="b", lease=minutes(5)), db, max_hops=9, chunk=1_000).work(600)

        assert attempts == [1] * 200
        assert (tally.settled, tally.released) == (200, 196)
        assert sorted(found(db, "b")) == ids


def test_a_busy_station_ends_its_turn_early_only_if_others_have_something_due(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(consumers, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=None))

    def slow(message: Message) -> Any:
        now[0] += 0.25
        return message.payload

    with duerow.connect(place.url, **place.settings) as db:
        pushed(db, "a", 40)
        consumer = TaskConsumer(Relay("a", slow, to="b", lease=minutes(5)), db, max_hops=9, chunk=1)

        db.queue("c").push(1, delay=minutes(1))
        assert consumer.work(3, others=["c"]).settled == 12  # as long as its turn lasts
        db.queue("c").push(2)
        assert consumer.work(3, others=["c"]).settled == 3
        assert consumer.work(3, others=["d"]).settled == 12


def lent(*attempts: int, died: bool = True) -> list[BareReservation]:
    """Reservations of messages at these attempts; what died has odd ids, the rest even ones."""
    with duerow.connect("memory://") as db:
        db.queue("a").push_many([Draft(n) for n in attempts])
        error = Failure("LeaseEnded" if died else "ValueError", "…")
        return [
            BareReservation(
                msgspec.structs.replace(one.message, id=2 * one.message.id + died, attempts=attempt, last_error=error),
                one.until,
            )
            for one, attempt in zip(db.queue("a").reserve_many(len(attempts)), attempts, strict=True)
        ]


def test_messages_whose_consumer_died_go_apart_from_others_in_ever_smaller_chunks() -> None:
    fresh = lent(1, 1, 1, died=False)
    assert begin_with(fresh, 2_000, 20) == (fresh, ())
    failed = lent(*[4] * 10, died=False)
    assert begin_with(failed, 2_000, 20) == (failed, ())

    second = lent(*[2] * 300)
    begun, back = begin_with([*fresh, *second], 2_000, 20)
    assert (begun, back) == (second[:125], [*fresh, *second[125:]])
    assert len(begin_with(lent(*[3] * 300), 2_000, 20)[0]) == 7
    assert len(begin_with(lent(*[4] * 300), 2_000, 20)[0]) == 1


def test_the_last_attempt_of_a_message_whose_consumer_died_is_made_alone() -> None:
    assert len(begin_with(lent(*[2] * 300), 2_000, 2)[0]) == 1
    assert len(begin_with(lent(*[2] * 300), 2_000, None)[0]) == 125


class Waiting:
    """What stops a run, with a time of its own that only waiting moves on."""

    def __init__(self, stopped_at: float = float("inf")) -> None:
        self.now, self._stopped_at = 0.0, stopped_at

    def is_set(self) -> bool:
        return self.now >= self._stopped_at

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return self.is_set()


@pytest.mark.parametrize(("failures", "ends"), [(7, False), (10**6, True)], ids=["a while", "ever"])
def test_the_driver_waits_for_the_database_as_long_as_the_tasks_do(
    monkeypatch: pytest.MonkeyPatch, failures: int, ends: bool
) -> None:
    waiting: Any = Waiting()
    monkeypatch.setattr(backoff, "time", SimpleNamespace(monotonic=lambda: waiting.now))
    with duerow.connect("memory://") as db:
        watch(db, fail_at("next_due: before", StoreUnavailable("the server restarts"), times=failures))
        driver = Runner(Pipeline("p", [Sink("a", print)]), None, db, Access("r", "memory://", {}), 10, 1)  # type: ignore[arg-type]
        if ends:
            with pytest.raises(StoreUnavailable, match="the server restarts"):
                driver.run("empty", waiting)
            assert consumers.OUTAGE < waiting.now < consumers.OUTAGE + 5
        else:
            assert driver.run("empty", waiting)["a"].claimed == 0
            assert 1 < waiting.now < consumers.OUTAGE


def test_a_driver_that_waits_for_the_database_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: Any = Waiting(stopped_at=3.0)
    monkeypatch.setattr(backoff, "time", SimpleNamespace(monotonic=lambda: waiting.now))
    with duerow.connect("memory://") as db:
        watch(db, fail_at("next_due: before", StoreUnavailable("gone"), times=10**6))
        driver = Runner(Pipeline("p", [Sink("a", print)]), None, db, Access("r", "memory://", {}), 10, 1)  # type: ignore[arg-type]
        assert driver.run(None, waiting)["a"].claimed == 0


def test_what_another_runner_moves_back_while_the_driver_looks_is_seen_before_the_run_is_over() -> None:
    stations = [
        Relay("first", lambda message: message.payload, to="a"),
        Switch("a", lambda message: ("out", message.payload), to={"again": "b", "out": "c"}),
        Relay("b", lambda message: message.payload, to="a"),
        Sink("c", print),
    ]
    with duerow.connect("memory://") as db:
        db.queue("b").push("there")
        others = db.queue("b").reserve()
        assert others is not None
        idle, moved = db.store.messages.next_due, []

        def looked_at(queues: Sequence[str], until: timedelta, kinds: Any = None, relied_on: bool = False) -> Any:
            if queues == ["b"] and not moved:  # "a" was looked at, and was empty
                moved.append(True)
                db.queue("b").move(others, "a", delay=minutes(1))
            return idle(queues, until, kinds, relied_on)

        db.store.messages.next_due = looked_at  # type: ignore[method-assign]
        driver = Runner(Pipeline("p", stations), None, db, Access("r", "memory://", {}), 10, 1)  # type: ignore[arg-type]
        assert not driver._is_over("empty")
        assert moved
