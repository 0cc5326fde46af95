"""Whatever is killed, tried again or runs twice: of a frame station's messages none is lost, and each goes on once."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

import duerow
from duerow import Draft, Frame, Pipeline, spark
from duerow.errors import BatchRefused, StationFailed
from duerow.pipeline.frame import Row
from duerow.queue.reserved import is_reserved
from duerow.retry import fixed, limited
from duerow.spark import runner
from duerow.spark.batch import Batch, Heartbeat, still_held
from duerow.spark.frames import BatchFailed, FrameJob
from duerow.spark.jobs import SparkRun
from duerow.spark.read import BatchReader, Desk
from duerow.spark.task import Access
from duerow.spark.write import BatchWriter, FrameWriteJob, Written, packed
from duerow.store import Committed, Record, Turn
from duerow.testing.clock import MovableClock, minutes
from duerow.testing.conformance.fixtures import Place
from duerow.testing.contents import everything
from duerow.testing.faults import watch
from tests.spark.test_stations import found, pushed

SCHEMA = T.StructType([T.StructField("n", T.LongType())])
AT_ONCE = fixed(timedelta(0))


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def moved(place: Place, clock: MovableClock) -> Iterator[duerow.Database]:
    """Queues whose time is moved."""
    with duerow.connect(place.url, clock=clock, **place.settings) as database:
        yield database


def leased(db: duerow.Database, station: Frame, count: int) -> Batch:
    return Batch("claim", station.queue(db).bulk.lend(count, consumer="claim"))


def rows(ids: list[int], **more: Any) -> list[Row]:
    each = [Row(id, None, None, f'{{"n":{id}}}', None, None, None, None, None) for id in ids]
    return [msgspec.structs.replace(row, **more) for row in each]


def writing(batch: Batch, name: str = "batch") -> FrameWriteJob:
    desk = Desk(Access("r", "", {}), "a", b"", 9)
    return FrameWriteJob(desk, name, frozenset({"_id", "payload"}), SCHEMA, packed(batch))


def unset(row: Row) -> Row:
    return msgspec.structs.replace(row, key=UNSET, group=UNSET, priority=UNSET, headers=UNSET)


def test_of_two_copies_of_a_task_that_settle_row_by_row_one_does(moved: duerow.Database) -> None:
    ids = pushed(moved, "a", 10)
    station = Frame("a", print, "b", rowwise=True)
    batch = leased(moved, station, 10)
    first, second = (BatchWriter(station, moved, {"b": None}, 9) for _ in range(2))
    each = list(map(unset, rows(ids[:6])))

    done = first.row_by_row(each, writing(batch))
    again = second.row_by_row(each, writing(batch))

    assert (done.tally.settled, done.tally.refused, again.tally.settled, again.tally.refused) == (6, 0, 0, 6)
    assert found(moved, "b") == {id: {"n": id} for id in ids[:6]}
    assert len(still_held(station.queue(moved), batch, minutes(1))) == 4


MESSAGES: list[dict[str, Any]] = [
    {},
    {"headers": {"hops": 3}},
    {"key": "k{}", "headers": {"t": 1.0, "hops": 8}, "priority": 5},
    {"group": "g{}", "headers": {"t": "ž"}},
    {"headers": {"hops": 9}},
    {"headers": {"hops": "odd", "t": 2}},
]
"""Messages of many kinds; the last of their moves but two is one too many."""

ROWS: list[dict[str, Any]] = [
    {},
    {"key": "new{}", "group": None, "priority": -1, "due": datetime(2100, 1, 1, tzinfo=UTC)},
    {"key": None, "headers": None, "group": "other"},
    {"key": "taken", "payload": UNSET, "way": "to"},
    {"key": "", "payload": "[1,2.50]"},
    {"key": "\ud800"},
    {"headers": '{"t":"x"}'},
    {"headers": '{"t":"ž"}', "priority": 99_999},
    {"payload": None},
    {"payload": '"\\u0000"'},
    {"way": "nowhere"},
    {"error": "no"},
]
"""What a result may say of a message, and what it had better not."""


def test_rows_that_move_on_by_the_thousand_end_as_each_would_by_itself(
    moved: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(queue: str) -> list[Any]:
        """Let messages of all kinds have rows of all kinds; return what became of them."""
        station = Frame(queue, print, {"to": f"{queue}-to"}, rowwise=True, retry=AT_ONCE, history=timedelta(days=1))
        moved.queue(f"{queue}-to").push("taken", key="taken")
        drafts = [Draft(n, **_numbered(terms, n)) for n, (terms, _) in enumerate(product(MESSAGES, ROWS))]
        ids = [one.id for one in station.queue(moved).push_many(drafts)]
        batch = leased(moved, station, len(ids))
        said = [
            {"way": "to", "payload": str(n), **_numbered(row, n)} for n, (_, row) in enumerate(product(MESSAGES, ROWS))
        ]
        given = [msgspec.structs.replace(unset(row), **more) for row, more in zip(rows(ids), said, strict=True)]
        assert len(batch) == len(given)
        done = BatchWriter(station, moved, {f"{queue}-to": None}, 9).row_by_row(given, writing(batch))
        became = [(one.id - ids[0], ending(one, queue)) for one in everything(moved) if one.id in ids]
        history = station.queue(moved).history(limit=999)
        told = sorted((one.id - ids[0], one.outcome, one.moved_to == f"{queue}-to") for one in history)
        return [done.tally.settled, done.tally.failed, done.tally.buried, done.tally.refused, became, told]

    def ending(record: Record, queue: str) -> Any:
        """What is the same of a message, whatever its queue is called."""
        last_error = (record.last_error or "").replace(queue, "q").partition("Traceback")[0]
        moments = [value for value in msgspec.structs.astuple(record) if isinstance(value, datetime)]
        rest = msgspec.structs.astuple(msgspec.structs.replace(record, last_error=None))[2:]
        kept = [value for value in rest if not isinstance(value, datetime)]
        said = re.sub("message [0-9]+", "message", last_error)
        return record.queue.removeprefix(queue), kept, max(moments) == ROWS[1]["due"], len(moments), said

    by_the_thousand = end("thousands")
    monkeypatch.setattr(BatchWriter, "_pass_on", lambda self, rows, tokens, encode, tally: rows)
    one_by_one = end("singly")
    assert by_the_thousand == one_by_one
    assert Counter(outcome for _, outcome, _ in by_the_thousand[-1]) == {"moved": 20, "failed": 44, "dead": 8}


def _numbered(terms: dict[str, Any], number: int) -> dict[str, Any]:
    """Have keys and groups of their own where a place for a number is in them."""
    return {name: value.format(number) if "{}" in str(value) else value for name, value in terms.items()}


def test_what_was_taken_over_is_refused_row_by_row_and_whole(moved: duerow.Database, clock: MovableClock) -> None:
    ids = pushed(moved, "a", 4)
    stations = Frame("a", print, "b", rowwise=True), Frame("a", print, "b")
    late = leased(moved, stations[0], 4)
    clock.advance(minutes(11))
    took_over = moved.queue("a").reserve_many(3)

    by_row = BatchWriter(stations[0], moved, {"b": None}, 9).row_by_row(map(unset, rows(ids)), writing(late))
    assert (by_row.tally.settled, by_row.tally.refused) == (1, 3)

    whole = BatchWriter(stations[1], moved, {"b": None}, 9).staged(map(unset, rows(ids)), writing(late))
    with pytest.raises(BatchRefused):
        moved.bulk.publish(
            "batch", {whole.part: whole.entries}, [Turn(one, Committed()) for one in late.leased.receipts]
        )
    assert list(found(moved, "b")) == [ids[3]]
    assert moved.queue("a").commit_many(took_over) == []


def test_of_all_attempts_of_tasks_those_are_published_that_spark_names(moved: duerow.Database) -> None:
    ids = pushed(moved, "a", 4)
    station = Frame("a", print, "b")
    batch = leased(moved, station, 4)
    writer = BatchWriter(station, moved, {"b": None}, 9)
    each = list(map(unset, rows(ids)))
    copies: list[Written] = [writer.staged(each, writing(batch)) for _ in range(3)]
    assert moved.queue("b").count() == 0

    turns = [Turn(receipt, Committed()) for receipt in batch.leased.receipts]
    moved.bulk.publish("batch", {copies[1].part: copies[1].entries}, turns, once="batch")

    assert sorted(m.payload["n"] for m in moved.queue("b").find()) == ids
    assert moved.bulk.publish("batch", {}, turns, once="batch").repeated
    assert moved.queue("a").count() == 0


def test_a_batch_whose_driver_died_comes_back_when_its_lease_ends(moved: duerow.Database, clock: MovableClock) -> None:
    pushed(moved, "a", 5)
    station = Frame("a", print, "b")
    leased(moved, station, 5)
    assert len(leased(moved, station, 5)) == 0
    clock.advance(minutes(10))
    again = leased(moved, station, 5)
    (table,) = BatchReader(station, moved, None, 9).read("claim", 0, 99)
    assert (len(again), table.column("_attempts").to_pylist()) == (5, [2] * 5)


def test_leases_are_extended_while_a_batch_is_worked_on_and_not_those_that_others_have(
    moved: duerow.Database, clock: MovableClock
) -> None:
    ids = pushed(moved, "a", 3)
    station = Frame("a", print, "b", lease=timedelta(seconds=0.3))
    batch = leased(moved, station, 3)
    clock.advance(minutes(1))
    others = moved.queue("a").reserve_many(1)
    assert len(moved.queue("a").peek(9)) == 2  # their leases have ended, and nobody else has them

    with Heartbeat(station.queue(moved), batch, station.lease):
        while moved.queue("a").peek(9):
            assert threading.active_count() > 1

    assert sorted(m.leased_by or "" for m in moved.queue("a").find()) == sorted(
        ["claim"] * 2 + [str(others[0].message.leased_by)]
    )
    assert moved.queue("a").commit_many(others) == []
    assert [id for id in batch.ids if id in still_held(station.queue(moved), batch, minutes(1)).ids] == ids[1:]


@pytest.mark.parametrize("rowwise", [True, False], ids=["row by row", "whole"])
def test_a_killed_python_worker_costs_a_try_and_no_message(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path, rowwise: bool
) -> None:
    ids = pushed(db, "a", 100)
    flag = tmp_path / "killed"

    def killing(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if not flag.exists() and 70 in batch.column("n").to_pylist():
                flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    station = Frame(
        "a", lambda f: f.select("_id", "n").mapInArrow(killing, "_id long, n long"), "b", rowwise=rowwise, schema=SCHEMA
    )
    spark.run(Pipeline("p", [station], outputs=["b"]), place.url, session, **place.settings)

    assert flag.exists(), "nothing was killed, so nothing was shown"
    arrived = found(db, "b")
    assert sorted(payload["n"] for payload in arrived.values()) == list(range(100))
    assert (sorted(arrived) == ids) is rowwise
    assert db.queues() == ["b"]


@pytest.mark.parametrize(("place", "rowwise"), [("postgresql", True), ("sqlite", False)], indirect=["place"])
def test_one_partition_fails_and_the_others_rows_stay_settled_row_by_row_alone(
    session: SparkSession, place: Place, db: duerow.Database, rowwise: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed(db, "a", 4)
    seen: list[int] = []
    whole = FrameJob._fail

    def failing(job: FrameJob, batch: Batch, cause: BaseException) -> None:
        seen.append(len(db.queue("b").find()))
        whole(job, batch, cause)

    monkeypatch.setattr(FrameJob, "_fail", failing)

    def guilty(frame: DataFrame) -> DataFrame:
        return frame.withColumn("m", F.when(F.col("n") == 1, F.raise_error(F.lit("one is one too many"))).otherwise(""))

    station = Frame("a", guilty, "b", rowwise=rowwise, schema=SCHEMA, retry=limited(1, AT_ONCE))
    tallies = spark.run(Pipeline("p", [station], outputs=["b"]), place.url, session, **place.settings)
    (dead,) = db.queue("a").find()
    assert (dead.payload, dead.status, dead.attempts) == ({"n": 1}, "dead", 1)
    assert "one is one too many" in str(dead.last_error)
    assert sorted(m.payload["n"] for m in db.queue("b").find()) == [0, 2, 3]
    assert tallies["a"].buried == 1
    # When the guilty one stands alone, all others have moved; of whole batches only the one that went before it.
    assert seen == [3 if rowwise else 1]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)  # who fails with whom is decided without a database
def test_when_everything_fails_the_rest_of_a_batch_is_put_off_after_some_tries(
    session: SparkSession, place: Place, db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed(db, "a", 64)
    tried: list[int] = []
    carry_out = FrameJob._carry_out
    monkeypatch.setattr(FrameJob, "_carry_out", lambda job, batch: (tried.append(len(batch)), carry_out(job, batch)))

    def broken(frame: DataFrame) -> DataFrame:
        raise RuntimeError("the table of prices is gone")

    station = Frame("a", broken, "b", schema=SCHEMA, retry=fixed(minutes(5)))
    spark.step(Pipeline("p", [station], outputs=["b"]), place.url, session, **place.settings)

    assert tried == [64, 32, 16, 8, 4, 2, 1, 1, 2, 1, 1, 4]
    messages = db.queue("a").find(limit=99)
    assert {(m.status, m.attempts, m.leased_by, str(m.last_error and m.last_error.message)) for m in messages} == {
        ("error", 1, None, "RuntimeError: the table of prices is gone")
    }


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_no_payload_passes_through_the_driver(
    session: SparkSession, place: Place, db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed(db, "a", 100)
    points: set[str] = set()
    read: set[str] = set()
    connect = runner.connect

    def watched(url: str, **settings: Any) -> duerow.Database:
        database = connect(url, **settings)
        messages = database.store.messages
        find = messages.find
        monkeypatch.setattr(messages, "find", lambda query: (read.add(query.queue), find(query))[1])
        watch(database, lambda point: points.add(point.partition(":")[0]))
        return database

    monkeypatch.setattr(runner, "connect", watched)
    stations = [
        Frame("a", lambda f: f.where("n < 90"), "b", rowwise=True, schema=SCHEMA),
        Frame("b", lambda f: f.groupBy("n").count(), "c", schema=SCHEMA),
    ]
    spark.run(Pipeline("p", stations, outputs=["c"]), place.url, session, **place.settings)
    assert db.queue("c").count() == 90
    assert points >= {"lend", "publish", "settle"}
    assert points.isdisjoint({"held", "reserve", "pop", "peek", "stage"})
    assert all(map(is_reserved, read)), "the driver reads what operators allow, and no queue of the pipeline"


class Away:
    """A Spark that is not there any more."""

    def range(self, number: int) -> None:
        raise ConnectionRefusedError("nobody listens")


def test_a_driver_that_is_stopped_or_loses_spark_gives_back_what_it_holds(moved: duerow.Database) -> None:
    pushed(moved, "a", 3)
    station = Frame("a", print, "b", schema=SCHEMA)
    run = SparkRun(Pipeline("p", [station], outputs=["b"]), Away(), moved, Access("r", "", {}), 1, 1)  # type: ignore[arg-type]
    job = FrameJob(run, station)

    job._opened = True

    def interrupted(batch: Batch) -> None:
        raise KeyboardInterrupt

    def failing(batch: Batch) -> None:
        raise BatchFailed(ConnectionError("the answer does not come"))

    for carry_out, error in ((interrupted, KeyboardInterrupt), (failing, StationFailed)):
        job._carry_out = carry_out  # type: ignore[method-assign]
        with pytest.raises(error):
            job.round()
        assert [(m.attempts, m.leased_by) for m in moved.queue("a").peek(9)] == [(0, None)] * 3
    assert job.tally.released == 6


def test_the_same_id_in_two_partitions_is_told_and_the_second_row_is_refused(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    pushed(db, "a", 2)

    def twice(frame: DataFrame) -> DataFrame:
        return frame.withColumn("copy", F.explode(F.array(F.lit(0), F.lit(1)))).repartition(8, "copy")

    station = Frame("a", twice, "b", rowwise=True, schema=SCHEMA)
    with pytest.raises(StationFailed, match="two partitions of its result have the _id"):
        spark.run(Pipeline("p", [station], outputs=["b"]), place.url, session, **place.settings)
    assert sorted(payload["n"] for payload in found(db, "b").values()) == [0, 1]
    assert db.queue("a").count() == 0
