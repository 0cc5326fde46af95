"""Pipelines on Spark do to messages what their stations say, as the local twin does."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from pyspark.sql import SparkSession

import duerow
from duerow import Draft, Drop, Fork, Frame, Join, Message, Pipeline, Relay, Sink, Split, Switch, spark
from duerow.errors import ConfigurationError
from duerow.retry import fixed, limited
from duerow.spark import runner
from duerow.testing.conformance.fixtures import Place
from duerow.testing.worker_harness import eventually

AT_ONCE = fixed(timedelta(0))


def pushed(db: duerow.Database, queue: str, count: int) -> list[int]:
    return [one.id for one in db.queue(queue).push_many([Draft({"n": n}) for n in range(count)])]


def found(db: duerow.Database, queue: str) -> dict[int, Any]:
    """What every message of a queue carries, by id; the size of this is the number of distinct ids."""
    messages = db.queue(queue).find(limit=10_000)
    assert len(messages) == len({message.id for message in messages})
    return {message.id: message.payload for message in messages}


def everything(pipeline: Pipeline, db: duerow.Database) -> dict[str, list[Any]]:
    """What is where, in which state and why, whatever the ids are."""
    return {
        queue: sorted(
            (
                [m.payload["n"], m.payload, m.status, m.attempts, m.headers, m.last_error and m.last_error.message]
                for m in db.queue(queue).find(limit=10_000)
            ),
            key=lambda one: one[0],
        )
        for queue in [*pipeline.queues, *pipeline.outputs]
    }


def past(pipeline: Pipeline, db: duerow.Database) -> dict[str, list[Any]]:
    """What became of which message in each queue, whatever the ids are."""
    return {
        queue: sorted(
            (
                [event.payload["n"], event.attempts, event.outcome, event.moved_to, event.payload]
                for event in db.queue(queue).history(limit=10_000)
            ),
            key=str,
        )
        for queue in pipeline.queues
    }


def orders(count: int) -> Pipeline:
    """Every kind of station, a loop of three rounds, drops, failures, a payload that is none; for so many messages."""
    kept = timedelta(days=7)

    def check(message: Message) -> Any:
        number = message.payload["n"]
        if number % 10 == 3:
            return Drop
        if number % 10 == 4:
            raise ValueError(f"{number} is refused")
        return {"n": number, "rounds": 0}

    def turn(message: Message) -> Any:
        payload = {**message.payload, "rounds": message.payload["rounds"] + 1}
        label = "again" if payload["rounds"] < 3 else "small" if payload["n"] < count / 2 else "large"
        return ("sideways" if payload["n"] == 11 else label), payload

    def ship(message: Message) -> Any:
        return {"n": message.payload["n"], "odd": {1}} if message.payload["n"] == 12 else message.payload

    return Pipeline(
        "orders",
        [
            Relay("check", check, to="turn", retry=limited(2, AT_ONCE), history=kept),
            Switch(
                "turn",
                turn,
                to={"again": "turn", "small": "ship", "large": "end"},
                retry=limited(2, AT_ONCE),
                history=kept,
            ),
            Relay("ship", ship, to="shipped", retry=limited(2, AT_ONCE)),
            Sink("end", lambda message: None, history=kept),
        ],
        outputs=["shipped"],
    )


def test_stations_on_spark_do_what_the_local_twin_does(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    tenth = 10 if place.url.startswith("mongodb") else 30  # the server that the tests start for it is slow
    pipeline = orders(10 * tenth)
    pushed(db, "check", 10 * tenth)
    with duerow.connect("memory://") as memory:
        pushed(memory, "check", 10 * tenth)
        pipeline.run(memory, until="empty")
        expected, expected_past = everything(pipeline, memory), past(pipeline, memory)

    tallies = spark.run(pipeline, place.url, session, **place.settings)

    ended = everything(pipeline, db)
    without_ids = [{name: [one[:5] for one in rows] for name, rows in side.items()} for side in (ended, expected)]
    assert without_ids[0] == without_ids[1]
    assert {name: len(rows) for name, rows in ended.items()} == {
        "check": tenth,  # refused twice, then dead
        "turn": 1,
        "ship": 1,
        "end": 0,
        "shipped": 4 * tenth - 2,
    }
    assert "ValueError: 4 is refused" in ended["check"][0][-1]
    assert "switch 'turn', message" in ended["turn"][0][-1]
    assert "'sideways'" in ended["turn"][0][-1]
    assert "payload['odd'] is of type builtins.set" in ended["ship"][0][-1]
    kept = past(pipeline, db)
    assert kept == expected_past
    outcomes = Counter(row[2] for row in kept["check"])
    assert outcomes == {"moved": 8 * tenth, "dropped": tenth, "failed": tenth, "dead": tenth}
    assert (len(kept["ship"]), len(kept["end"])) == (0, 4 * tenth)
    assert tallies["check"].claimed == 11 * tenth
    assert tallies["end"].settled == 4 * tenth


def parcels() -> Pipeline:
    """One to many and many to one, with a station that may begin only so many messages at a time."""

    def split(message: Message) -> Any:
        number = message.payload["n"]
        return [{"order": number, "item": item} for item in range(number % 4)]

    def fork(message: Message) -> Any:
        return {"weigh": message.payload, "price": message.payload}

    def weigh(message: Message) -> Any:
        return {**message.payload, "weight": 2}

    def price(message: Message) -> Any:
        return {**message.payload, "price": 3}

    def item(message: Message) -> str:
        return f"{message.payload['order']}/{message.payload['item']}"

    def merge(parts: list[Message]) -> Any:
        return {name: value for part in parts for name, value in part.payload.items()}

    def is_whole(parts: list[Message]) -> bool:
        return len(parts) == parts[0].payload["order"] % 4

    def order(parts: list[Message]) -> Any:
        return [parts[0].payload["order"], sum(part.payload["weight"] * part.payload["price"] for part in parts)]

    return Pipeline(
        "parcels",
        [
            Split("orders", split, to="items", rate=(30, timedelta(seconds=1))),
            Fork("items", fork, to=["weigh", "price"]),
            Relay("weigh", weigh, to="item"),
            Relay("price", price, to="item"),
            Join("item", merge, by=item, count=2, to="order"),
            Join("order", order, by="payload.order", complete=is_whole, to="parcels"),
        ],
        outputs=["parcels"],
    )


def test_one_to_many_and_many_to_one_are_the_same_on_spark(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    pipeline = parcels()
    pushed(db, "orders", 48)
    tallies = spark.run(pipeline, place.url, session, until="idle", **place.settings)
    ended = found(db, "parcels")
    assert sorted(ended.values()) == [[number, number % 4 * 6] for number in range(48) if number % 4]
    assert db.queues() == ["parcels"]
    assert (tallies["orders"].claimed, tallies["order/sets"].claimed) == (48, 36)
    assert [graph.name for graph in db.pipelines()] == ["parcels"]


@pytest.mark.parametrize("kind", ["relay", "frame"])
def test_a_run_follows_the_rate_that_an_operator_sets_and_takes_away(
    session: SparkSession, place: Place, db: duerow.Database, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(runner, "PRESENT", 0.1)
    pushed(db, "a", 10)
    db.queue("a").limit(rate=(3, timedelta(hours=1)))
    station = (
        Relay("a", lambda m: m.payload, "b") if kind == "relay" else Frame("a", lambda df: df, "b", schema="n int")
    )
    pipeline = Pipeline("p", [station], outputs=["b"])
    stop = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        run = partial(spark.run, pipeline, place.url, session, until="empty", stop=stop, **place.settings)
        running = threads.submit(run)
        try:
            eventually(lambda: db.queue("b").count() == 3)
            assert db.queue("a").count() == 7
            db.queue("a").limit()
            assert running.result()["a"].settled == 10
        finally:
            stop.set()  # else a run that waits for its rate would keep the tests from ending


def test_a_station_has_no_more_tasks_than_an_operator_allows(
    session: SparkSession, place: Place, db: duerow.Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "duerow.spark")
    pipeline = Pipeline("p", [Relay("a", lambda m: m.payload, to="b")], outputs=["b"])
    for limit, tasks in ((None, 2), (1, 1), (5, 2)):
        db.queue("a").limit(concurrency=limit)
        pushed(db, "a", 10)
        caplog.clear()
        assert spark.step(pipeline, place.url, session, parallelism=2, **place.settings)["a"].settled == 10
        assert f"'p': {tasks} tasks" in caplog.text


def test_a_message_that_goes_round_too_often_is_buried_with_the_reason(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    ids = pushed(db, "round", 20)
    loop = Switch("round", lambda m: ("on" if m.payload["n"] else "out", m.payload), to={"on": "round", "out": "end"})
    pipeline = Pipeline("p", [loop], outputs=["end"], max_hops=4)

    spark.run(pipeline, place.url, session, **place.settings)

    dead = db.queue("round").find(status="dead")
    assert [message.id for message in dead] == ids[1:]
    assert all("max_hops=4" in message.last_error.message for message in dead if message.last_error)
    assert {message.headers["hops"] for message in dead} == {4}
    assert list(found(db, "end")) == ids[:1]


def test_a_move_into_a_queue_that_has_the_key_is_a_failed_attempt_of_that_message_alone(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    db.queue("b").push("first", key="k")
    db.queue("a").push_many([Draft(1, key="k"), Draft(2, key="l"), Draft(3)])
    pipeline = Pipeline("p", [Relay("a", lambda m: m.payload, to="b", retry=limited(1, AT_ONCE))], outputs=["b"])

    tallies = spark.run(pipeline, place.url, session, **place.settings)

    assert tallies == {"a": spark.Tally(claimed=3, settled=2, buried=1)}
    assert sorted(map(str, found(db, "b").values())) == ["2", "3", "first"]
    (dead,) = db.queue("a").find()
    assert dead.last_error is not None
    assert dead.last_error.type == "DuplicateKey"


def test_a_delayed_message_is_waited_for_until_empty_and_left_until_idle(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    db.queue("a").push(1, delay=timedelta(seconds=2))
    db.queue("a").push(2, delay=timedelta(hours=1))
    pipeline = Pipeline("p", [Relay("a", lambda m: m.payload, to="b")], outputs=["b"])

    spark.run(pipeline, place.url, session, until="idle", **place.settings)
    assert db.queue("a").count() == 2 - db.queue("b").count() > 0

    db.queue("a").remove(id=max(found(db, "a")))
    spark.run(pipeline, place.url, session, until="empty", **place.settings)
    assert (db.queue("a").count(), list(found(db, "b").values())) == (0, [1])


def test_a_step_takes_each_station_that_has_something_due_once(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    pushed(db, "b", 3)
    pushed(db, "a", 5)
    stations = [Relay("b", lambda m: m.payload, to="c"), Relay("a", lambda m: m.payload, to="b")]
    pipeline = Pipeline("p", stations, outputs=["c"])

    spark.step(pipeline, place.url, session, **place.settings)
    assert [len(found(db, queue)) for queue in "abc"] == [0, 5, 3]

    tallies = spark.step(pipeline, place.url, session, **place.settings)
    assert [len(found(db, queue)) for queue in "abc"] == [0, 0, 8]
    assert (tallies["a"].claimed, tallies["b"].claimed) == (0, 5)


def test_a_run_without_an_end_is_stopped_and_leaves_nothing_leased(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    pushed(db, "a", 10)
    stop = threading.Event()
    pipeline = Pipeline("p", [Relay("a", lambda m: m.payload, to="b")], outputs=["b"])
    running = threading.Thread(
        target=lambda: spark.run(pipeline, place.url, session, until=None, stop=stop, **place.settings)
    )
    running.start()
    while db.queue("b").count() < 10:
        assert running.is_alive()
        stop.wait(0.05)
    pushed(db, "a", 5)
    stop.set()
    running.join()

    left = db.queue("a").find()
    assert len(left) + db.queue("b").count() == 15
    assert not any(message.leased_by for message in left)


def test_a_function_that_cannot_be_pickled_is_refused_by_the_station_that_has_it(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    pushed(db, "a", 1)
    lock = threading.Lock()

    def locked(message: Message) -> None:
        with lock:
            pass

    with pytest.raises(ConfigurationError, match="sink 'a': its function cannot be sent to the executors"):
        spark.run(Pipeline("p", [Sink("a", locked)]), place.url, session, **place.settings)
    assert db.queue("a").peek()[0].attempts == 0


def test_a_run_on_spark_says_that_its_stations_are_worked_on(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    pushed(db, "a", 3)
    stations = [Relay("a", lambda message: message.payload, to="b"), Sink("b", lambda message: None)]
    spark.run(Pipeline("seen", stations), place.url, session, **place.settings)
    seen = {queue: one for one in db.consumers() for queue in one.queues}
    assert {"a", "b"} <= set(seen)
    assert ":spark" in seen["a"].name
    assert "json" in seen["a"].kinds
