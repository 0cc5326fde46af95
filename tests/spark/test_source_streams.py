"""A queue is a source and a sink of streams: each message goes on once, whatever is started anew or lost."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import StructType

import duerow
from duerow import Draft
from duerow.errors import ConfigurationError, InvalidMessage, InvalidOutcome, StoreUnavailable
from duerow.reservation import Receipt
from duerow.spark import sink, streams
from duerow.spark.settle import Settled, StreamSettleWriter
from duerow.spark.source import schema
from duerow.spark.streams import Heart, StreamPushWriter, StreamReader, ranges, stream_writer
from duerow.testing.conformance.fixtures import Place
from duerow.testing.contents import everything, payloads
from tests.spark.finished import finish
from tests.spark.test_source import options_of

START = {"claim": "", "ranges": [], "count": 0}

pytestmark = pytest.mark.usefixtures("session")
"""Schemas are read by a session."""


def stream(session: SparkSession, place: Place, **more: Any) -> DataFrame:
    return session.readStream.format("duerow").options(**options_of(place, queue="orders", **more)).load()


def run(frame: DataFrame, place: Place, checkpoint: Path, **more: Any) -> None:
    """Run a query into the queues until what is available now is over."""
    writing = frame.writeStream.format("duerow").options(**options_of(place, **more))
    finish(writing.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True))


def reader(place: Place, **more: Any) -> StreamReader:
    options = options_of(place, queue="orders", **more)
    return StreamReader(options, schema(options))


def read(source: StreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[dict[str, Any]]:
    """What the tasks would read of a batch."""
    return [row for part in source.partitions(start, end) for batch in source.read(part) for row in batch.to_pylist()]


def to(place: Place, columns: str, **more: Any) -> StreamSettleWriter:
    made = stream_writer(options_of(place, queue="orders", **more), StructType.fromDDL(columns))
    assert isinstance(made, StreamSettleWriter)
    return made


def rows(*found: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """Rows as one batch."""
    yield pa.RecordBatch.from_pylist(list(found))


def ids(packed: bytes) -> list[int]:
    return list(array("q", packed))


def test_messages_go_through_a_stream_from_queue_to_queue_once(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    orders = db.queue("orders")
    orders.push_many([Draft({"n": n}, key=f"k{n}", headers={"n": n}, group=f"g{n}", priority=-n) for n in range(30)])
    orders.push({"n": 99}, delay=timedelta(days=1))
    before = {record.id: record for record in everything(db)}
    found = stream(session, place, batch=20)
    n = F.get_json_object("payload", "$.n").cast("int")
    routed = found.withColumn("to", F.when(n % 3 == 0, F.lit("third")).when(n % 3 == 1, F.lit("others")))
    routed = routed.withColumn("payload", F.to_json(F.struct((n * 2).alias("n"))))
    run(routed, place, tmp_path / "checkpoint", queue="orders")

    assert sorted(message.payload["n"] for message in db.queue("third").find()) == [n * 2 for n in range(0, 30, 3)]
    assert sorted(message.payload["n"] for message in db.queue("others").find()) == [n * 2 for n in range(1, 30, 3)]
    assert payloads(orders) == [{"n": 99}]  # a third of them is done
    for message in db.queue("others").find():
        was = before[message.id]
        assert (message.key, message.group, message.priority) == (was.key, was.group, was.priority)
        assert message.headers == {"n": message.payload["n"] // 2, "hops": 1}
        assert (message.attempts, message.leased_by) == (0, None)

    orders.push({"n": 4})
    without_checkpoint = reader(place)
    held = read(without_checkpoint, START, without_checkpoint.latestOffset(START, ReadMaxRows(99)))
    assert [row["payload"] for row in held] == ['{"n":4}'], "what was done stays done, and what comes is read"


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_rows_of_any_stream_are_pushed_once_for_each_of_its_batches(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    checkpoint = tmp_path / "checkpoint"
    lines = session.readStream.format("text").load(str(tmp_path / "in")).select(F.col("value").alias("payload"))
    for n in (1, 2):
        (tmp_path / "in" / f"{n}.txt").write_text(f"{n}\n{n * 10}\n")
        run(lines, place, checkpoint, queue="lines")
    assert sorted(payloads(db.queue("lines"))) == [1, 2, 10, 20]

    (checkpoint / "commits" / "1").unlink()  # Spark died before it had noted that the last batch is over
    (checkpoint / "commits" / ".1.crc").unlink(missing_ok=True)
    run(lines, place, checkpoint, queue="lines")
    assert sorted(payloads(db.queue("lines"))) == [1, 2, 10, 20]


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_query_that_failed_and_is_started_again_finds_its_batch_and_ends_what_is_left_of_it(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    db.queue("orders").push_many([Draft(n) for n in range(20)])
    mended = tmp_path / "mended"

    def fragile(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if 13 in map(int, batch.column("payload").to_pylist()) and not mended.exists():
                raise ValueError("13 cannot be")
            yield batch

    found = stream(session, place)
    frail = found.mapInArrow(fragile, found.schema)
    with pytest.raises(StreamingQueryException, match="13 cannot be"):
        run(frail, place, tmp_path / "checkpoint", to="after")
    (claim,) = {record.leased_by for record in everything(db)}
    assert claim is not None

    mended.touch()
    db.queue("orders").push(20)
    run(frail, place, tmp_path / "checkpoint", to="after")
    assert sorted(payloads(db.queue("after"))) == list(range(21))
    first = json.loads((tmp_path / "checkpoint" / "offsets" / "0").read_text().splitlines()[-1])
    assert (first["claim"], first["count"]) == (claim, 20)


def test_an_offset_finds_a_claim_again_in_another_process_and_of_it_only_what_is_still_lent(
    place: Place, db: duerow.Database
) -> None:
    db.queue("orders").push_many([Draft(n) for n in range(10)])
    first = reader(place, partitions=2)
    end = first.latestOffset(START, ReadMaxRows(6))
    assert end["count"] == 6
    assert first.latestOffset(end, ReadMaxRows(100))["count"] == 4
    assert json.loads(json.dumps(end)) == end
    again = reader(place)
    found = read(again, START, end)
    assert [row["payload"] for row in found] == ["0", "1", "2", "3", "4", "5"]
    assert {row["leased_by"] for row in found} == {end["claim"]}
    assert again.partitions(end, end) == again.partitions(START, START) == []
    assert again.latestOffset(end, ReadMaxRows(1)) == end  # nothing is due any more

    done = to(place, "id long, token long", done="true").write(
        rows(*({"id": r["id"], "token": r["token"]} for r in found[:2]))
    )
    assert isinstance(done, Settled)
    assert ids(done.ended) == [row["id"] for row in found[:2]]
    assert [row["payload"] for row in read(reader(place), START, end)] == ["2", "3", "4", "5"]


def test_a_batch_is_as_large_as_it_may_be_and_available_now_means_now(place: Place, db: duerow.Database) -> None:
    orders = db.queue("orders")
    orders.push_many([Draft(n) for n in range(10)])
    orders.push(99, delay=timedelta(days=1))
    assert reader(place, batch=7).getDefaultReadLimit() == ReadMaxRows(7)
    now = reader(place)
    now.prepareForTriggerAvailableNow()
    orders.push_many([Draft(n) for n in range(5)])
    offset = now.latestOffset(START, ReadMaxRows(7))
    assert offset["count"] == 7
    offset = now.latestOffset(offset, ReadMaxRows(7))
    assert offset["count"] == 3
    assert now.latestOffset(offset, ReadMaxRows(7)) == offset
    assert reader(place).latestOffset(START, ReadAllAvailable())["count"] == 5


def test_leases_are_extended_while_a_batch_is_worked_on_and_no_longer(
    place: Place, db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.queue("orders").push_many([Draft(n) for n in range(10)])
    source = reader(place, lease="1h")
    offset = source.latestOffset(START, ReadMaxRows(10))
    heart = source._beat
    assert heart.is_of(offset["claim"])
    leased = {record.id: record.leased_until for record in everything(db)}
    receipts = [Receipt(record.id, record.token) for record in everything(db)]
    monkeypatch.setattr(streams, "PIECE", 3)
    db.queue("orders").remove(receipts[0].id, even_if_leased=True)
    assert heart.beat(receipts) == receipts[1:]
    for record in everything(db):
        assert record.leased_until is not None
        assert record.leased_until > (leased[record.id] or record.leased_until)
    restarted = reader(place, lease="1h")
    restarted.partitions(START, offset)
    assert restarted._beat.is_of(offset["claim"])
    restarted.commit({**offset, "claim": "another"})
    assert restarted._beat.is_of(offset["claim"])
    restarted.commit(offset)
    assert not restarted._beat.is_of(offset["claim"])
    source.stop()
    assert not heart.is_of(offset["claim"])
    short = Heart(db, timedelta(milliseconds=30))
    beaten: list[int] = []
    monkeypatch.setattr(short, "beat", lambda held: beaten.append(1) or short.stop() or held)
    short.begin("claim", receipts)
    assert short._thread is not None
    short._thread.join(30)
    assert beaten == [1]


def test_two_copies_of_a_settling_task_and_a_zombie_change_nothing_twice(place: Place, db: duerow.Database) -> None:
    orders = db.queue("orders")
    orders.push_many([Draft(n) for n in range(4)])
    source = reader(place)
    held = read(source, START, source.latestOffset(START, ReadMaxRows(4)))
    receipts = [{"id": row["id"], "token": row["token"]} for row in held]
    sending = to(place, "id long, token long", to="after")
    first, second = sending.write(rows(*receipts[:3])), sending.write(rows(*receipts[:3]))
    assert isinstance(first, Settled)
    assert isinstance(second, Settled)
    assert (len(ids(first.ended)), len(ids(second.refused))) == (3, 3)
    sending.commit([second], 0)  # the copy that lost is a task like any other
    orders.requeue(receipts[3]["id"], even_if_leased=True)
    taken = orders.reserve()
    assert taken is not None
    late = sending.write(rows(receipts[3]))
    assert isinstance(late, Settled)
    assert ids(late.refused) == [receipts[3]["id"]]
    orders.commit(taken)
    assert payloads(db.queue("after")) == [0, 1, 2]
    assert payloads(orders) == []


def test_what_is_not_lent_is_not_sent_on(place: Place, db: duerow.Database) -> None:
    pushed = db.queue("orders").push(1)
    said = to(place, "id long, token long", to="after").write(rows({"id": pushed.id, "token": 0}))
    assert isinstance(said, Settled)
    assert ids(said.refused) == [pushed.id]
    assert payloads(db.queue("orders")) == [1]


def test_a_message_has_one_row(place: Place, db: duerow.Database) -> None:
    db.queue("orders").push_many([Draft(n) for n in range(2)])
    source = reader(place)
    held = read(source, START, source.latestOffset(START, ReadMaxRows(4)))
    one, other = ({"id": row["id"], "token": row["token"]} for row in held)
    sending = to(place, "id long, token long", to="after")
    before = everything(db)
    with pytest.raises(InvalidOutcome, match=f"message {one['id']} has 2 rows.*Nothing was changed"):
        sending.write(rows(one, other, one))
    with pytest.raises(InvalidMessage, match="a row has no id"):
        sending.write(rows({"id": None, "token": None}, one))
    assert everything(db) == before
    apart = [sending.write(rows(one, other)), sending.write(rows(one))]
    with pytest.raises(InvalidOutcome, match=f"messages {one['id']} have rows in several partitions"):
        sending.commit(apart, 7)


def test_a_batch_that_is_repeated_with_other_rows_is_the_first_one(
    place: Place, db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def batch_of(query: str, number: int, *found: int) -> None:
        pushing = stream_writer(options_of(place, queue="lines"), StructType.fromDDL("payload string"))
        assert isinstance(pushing, StreamPushWriter)
        said = []
        for partition, n in enumerate(found):
            monkeypatch.setattr(sink, "place", lambda partition=partition: sink.Place(partition, 1, query))
            said.append(pushing.write(rows({"payload": str(n)})))
        pushing.commit(said, number)

    for query, number, found in (("a", 0, (1, 2)), ("a", 0, (2, 3)), ("a", 1, (4,)), ("b", 0, (5,)), ("b", 1, ())):
        batch_of(query, number, *found)
    assert payloads(db.queue("lines")) == [1, 2, 4, 5]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_batch_of_an_unknown_query_is_refused_and_not_taken_for_a_repeat(
    place: Place, db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink, "place", lambda: sink.Place(0, 1, None))
    for _ in range(2):
        pushing = stream_writer(options_of(place, queue="lines"), StructType.fromDDL("payload string"))
        staged = pushing.write(rows({"payload": "1"}))
        with pytest.raises(ConfigurationError, match="which query batch 0 belongs to"):
            pushing.commit([staged], 0)
        pushing.abort([staged], 0)
    assert payloads(db.queue("lines")) == []


def test_the_progress_of_a_query_shows_how_many_messages_are_due(
    place: Place, db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "REPORTED", 0.0)
    db.queue("orders").push_many([Draft(n) for n in range(7)])
    source = reader(place)
    assert source.reportLatestOffset() == {"ready": 7}
    source.latestOffset(START, ReadMaxRows(5))
    assert source.reportLatestOffset() == {"ready": 2}
    source.stop()

    def away() -> int:
        raise StoreUnavailable("it restarts")

    monkeypatch.setattr(source, "_ready", away)
    assert source.reportLatestOffset() is None, "the query goes on"


def test_in_foreach_batch_a_stream_goes_wherever_a_frame_can_and_its_messages_are_done_after(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    db.queue("orders").push_many([Draft({"n": n}) for n in range(10)])

    def keep(batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(str(tmp_path / f"out-{number}"))
        done = batch.select("id", "token", "queue").write.format("duerow").options(**options_of(place))
        done.option("done", "true").mode("append").save()

    query = stream(session, place).writeStream.foreachBatch(keep).trigger(availableNow=True)
    finish(query.option("checkpointLocation", str(tmp_path / "checkpoint")))
    assert session.read.parquet(str(tmp_path / "out-0")).count() == 10
    assert everything(db) == []


@pytest.mark.parametrize(
    ("columns", "given", "said"),
    [
        ("payload string", {"to": "x"}, r"their column id \(bigint\) must reach the sink"),
        ("id long, token string", {"to": "x"}, r"their column token \(bigint\)"),
        ("id long, token long, total long", {"to": "x"}, "unknown column total"),
        ("id long, token long, to string", {"to": "x"}, "give exactly one of the option to"),
        ("id long, token long", {"done": "false"}, "give exactly one of the option to"),
        ("id long, token long", {"to": "x", "queue": None}, "name the queue that lent the messages"),
        ("id long, token long, payload date", {"to": "x"}, "payload is of type date"),
        ("id long, token long, payload string", {}, "cannot have a column id, token, only"),
        ("payload string", {"atomic": "true"}, "no option atomic"),
    ],
)
def test_what_cannot_be_sent_on_is_said_before_anything_is(columns: str, given: dict[str, Any], said: str) -> None:
    options = {"url": "postgresql://nobody@127.0.0.1:1/none", "queue": "orders", **given}
    known = {name: value for name, value in options.items() if value is not None}
    with pytest.raises(ConfigurationError, match=said):
        stream_writer(known, StructType.fromDDL(columns))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"queue": None}, "name it with the option queue"),
        ({"lease": "ten minutes"}, "option lease must be a time span such as 30s"),
        ({"lease": "0s"}, "option lease must be a time span from 1ms to 365000d, not '0s'"),
        ({"lease": "99999999999999d"}, "option lease must be a time span from 1ms"),
        ({"where": "payload.n = 1"}, "no option where here"),
    ],
)
def test_a_stream_says_which_option_cannot_be(given: dict[str, Any], said: str) -> None:
    options = {"url": "postgresql://nobody@127.0.0.1:1/none", "queue": "orders", **given}
    known = {name: value for name, value in options.items() if value is not None}
    with pytest.raises(ConfigurationError, match=said):
        StreamReader(known, schema({"url": "x"}))


def test_batches_are_cut_by_number() -> None:
    assert ranges([5], 4) == [[5, 5]]
    assert ranges(range(1, 2001), 4) == [[1, 1000], [1001, 2000]]
    assert len(ranges(range(0, 90_000, 3), 4)) == 4


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_spark_says_that_a_stream_lacks_its_queue(session: SparkSession, place: Place, tmp_path: Path) -> None:
    found = session.readStream.format("duerow").options(**options_of(place)).load()
    with pytest.raises(PySparkException, match="name it with the option queue"):
        run(found, place, tmp_path / "checkpoint", to="after", queue="orders")
