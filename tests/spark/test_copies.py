"""Two live copies of a task, answers that are lost, and what the driver gets to see."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from pyarrow import RecordBatch
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadMaxRows
from pyspark.sql.types import StructType

import duerow
from duerow import Draft, Frame, Pipeline, Relay, spark
from duerow.errors import StoreUnavailable
from duerow.spark import read as reading
from duerow.spark import runner, write
from duerow.spark.batch import Batch
from duerow.spark.consumer import TaskConsumer
from duerow.spark.frames import FrameJob
from duerow.spark.jobs import SparkRun
from duerow.spark.pickling import dumps
from duerow.spark.read import Desk, read_task
from duerow.spark.schema import frame_schema
from duerow.spark.source import schema
from duerow.spark.streams import StreamReader, stream_writer
from duerow.spark.task import Access
from duerow.spark.write import COLUMNS, Written, packed, read_written, write_task
from duerow.store import Committed, Turn
from duerow.testing.conformance.fixtures import Place
from duerow.testing.contents import payloads
from duerow.testing.faults import fail_at, watch
from tests.spark.test_frame_faults import SCHEMA, rows, unset
from tests.spark.test_source import options_of
from tests.spark.test_stations import found, pushed

COPIES, NUMBERS = 2, 200


def leased(db: duerow.Database, station: Frame) -> Batch:
    return Batch("claim", station.queue(db).bulk.lend(NUMBERS, consumer="claim"))


def carried_out_twice(session: SparkSession, place: Place, station: Frame, batch: Batch) -> list[Written]:
    """What two tasks say that carry out the same batch at the same time: both read all of it, and write all of it."""
    access = Access(secrets.token_hex(6), place.url, place.settings)  # executors keep what they know of a run
    desk = Desk(access, station.name, dumps((station, frame_schema(station), {"b": None})), 9)
    whole = batch.ranges(1) * COPIES
    told = write.FrameWriteJob(desk, "batch", frozenset({"_id", "payload"}), None, packed(batch))
    columns = [name if name in ("_id", "payload") else f"CAST(NULL AS STRING) AS {name}" for name in COLUMNS]
    read = session.range(0, COPIES, 1, COPIES).mapInArrow(read_task(desk, batch.claim, whole), reading.SCHEMA)
    read.persist().count()  # so that each has read all before one writes
    try:
        return read_written(read.selectExpr(*columns).mapInArrow(write_task(told), write.SCHEMA).collect())
    finally:
        read.unpersist()


def test_of_two_live_copies_of_a_frames_task_each_message_has_what_one_of_them_made(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    ids = pushed(db, "a", NUMBERS)
    station = Frame("a", print, "b", rowwise=True)
    both = carried_out_twice(session, place, station, leased(db, station))
    assert [len(one.ids) for one in both] == [NUMBERS] * COPIES
    tallies = [(one.tally.settled, one.tally.refused) for one in both]
    assert [sum(counts) for counts in zip(*tallies, strict=True)] == [NUMBERS, NUMBERS * (COPIES - 1)], tallies
    assert sorted(found(db, "b")) == ids
    assert db.queues() == ["b"]

    db.queue("b").purge("b")
    pushed(db, "a", NUMBERS)
    station = Frame("a", print, "b")
    batch = leased(db, station)
    both = carried_out_twice(session, place, station, batch)
    assert [one.entries for one in both] == [NUMBERS] * COPIES
    turns = [Turn(receipt, Committed()) for receipt in batch.leased.receipts]
    with ThreadPoolExecutor(COPIES) as threads:  # and two drivers, of which each names its own
        said = [*threads.map(lambda one: db.bulk.publish("batch", {one.part: one.entries}, turns, once="batch"), both)]
    assert sorted(one.repeated for one in said) == [False, True]
    assert sorted(payload["n"] for payload in found(db, "b").values()) == list(range(NUMBERS))
    assert db.queues() == ["b"]


def test_of_two_live_copies_of_a_task_that_ends_the_turns_of_a_stream_one_does(
    place: Place, db: duerow.Database
) -> None:
    pushed(db, "a", NUMBERS)
    options = options_of(place, queue="a")
    StreamReader(options, schema(options)).latestOffset({"claim": "", "ranges": [], "count": 0}, ReadMaxRows(NUMBERS))
    receipts = [{"id": one.id, "token": one.token} for one in db.queue("a").find(limit=NUMBERS)]
    ending = stream_writer({**options, "to": "b"}, StructType().add("id", "long").add("token", "long"))
    with ThreadPoolExecutor(COPIES) as threads:
        said: Sequence[Any] = [
            *threads.map(lambda _: ending.write(iter([RecordBatch.from_pylist(receipts)])), range(COPIES))
        ]
    assert sum(len(one.ended) for one in said) == sum(len(one.refused) for one in said) == 8 * NUMBERS
    assert len(found(db, "b")) == NUMBERS
    assert db.queues() == ["b"]


def test_messages_that_are_taken_over_in_mid_batch_are_left_out_of_it_and_the_others_go_on(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    ids = pushed(db, "a", 20)
    queue, taken = db.queue("a"), []

    def overtaken(frame: DataFrame) -> DataFrame:
        if not taken:
            queue.remove(ids[0], even_if_leased=True)
            queue.requeue(ids[1], even_if_leased=True)
            taken.append(queue.reserve())
        return frame.groupBy("n").count()

    station = Frame("a", overtaken, "b", schema="n long")
    tallies = spark.step(Pipeline("p", [station], outputs=["b"]), place.url, session, **place.settings)

    assert sorted(payload["n"] for payload in found(db, "b").values()) == list(range(2, 20))
    assert (tallies["a"].settled, tallies["a"].refused) == (18, 2)
    queue.commit(taken[0])
    assert db.queues() == ["b"]


LOST = StoreUnavailable("the answer was lost", outcome="unknown")


def losing(db: duerow.Database, point: str, error: StoreUnavailable = LOST) -> list[str]:
    """Raise an error at a point, once; return the list of points that are reached from now on."""
    reached: list[str] = []
    failing = fail_at(point, error)

    def hook(at: str) -> None:
        reached.append(at)
        failing(at)

    watch(db, hook)
    return reached


def test_when_the_answer_to_a_settlement_is_lost_nothing_is_done_again_and_nothing_is_called_lost(
    place: Place,
) -> None:
    with duerow.connect(place.url, **place.settings) as db:
        ids = pushed(db, "a", 10)
        reached = losing(db, "settle: committed")
        tally = TaskConsumer(Relay("a", lambda message: message.payload, to="b"), db, max_hops=9, chunk=100).work(60)
        assert "settle: committed" in reached
        assert (tally.claimed, tally.refused, tally.failed) == (10, 0, 0)
        assert sorted(found(db, "b")) == ids
        assert db.queues() == ["b"]

    with duerow.connect(place.url, **place.settings) as db:
        station = Frame("b", print, "c", rowwise=True)
        batch = leased(db, station)
        reached = losing(db, "settle: committed")
        told = write.FrameWriteJob(
            Desk(Access("r", "", {}), "b", b"", 9), "x", frozenset({"_id"}), SCHEMA, packed(batch)
        )
        by_row = write.BatchWriter(station, db, {"c": None}, 9).row_by_row(map(unset, rows(ids)), told)
        assert "settle: committed" in reached
        assert (by_row.tally.settled, by_row.tally.refused, by_row.problem) == (10, 0, None)
        assert sorted(found(db, "c")) == ids


@pytest.mark.parametrize("point", ["publish: before", "publish: step 2", "publish: done", "publish: committed"])
def test_a_batch_whose_publication_breaks_is_published_once(place: Place, point: str) -> None:
    with duerow.connect(place.url, **place.settings) as db:
        pushed(db, "a", 5)
        station = Frame("a", print, "b", schema=SCHEMA)
        reached = losing(db, point, LOST if point.endswith("committed") else StoreUnavailable("gone"))
        job = FrameJob(SparkRun(Pipeline("p", [station], outputs=["b"]), None, db, Access("r", "", {}), 1, 1), station)  # type: ignore[arg-type]
        batch = leased(db, station)
        told = write.FrameWriteJob(Desk(Access("r", "", {}), "a", b"", 9), "x", frozenset({"_id", "payload"}), SCHEMA)
        staged = write.BatchWriter(station, db, {"b": None}, 9).staged(map(unset, rows([*batch.ids])), told)
        job._publish([staged], batch, "x")
        assert reached.count("publish: before") == 2
        assert sorted(payload["n"] for payload in found(db, "b").values()) == [*batch.ids]
        assert db.queues() == ["b"]
        assert (job.tally.settled, job.tally.refused) == (5, 0)


def test_a_batch_that_is_over_is_over_though_its_counts_cannot_be_written_now(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with duerow.connect("memory://") as db:
        pushed(db, "a", 5)
        station = Frame("a", print, "b", schema=SCHEMA)
        job = FrameJob(SparkRun(Pipeline("p", [station], outputs=["b"]), None, db, Access("r", "", {}), 1, 1), station)  # type: ignore[arg-type]
        monkeypatch.setattr(job, "_open", lambda: None)
        monkeypatch.setattr(job, "_work_off", lambda left: None)

        def gone() -> None:
            raise StoreUnavailable("the server restarts")

        with monkeypatch.context() as away:
            away.setattr(db, "write_counts", gone)
            job.round()
        assert "cannot write its counts now: the server restarts" in caplog.text


MARK = "only-the-executors-see-this"


class Counted:
    """Counts how often the mark is in what a database, or Spark, answers."""

    def __init__(self) -> None:
        self.seen = self.asked = 0

    def look(self, answer: Any) -> Any:
        """Count what is in an answer; return it."""
        self.asked += 1
        self.seen += repr(answer).count(MARK)
        return answer

    def follow(self, database: duerow.Database) -> duerow.Database:
        """Look at every answer that a database gives."""
        connections = database.connections
        whole = connections.open

        @contextmanager
        def opened() -> Iterator[Callable[[Any], Any]]:
            with whole() as execute:
                yield lambda step: self.look(execute(step))

        connections.open = opened  # type: ignore[method-assign]
        return database


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)  # the driver does the same on all
def test_no_payload_passes_through_the_driver_of_any_kind_of_station(
    session: SparkSession, place: Place, db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, collected = Counted(), Counted()
    connect, collect = runner.connect, type(session.range(1)).collect
    monkeypatch.setattr(runner, "connect", lambda url, **settings: counted.follow(connect(url, **settings)))
    monkeypatch.setattr(type(session.range(1)), "collect", lambda frame: collected.look(collect(frame)))
    numbers = [Draft({"n": n, "mark": f"{MARK} {n}"}, headers={"n": n}) for n in range(100)]
    db.queue("a").push_many(numbers)

    def same(frame: DataFrame) -> DataFrame:
        return frame.repartition(2)

    stations = [
        Relay("a", lambda message: message.payload, to="b"),
        Frame("b", lambda frame: frame, "c", rowwise=True, schema="n long, mark string"),
        Frame("c", same, "d", schema="n long, mark string"),
    ]
    spark.run(Pipeline("p", stations, outputs=["d"]), place.url, session, **place.settings)

    assert len(payloads(db.queue("d"))) == 100
    assert counted.asked > 10
    assert collected.asked >= 3
    assert (counted.seen, collected.seen) == (0, 0)
    # What would be counted is counted.
    assert len(counted.follow(db).queue("d").find(limit=7)) == 7
    assert counted.seen == 7
    assert len(session.createDataFrame([(MARK,)] * 3, "mark string").collect()) == 3
    assert collected.seen == 3
