"""A function that hangs holds up its own message alone: neither its chunk, nor other tasks, nor the run."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

import duerow
from duerow import Fork, Frame, Join, Message, Pipeline, Relay, Sink, Split, Switch, spark
from duerow.pipeline import Station
from duerow.retry import fixed, limited
from duerow.spark import time_limit
from duerow.spark.apart import ApartConsumer
from duerow.spark.calls import Calls
from duerow.spark.consumer import Tally
from duerow.spark.pickling import dumps
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.conformance.fixtures import Place
from duerow.testing.worker_harness import eventually
from tests.spark.test_stations import found, pushed

AT_ONCE = fixed(timedelta(0))

ONE_DATABASE = pytest.mark.parametrize("place", ["postgresql"], indirect=True)
"""For what happens in the processes of a task, whatever the database is."""


def hanging_at(number: int, how: str) -> Callable[[Message], Any]:
    """A relay's function that hangs at one message."""

    def function(message: Message) -> Any:
        if message.payload["n"] == number:
            if how == "waiting":  # as for a service that never answers
                threading.Event().wait()
            elif how == "matching":  # as many a pattern does on unlucky text
                re.fullmatch(r"(a+)+b", "a" * 60)
            elif how == "keeping the lock":  # as C code does
                ctypes.PyDLL(None).pause()
        return message.payload

    return function


@pytest.mark.parametrize(
    ("how", "attempts"),
    [
        ("waiting", 2),
        ("keeping the lock", 1),
        pytest.param("matching", 1, marks=pytest.mark.soak),  # like the one that keeps the lock, it never waits
    ],
)
@ONE_DATABASE
def test_a_call_that_hangs_is_killed_and_a_failed_attempt_of_its_message_alone(
    session: SparkSession, place: Place, db: duerow.Database, how: str, attempts: int
) -> None:
    ids = pushed(db, "a", 100)
    retry = limited(attempts, AT_ONCE)
    station = Relay("a", hanging_at(50, how), to="b", timeout=seconds(3), lease=minutes(5), retry=retry)

    spark.run(Pipeline("p", [station], outputs=["b"]), place.url, session, **place.settings)

    moved = found(db, "b")
    assert sorted(moved) == [id for id in ids if id != ids[50]]
    (dead,) = db.queue("a").find()
    assert (dead.id, dead.status, dead.attempts) == (ids[50], "dead", attempts)
    assert dead.last_error is not None
    assert dead.last_error.type == "TimedOut"
    assert "timed out after 0:00:03" in dead.last_error.message


@ONE_DATABASE
def test_the_rest_of_a_chunk_goes_on_elsewhere_while_a_call_hangs(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    ids = pushed(db, "a", 100)
    url, settings = place.url, place.settings

    def function(message: Message) -> Any:
        if message.payload["n"] == 10:  # hang until all others have arrived
            with duerow.connect(url, **settings) as there:
                eventually(lambda: there.queue("b").count() == 99)
        return message.attempts

    station = Relay("a", function, to="b", timeout=minutes(5), lease=seconds(45))

    spark.run(Pipeline("p", [station], outputs=["b"]), url, session, **settings)

    assert found(db, "b") == dict.fromkeys(ids, 1), "the call that hung was the only one, and saw the others arrive"


def until_there_is(file: Path) -> Callable[[Message], Any]:
    """A function that hangs until a file exists."""

    def function(message: Message) -> Any:
        eventually(file.exists)
        return message.payload

    return function


@contextmanager
def working(db: duerow.Database, station: Station) -> Iterator[Future[Tally]]:
    """A station's consumer that works in a thread of this process, with the function in a child."""
    calls = Calls()
    consumer = ApartConsumer(
        station, db, max_hops=9, chunk=100, calls=calls, key=("run", station.name), pickled=dumps(station)
    )
    try:
        with ThreadPoolExecutor(1) as thread:
            yield thread.submit(consumer.work, 60)
    finally:
        calls.kill()


@ONE_DATABASE
def test_the_lease_of_a_message_is_extended_while_its_call_may_take_longer(place: Place, tmp_path: Path) -> None:
    clock = MovableClock()
    with duerow.connect(place.url, clock=clock, **place.settings) as db:
        (id,) = pushed(db, "a", 1)
        station = Relay("a", until_there_is(tmp_path / "on"), to="b", timeout=minutes(5), lease=seconds(3))

        def end_of_lease() -> Any:
            return db.queue("a").get(id).leased_until

        with working(db, station) as done:
            eventually(end_of_lease)
            before = end_of_lease()
            clock.advance(seconds(1))
            eventually(lambda: end_of_lease() > before)
            (tmp_path / "on").touch()
            assert done.result().settled == 1
        assert sorted(found(db, "b")) == [id]


@ONE_DATABASE
def test_a_call_is_given_up_when_its_message_is_no_longer_the_tasks(place: Place, tmp_path: Path) -> None:
    with duerow.connect(place.url, **place.settings) as db:
        ids = pushed(db, "a", 2)
        station = Relay("a", until_there_is(tmp_path / "never"), to="b", timeout=minutes(5), lease=seconds(3))
        with working(db, station) as done:
            for id in ids:
                eventually(lambda id=id: db.queue("a").get(id).attempts == 1)  # type: ignore[misc]
                db.queue("a").remove(id, even_if_leased=True)
            tally = done.result()
        assert (tally.refused, tally.settled) == (2, 0)
        assert found(db, "b") == {}


@ONE_DATABASE
def test_a_payload_whose_type_the_program_defines_reaches_a_call_with_a_timeout(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    @dataclass
    class Order:
        n: int

    def double(message: Message) -> Order:
        assert type(message.payload) is Order
        return Order(2 * message.payload.n)

    pushed(db, "a", 3)
    station = Relay("a", double, to="b", payload=Order, timeout=minutes(5), retry=limited(1, AT_ONCE))

    spark.run(Pipeline("p", [station], outputs=["b"]), place.url, session, **place.settings)

    assert [one["n"] for one in map(json.loads, found(db, "b").values())] == [0, 2, 4]


@ONE_DATABASE
def test_every_kind_of_station_can_have_a_timeout(session: SparkSession, place: Place, db: duerow.Database) -> None:
    pushed(db, "switch", 6)
    terms: dict[str, Any] = {"timeout": minutes(5), "retry": limited(1, AT_ONCE)}
    pipeline = Pipeline(
        "p",
        [
            Switch(
                "switch",
                lambda m: ("on", m.payload) if m.payload["n"] else ("out", 0),
                to={"on": "fork", "out": "end"},
                **terms,
            ),
            Fork("fork", lambda m: {"split": m.payload}, to=["split"], **terms),
            Split("split", lambda m: (m.payload for _ in range(2)), to="join", **terms),
            Join(
                "join",
                lambda parts: parts[0].payload,
                to="end",
                by="payload.n",
                complete=lambda parts: len(parts) == 2,
                **terms,
            ),
            Sink("end", lambda m: None, history=hours(1), **terms),
        ],
    )

    spark.run(pipeline, place.url, session, **place.settings)

    ended = [event.payload for event in db.queue("end").history()]
    assert sorted(one["n"] for one in ended if one) == [1, 2, 3, 4, 5]
    assert [db.queue(queue).count() for queue in pipeline.queues] == [0] * len(pipeline.queues)


@ONE_DATABASE
def test_without_a_timeout_a_call_that_outlasts_its_lease_ends_its_process_and_the_run_goes_on(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    ids = pushed(db, "a", 40)
    station = Relay("a", hanging_at(5, "keeping the lock"), to="b", lease=seconds(3), retry=limited(2, AT_ONCE))

    spark.run(Pipeline("p", [station], outputs=["b"]), place.url, session, **place.settings)

    assert sorted(found(db, "b")) == [id for id in ids if id != ids[5]]
    (dead,) = db.queue("a").find()
    assert (dead.id, dead.status, dead.attempts) == (ids[5], "dead", 2)
    assert dead.last_error is not None
    assert "attempt 2 of 2" in dead.last_error.message


@ONE_DATABASE
def test_a_function_that_ends_its_process_at_every_message_does_not_end_the_run(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    pushed(db, "a", 5)  # one more than Spark tries a task

    def killing(message: Message) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    station = Relay("a", killing, to="b", lease=seconds(3), retry=limited(1, AT_ONCE))

    spark.run(Pipeline("p", [station], outputs=["b"]), place.url, session, chunk=1, parallelism=1, **place.settings)

    dead = db.queue("a").find()
    assert {(one.status, one.attempts) for one in dead} == {("dead", 1)}
    assert sorted(one.last_error.type for one in dead if one.last_error) == ["HandlerDied", *["LeaseEnded"] * 4]


class OnceItHangs(threading.Thread):
    """In place of a timer: acts when a task has written that it hangs, however long Spark took to begin it.

    Args:
        hanging: the file that the task writes.
        act: what to do.
    """

    def __init__(self, hanging: Path, act: Callable[[], None]) -> None:
        super().__init__()
        self._hanging, self._act, self._over = hanging, act, threading.Event()

    def run(self) -> None:
        while not self._over.wait(0.02):
            if self._hanging.exists():
                self._hanging.unlink()
                self._act()
                return

    def cancel(self) -> None:
        """Act no more."""
        self._over.set()


@ONE_DATABASE
def test_of_a_batch_that_hangs_only_the_message_at_fault_fails(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = pushed(db, "a", 2)
    told = tmp_path / "hanging"

    def timer(seconds: float, act: Callable[[], None]) -> OnceItHangs:
        assert seconds == 5
        return OnceItHangs(told, act)

    monkeypatch.setattr(time_limit, "threading", SimpleNamespace(Timer=timer))

    def hanging(batches: Any) -> Any:
        for batch in batches:
            if 1 in batch["n"].to_pylist():
                told.touch()
                threading.Event().wait()
            yield batch

    station = Frame(
        "a",
        lambda frame: frame.mapInArrow(hanging, frame.schema),
        to="b",
        rowwise=True,
        schema="n long",
        timeout=seconds(5),
        retry=limited(1, AT_ONCE),
    )

    spark.run(Pipeline("p", [station], outputs=["b"]), place.url, session, **place.settings)

    assert sorted(found(db, "b")) == ids[:1]
    (dead,) = db.queue("a").find()
    assert (dead.id, dead.status) == (ids[1], "dead")
    assert dead.last_error is not None
    assert (dead.last_error.type, "timed out after 0:00:05" in dead.last_error.message) == ("TimedOut", True)
