"""`df.write.format("duerow")` pushes each row once, however often Spark tries, duplicates or forgets a task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

import duerow
from duerow import backoff
from duerow.encryption import Encryption
from duerow.errors import ConfigurationError, Conflict, DuplicateKey, InvalidMessage, QueueDraining, StagedLost
from duerow.spark import conflict_retry, options, sink
from duerow.spark.sink import Place as Spot
from duerow.spark.sink import PushedPart, RowWriter, WholeWriter, writer
from duerow.testing.conformance.fixtures import Place
from duerow.testing.contents import everything, payloads
from duerow.testing.faults import watch
from tests.spark.test_source import options_of

At = Callable[[int, int], None]

pytestmark = pytest.mark.usefixtures("session")
"""Schemas are read by a session."""


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> At:
    """Say which partition and which try of it the test is for a moment."""

    def stand(partition: int, attempt: int) -> None:
        monkeypatch.setattr(sink, "place", lambda: Spot(partition, attempt, None))

    return stand


def save(frame: DataFrame, place: Place, **more: Any) -> None:
    frame.write.format("duerow").options(**options_of(place, **more)).mode("append").save()


def a_writer(place: Place, columns: str = "payload string", **more: Any) -> RowWriter | WholeWriter:
    made = writer(options_of(place, **{"queue": "orders", **more}), StructType.fromDDL(columns), False)
    assert isinstance(made, RowWriter | WholeWriter)
    return made


def writer_of(place: Place, columns: str) -> RowWriter:
    """A writer of rows that each name their queue."""
    made = writer(options_of(place), StructType.fromDDL(columns), False)
    assert isinstance(made, RowWriter)
    return made


def batches(*numbers: int, **columns: list[Any]) -> Iterator[pa.RecordBatch]:
    """One batch for each payload."""
    for row, number in enumerate(numbers):
        yield pa.RecordBatch.from_pydict({"payload": [str(number)], **{n: [of[row]] for n, of in columns.items()}})


def test_each_row_becomes_a_message_with_what_its_columns_say(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    due = datetime(2040, 1, 2, 3, 4, 5, 678901, UTC)
    frame = session.range(6).select(
        F.struct("id", F.array(F.lit(1.5)).alias("xs"), F.create_map(F.lit("a"), F.lit("č")).alias("m")).alias(
            "payload"
        ),
        F.concat(F.lit("k"), F.col("id")).alias("key"),
        F.lit(due).alias("due"),
        F.create_map(F.lit("source"), F.lit("spark")).alias("headers"),
        F.when(F.col("id") == 0, F.lit("g")).alias("group"),
        F.when(F.col("id") == 0, F.lit(-3)).alias("priority"),
        F.when(F.col("id") % 2 == 1, F.lit("odd")).alias("queue"),
    )
    save(frame, place, queue="orders")
    assert sorted(message.payload["id"] for message in db.queue("odd").find()) == [1, 3, 5]
    first, *others = sorted(db.queue("orders").find(), key=lambda message: message.payload["id"])
    assert first.payload == {"id": 0, "xs": [1.5], "m": {"a": "č"}}
    assert (first.key, first.group, first.priority, first.due_at) == ("k0", "g", -3, due)
    assert (first.headers, first.kind, first.status) == ({"source": "spark"}, "json", "new")
    assert [(message.key, message.group, message.priority) for message in others] == [("k2", None, 0), ("k4", None, 0)]

    text = session.sql("SELECT to_json(named_struct('n', id, 'at', timestamp'2026-01-01')) AS payload FROM range(3)")
    save(text, place, queue="text", atomic="true")
    assert sorted(message.payload["n"] for message in db.queue("text").find()) == [0, 1, 2]
    assert db.queue("text").pop() is not None


def test_a_task_that_is_tried_again_writes_its_rows_once(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    def dying(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from rows
        task = TaskContext.get()
        if task.partitionId() == 1 and task.attemptNumber() == 0:
            raise ValueError("all rows were handed over, and now this")

    rows = session.range(0, 400, numPartitions=2).select(F.col("id").cast("string").alias("payload"))
    save(rows.mapInArrow(dying, "payload string"), place, queue="orders")
    assert sorted(payloads(db.queue("orders"))) == list(range(400))


def test_a_second_try_after_a_commit_whose_answer_was_lost_writes_nothing_whatever_its_rows_are(
    place: Place, db: duerow.Database, at: At
) -> None:
    tried = a_writer(place)
    at(0, 1)
    assert tried.write(batches(1, 2, 3)) == PushedPart(3)
    at(0, 2)
    assert tried.write(batches(3, 4, 1)) == PushedPart(0)
    at(1, 3)
    assert tried.write(batches(5)) == PushedPart(1)
    assert payloads(db.queue("orders")) == [1, 2, 3, 5]
    assert a_writer(place).write(batches(6)) == PushedPart(1)  # another job has names of its own


def test_two_copies_of_a_task_at_once_write_each_row_once(place: Place, db: duerow.Database, at: At) -> None:
    at(0, 1)
    copied = a_writer(place)
    with ThreadPoolExecutor(4) as threads:
        said = list(threads.map(lambda _: copied.write(batches(*range(50))), range(4)))
    assert sorted(one.rows for one in said if isinstance(one, PushedPart)) == [0, 0, 0, 50]
    assert sorted(payloads(db.queue("orders"))) == list(range(50))


def test_a_large_partition_is_one_transaction_too(
    place: Place, db: duerow.Database, at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield from batches(1, 2, 3)
        raise OSError("the shuffle file is gone")

    monkeypatch.setattr(sink, "GATHERED", 10)
    at(0, 1)
    large = a_writer(place)
    with pytest.raises(OSError, match="shuffle"):
        large.write(broken())
    assert payloads(db.queue("orders")) == []
    assert large.write(batches(1, 2, 3, 4)) == PushedPart(4)
    assert large.write(batches(1, 2, 3, 4)) == PushedPart(0)


def test_atomic_publishes_what_the_tries_staged_that_succeeded_and_nothing_else(
    place: Place, db: duerow.Database, at: At
) -> None:
    whole = a_writer(place, atomic="true")
    said: list[WriterCommitMessage | None] = []
    for partition, attempt, numbers in ((0, 1, (1, 2)), (1, 2, (3,)), (1, 3, (3,)), (2, 4, ())):
        at(partition, attempt)
        said.append(whole.write(batches(*numbers)))
    assert everything(db) == []
    zombies = said.pop(1)
    assert zombies is not None
    whole.commit(said)
    whole.commit(said)  # the answer to the first was lost
    assert payloads(db.queue("orders")) == [1, 2, 3]
    with pytest.raises(StagedLost):  # it was published, and the rest forgotten
        db.bulk.publish("another", {zombies.part: 1})  # type: ignore[attr-defined]

    aborted = a_writer(place, atomic="true")
    at(0, 5)
    lost = aborted.write(batches(7))
    aborted.abort([lost, None])
    with pytest.raises(StagedLost):
        aborted.commit([lost])
    assert payloads(db.queue("orders")) == [1, 2, 3]


def written(writer: RowWriter | WholeWriter, batches: Iterator[pa.RecordBatch]) -> None:
    """Write one partition, and what Spark's driver does then."""
    writer.commit([writer.write(batches)])


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_one_bad_row_ends_a_write_with_one_error_and_no_task_is_tried_again(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    rows = session.createDataFrame([("no json",), ("1",)], "payload string").repartition(1)
    with pytest.raises(PySparkException, match="its payload is not valid JSON") as raised:
        save(rows, place, queue="orders")
    assert "Task 0 in stage" not in str(raised.value)  # as Spark says of one that failed as often as it may
    assert everything(db) == []


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_atomic_writes_nothing_at_all_when_a_task_fails(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    rows = session.range(0, 30, numPartitions=2).select(
        F.when(F.col("id") == 29, F.lit("no json")).otherwise(F.col("id").cast("string")).alias("payload")
    )
    with pytest.raises(
        PySparkException, match=r"no json.*cannot be pushed to queue 'orders': its payload is not valid JSON"
    ):
        save(rows, place, queue="orders", atomic="true")
    assert everything(db) == []


def test_keys_that_are_taken_are_met_as_the_option_says(place: Place, db: duerow.Database, at: At) -> None:
    orders = db.queue("orders")
    orders.push(0, key="a")
    at(0, 1)
    columns = "payload string, key string"
    for mode, after in (("ignore", [0, 2]), ("replace", [3, 4])):
        for atomic in ("false", "true"):
            mine = a_writer(place, columns, on_duplicate=mode, atomic=atomic)
            mine.commit([mine.write(batches(*((1, 2) if mode == "ignore" else (3, 4)), key=["a", "b"]))])
        assert payloads(orders) == after
    with pytest.raises(DuplicateKey):
        a_writer(place, columns, on_duplicate="reject").write(batches(5, 6, key=["c", "a"]))
    assert payloads(orders) == [3, 4]


def test_the_queues_own_terms_hold(place: Place, db: duerow.Database, at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    at(0, 1)
    db.queue("orders", remember_keys=timedelta(days=1), max_payload_bytes=10).declare()
    orders = db.as_defined("orders")
    orders.push(1, key="done")
    orders.pop()
    a_writer(place, "payload string, key string").write(batches(1, 2, key=["done", "new"]))
    assert payloads(orders) == [2]
    with pytest.raises(InvalidMessage, match="'orders' remembers keys, which an atomic write cannot check"):
        written(a_writer(place, "payload string, key string", atomic="true"), batches(1, key=["done"]))
    with pytest.raises(InvalidMessage, match="at most 10 are allowed"):
        written(a_writer(place), batches(10**12))
    db.run(lambda: db.store.metadata.put_settings("orders", draining=True))
    options._database.cache_clear()  # who has a way to the queues already may hear of it a second later
    with pytest.raises(QueueDraining):
        a_writer(place).write(batches(3))
    monkeypatch.setenv("QUEUE_KEYS", key := Encryption.new_key())
    a_writer(place, queue="cards", keysenv="QUEUE_KEYS").write(batches(411111111111))
    assert not any("411111111111" in record.payload for record in everything(db))
    with duerow.connect(place.url, **place.settings, encryption=Encryption([key])) as with_key:
        assert payloads(with_key.queue("cards")) == [411111111111]


@pytest.mark.parametrize(
    ("columns", "given", "said"),
    [
        ("n long", {}, "needs a column payload, but this one has n: for example"),
        ("payload string, n long", {}, "cannot have a column n, only payload, key"),
        ("id long, token long, payload string", {}, "cannot have a column id, token, only"),
        (
            "payload struct<at: timestamp>",
            {},
            "payload.at is of type timestamp, which JSON does not have: cast it to a type",
        ),
        ("payload array<decimal(5,2)>", {}, r"payload\[\] is of type decimal\(5,2\)"),
        ("payload string, due timestamp_ntz", {}, "column due must be a timestamp with a time zone, not of type"),
        ("payload string, key long", {}, "column key must be text, not of type bigint: cast it"),
        ("payload string, priority double", {}, "column priority must be a whole number, not"),
        ("payload string, headers map<string,date>", {}, "column headers must be a map from text to"),
        ("payload string", {"queue": None}, "name the queue to push to"),
        ("payload string", {"on_duplicate": "overwrite"}, "option on_duplicate must be one of ignore, replace"),
        ("payload string", {"partitions": "4"}, "no option partitions here"),
    ],
)
def test_what_cannot_be_pushed_is_said_before_anything_is(columns: str, given: dict[str, Any], said: str) -> None:
    options = {"url": "postgresql://nobody@127.0.0.1:1/none", "queue": "orders", **given}
    known = {name: value for name, value in options.items() if value is not None}
    with pytest.raises(ConfigurationError, match=said):
        writer(known, StructType.fromDDL(columns), False)


def test_a_row_that_cannot_be_pushed_is_named_and_nothing_of_its_partition_is(
    place: Place, db: duerow.Database, at: At
) -> None:
    at(0, 1)
    columns = "payload string, key string, queue string"
    for payload, key, queue, said in (
        ("1", "", "orders", "a key must have 1 to 255 characters"),
        ("1", "k", None, "it names no queue"),
        ("1", "k", "no spaces", "a queue cannot be called 'no spaces'"),
        ("NaN", "k", "orders", "its payload is not valid JSON"),
        ("123456789012345678901", "k", "orders", "beyond 64 bits"),
    ):
        rows = {"payload": ["0", payload], "key": ["first", key], "queue": ["orders", queue]}
        with pytest.raises(InvalidMessage, match=f"cannot be pushed to queue .*{said}"):
            written(writer_of(place, columns), iter([pa.RecordBatch.from_pydict(rows)]))
    assert everything(db) == []


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_only_append_is_a_mode(session: SparkSession, place: Place) -> None:
    write = session.range(1).selectExpr("'1' AS payload").write.format("duerow").options(**options_of(place, queue="q"))
    with pytest.raises(PySparkException, match="a queue cannot be overwritten"):
        write.mode("overwrite").save()
    for mode in ("Ignore", "ErrorIfExists"):
        with pytest.raises(PySparkException, match=f'"duerow" cannot be written in the "{mode}" mode'):
            write.mode(mode).save()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)  # which undoes it at once; what others do is played
@pytest.mark.parametrize("gathered", [sink.GATHERED, 10], ids=["at hand", "while it comes"])
def test_a_try_waits_until_what_a_killed_one_had_begun_is_undone(
    place: Place, db: duerow.Database, at: At, monkeypatch: pytest.MonkeyPatch, gathered: int
) -> None:
    now = [0.0]

    def pass_by(seconds: float) -> None:
        now[0] += seconds

    def stand_in_its_way(point: str) -> None:
        if point == "push: before" and now[0] < 70:
            raise Conflict("another transaction has it", waited=True)

    for module in (backoff, conflict_retry):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=pass_by))
    monkeypatch.setattr(sink, "GATHERED", gathered)
    options._database.cache_clear()
    at(0, 1)
    second = a_writer(place)
    watch(second._pushing.reach.database, stand_in_its_way)
    assert second.write(batches(1, 2, 3)) == PushedPart(3)
    assert now[0] > 70
    assert payloads(db.queue("orders")) == [1, 2, 3]

    monkeypatch.setattr(conflict_retry, "ABANDONED", 5.0)  # those who stand in its way live
    now[0] = 0
    with pytest.raises(Conflict):
        a_writer(place).write(batches(4))
    assert 5 < now[0] < 10
    options._database.cache_clear()
