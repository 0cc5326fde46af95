"""State that outlives a batch is kept by a stream that reads a queue, and its messages still move once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

import duerow
from duerow import Draft, Frame, Pipeline, spark
from duerow.retry import bury
from duerow.testing.clock import MovableClock
from duerow.testing.conformance.fixtures import Place
from tests.spark.finished import finish
from tests.spark.test_source import options_of
from tests.spark.test_source_streams import run, stream

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

pytestmark = pytest.mark.parametrize("place", ["sqlite"], indirect=True)  # the state is Spark's


@pytest.fixture
def rocks(session: SparkSession) -> Iterator[None]:
    session.conf.set(PROVIDER, ROCKS)
    yield
    session.conf.unset(PROVIDER)


def counting() -> StatefulProcessor:
    """Adds to each message how many of its shop there have been; a class that is pickled by value."""

    class Counting(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self.seen = handle.getValueState("seen", "seen long")

        def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Iterator[Any]:
            seen = self.seen.get()[0] if self.seen.exists() else 0
            for frame in rows:
                frame["seen"] = range(seen + 1, seen + 1 + len(frame))
                seen += len(frame)
                yield frame
            self.seen.update((seen,))

        def close(self) -> None:
            pass

    return Counting()


def test_a_stream_keeps_state_from_batch_to_batch_and_each_message_moves_once(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path, rocks: None
) -> None:
    found = stream(session, place, batch=2)
    of = found.select("id", "token", "queue", F.get_json_object("payload", "$.shop").alias("shop"))
    counted = of.groupBy("shop").transformWithStateInPandas(
        counting(), "id long, token long, queue string, shop string, seen long", "Append", "None"
    )
    routed = counted.select("id", "token", "queue", F.to_json(F.struct("shop", "seen")).alias("payload"))
    db.queue("orders").push_many([Draft({"shop": shop}) for shop in ("split", "zadar", "split", "split")])
    run(routed, place, tmp_path / "checkpoint", to="counted")
    assert len([*(tmp_path / "checkpoint" / "commits").glob("[0-9]*")]) == 2, "two batches"
    assert sorted((m.payload["shop"], m.payload["seen"]) for m in db.queue("counted").find()) == [
        ("split", 1),
        ("split", 2),
        ("split", 3),
        ("zadar", 1),
    ]
    assert db.queues() == ["counted"]


def test_in_a_frame_station_state_begins_empty_with_each_batch(
    session: SparkSession, place: Place, db: duerow.Database, rocks: None
) -> None:
    def seen(frame: Any) -> Any:
        of = frame.select(F.col("_id").alias("n"), "shop").groupBy("shop")
        return of.transformWithStateInPandas(counting(), "n long, shop string, seen long", "Append", "None")

    pipeline = Pipeline("p", [Frame("a", seen, "b", schema="shop string", retry=bury)], outputs=["b"])
    for _ in range(2):
        db.queue("a").push({"shop": "split"})
        spark.run(pipeline, place.url, session, **place.settings)
    assert db.queue("a").find() == []
    assert [m.payload["seen"] for m in db.queue("b").find()] == [1, 1]


@pytest.mark.soak  # the page's example runs without a death in the quick tests
@pytest.mark.parametrize("event", ["created_at", "first_due_at"])
def test_a_window_closed_by_a_watermark_is_counted_once_though_its_query_dies_before_its_messages_are_ended(
    session: SparkSession, place: Place, tmp_path: Path, event: str
) -> None:
    begin = datetime.now(UTC).replace(minute=0) - timedelta(days=1)
    clock = MovableClock(begin)
    with duerow.connect(place.url, clock=clock, **place.settings) as db:
        for minute in (0, 15, 75, 180):
            at = begin + timedelta(minutes=minute)
            clock.set(at if event == "created_at" else begin)
            db.queue("orders").push("call", due=at)
        db.queue("counted", remember_keys=timedelta(days=9)).declare()
    options = options_of(place)
    held = F.collect_set(F.struct("id", "token")).alias("held")
    windows = stream(session, place).withWatermark(event, "10 minutes").groupBy(F.window(event, "1 hour")).agg(held)
    deaths = [True]

    def close(closed: DataFrame, number: int) -> None:
        counts = closed.selectExpr("string(window.start) AS key", "string(size(held)) AS payload")
        counts.write.format("duerow").options(**options, queue="counted").mode("append").save()
        if deaths and closed.count():
            raise RuntimeError(f"killed {deaths.pop()}")
        ended = closed.selectExpr("inline(held)").write.format("duerow").options(**options, queue="orders")
        ended.option("done", "true").mode("append").save()

    query = windows.writeStream.outputMode("append").foreachBatch(close).trigger(availableNow=True)
    query = query.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(StreamingQueryException, match="killed"):
        finish(query)
    with duerow.connect(place.url, **place.settings) as db:
        assert (db.queue("counted").count(), db.queue("orders").count()) == (2, 4)
        finish(query)
        assert sorted(m.payload for m in db.queue("counted").find()) == [1, 2]
        assert db.queue("orders").count() == 1, "its window is open"
