"""Frame stations: batches of messages as data frames, whole or row by row, exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import duerow
from duerow import Draft, Frame, Pipeline, Sink, spark
from duerow.errors import ConfigurationError
from duerow.retry import fixed, limited
from duerow.spark.frame_columns import TIME_RULES
from duerow.testing.conformance.fixtures import Place
from tests.spark.payloads import Numbered
from tests.spark.test_stations import found

AT_ONCE = fixed(timedelta(0))


def test_a_batch_is_grouped_whole_and_its_messages_are_done(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    db.queue("sold").push_many([Draft({"shop": n % 3, "amount": n}) for n in range(1_000)])

    def totals(sold: DataFrame) -> DataFrame:
        return sold.groupBy("shop").agg(F.sum("amount").alias("total"), F.count("*").alias("number"))

    station = Frame("sold", totals, "totals", schema="shop long, amount long", batch=1_000)
    tallies = spark.run(Pipeline("shops", [station], outputs=["totals"]), place.url, session, **place.settings)

    messages = db.queue("totals").find()
    assert sorted((m.payload["shop"], m.payload["total"], m.payload["number"]) for m in messages) == [
        (shop, sum(range(shop, 1_000, 3)), len(range(shop, 1_000, 3))) for shop in range(3)
    ]
    assert [{**m.headers, "batch": ""} for m in messages] == [{"batch": "", "hops": 1}] * 3
    assert len({m.headers["batch"] for m in messages}) == 1
    assert db.queues() == ["totals"]
    assert (tallies["sold"].claimed, tallies["sold"].settled) == (1_000, 1_000)


def test_row_by_row_each_message_moves_is_dropped_or_fails_by_itself(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    pushed = db.queue("a").push_many(
        [Draft({"n": n, "tag": "ž"}, key=f"k{n}", headers={"trace": "t", "n": n}, priority=n % 2) for n in range(300)]
    )
    ids = [one.id for one in pushed]

    def sort(frame: DataFrame) -> DataFrame:
        kept = frame.where("n % 10 != 3")
        return kept.withColumns(
            {
                "double": F.col("n") * 2,
                "_queue": F.when(F.col("n") == 7, "nowhere").when(F.col("n") < 100, "small").otherwise("large"),
                "_error": F.when(F.col("n") == 5, F.concat(F.lit("no fives: "), "n")),
            }
        )

    to = {"small": "b", "large": "c"}
    station = Frame("a", sort, to, rowwise=True, schema="n long, tag string", retry=limited(2, AT_ONCE), batch=200)
    tallies = spark.run(Pipeline("p", [station], outputs=["b", "c"]), place.url, session, **place.settings)

    kept = [n for n in range(300) if n % 10 != 3 and n not in (5, 7)]
    for queue, numbers in (("b", [n for n in kept if n < 100]), ("c", [n for n in kept if n >= 100])):
        assert found(db, queue) == {ids[n]: {"n": n, "tag": "ž", "double": 2 * n} for n in numbers}
        for m in db.queue(queue).find(limit=1_000):
            n = m.payload["n"]
            assert (m.key, m.priority) == (f"k{n}", n % 2)
            assert m.headers == {"trace": "t", "n": n, "hops": 1}
    five, seven = sorted(db.queue("a").find(), key=lambda m: m.id)
    assert [(m.id, m.status, m.attempts) for m in (five, seven)] == [(ids[5], "dead", 2), (ids[7], "dead", 2)]
    assert five.last_error is not None
    assert seven.last_error is not None
    assert five.last_error.message == "no fives: 5"
    assert "'nowhere', which is not one of 'small', 'large'" in seven.last_error.message
    assert tallies["a"].settled == 298


def test_a_staged_row_goes_where_it_says_and_tells_of_its_message(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    ids = [db.queue("a").push({"n": n}, key=f"k{n}", group="g" if n else None, headers={"t": n}).id for n in range(3)]

    def spread(frame: DataFrame) -> DataFrame:
        return frame.select(
            "_id",
            "_headers",
            F.explode(F.when(F.col("n") > 0, F.sequence(F.lit(1), "n"))).alias("part"),
            F.concat("_key", F.lit("/"), "part").alias("_key"),
            F.when(F.col("part") == 1, F.lit("b")).otherwise("c").alias("_queue"),
            F.timestamp_seconds(F.lit(4_000_000_000)).alias("_due"),
            F.when(F.col("_key") == "k9", "never").alias("_error"),
        )

    station = Frame("a", spread, ["b", "c"], schema="n int", history=timedelta(days=1))
    spark.run(Pipeline("p", [station], outputs=["b", "c"]), place.url, session, **place.settings)

    (first, second), (third,) = (sorted(db.queue(queue).find(), key=lambda m: str(m.key)) for queue in "bc")
    assert [(m.payload, m.key, m.headers) for m in (first, second, third)] == [
        ({"part": 1}, "k1/1", {"t": 1, "parent": ids[1], "hops": 1}),
        ({"part": 1}, "k2/1", {"t": 2, "parent": ids[2], "hops": 1}),
        ({"part": 2}, "k2/2", {"t": 2, "parent": ids[2], "hops": 1}),
    ]
    assert {str(m.due_at) for m in (first, second, third)} == {"2096-10-02 07:06:40+00:00"}
    assert [(one.id, one.outcome) for one in db.queue("a").history()] == [(id, "done") for id in reversed(ids)]


def test_a_loop_through_a_frame_ends_at_max_hops_with_the_reason(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    db.queue("a").push({"n": 1})

    def again(frame: DataFrame) -> DataFrame:
        return frame.groupBy("n").count().withColumns({"_queue": F.lit("a"), "_headers": F.lit('{"of": "its own"}')})

    station = Frame("a", again, ["a", "b"], schema="n int")
    spark.run(Pipeline("p", [station], outputs=["b"], max_hops=2), place.url, session, **place.settings)
    (dead,) = db.queue("a").find()
    assert (dead.status, dead.headers["hops"]) == ("dead", 2)
    assert "already moved 2 times, and its pipeline has max_hops=2" in str(dead.last_error)


def kept(frame: DataFrame) -> DataFrame:
    return frame


MISTAKES: list[tuple[dict[str, Any], Any, str]] = [
    ({}, lambda frame: None, "returned None; it must return a Spark data frame"),
    ({}, lambda frame: frame.sparkSession.readStream.format("rate").load(), "returned a stream"),
    ({}, lambda frame: frame.select("nothing"), "Spark cannot plan the result of its function: .*nothing"),
    ({}, lambda frame: frame.select("_id"), "has no columns for a payload"),
    ({"rowwise": True}, lambda frame: frame.drop("_id"), "has no column _id, which identifies the message of each row"),
    ({}, lambda frame: frame.crossJoin(frame), "has the column '_attempts', .* twice"),
    ({}, lambda frame: frame.withColumn("_due", F.lit("soon")), "has _due as string; it must be of type timestamp"),
    ({}, lambda frame: frame.withColumn("_hops", F.lit(0)), "has a column '_hops'"),
    ({}, lambda frame: frame.withColumn("_Error", F.lit("x")), "the column '_Error'; .* is written '_error'"),
    (
        {},
        lambda frame: frame.select(F.lit(1).alias("x"), F.lit(2).alias("X")),
        "cannot be written as messages: .*AMBIGUOUS_REFERENCE",
    ),
    ({"to": ["b", "c"]}, kept, "has no column _queue to choose between 'b', 'c'"),
    (
        {"to": "typed"},
        lambda frame: frame.withColumn("n", F.lit("x")),
        "'typed' declares: payload.n is string, and bigint",
    ),
    ({"schema": "n whatever"}, kept, "schema 'n whatever' cannot be read"),
]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)  # what is seen in a plan is no matter of the database
def test_a_mistake_in_the_function_is_told_before_anything_is_done(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    db.queue("a").push_many([Draft({"n": n}) for n in range(3)])
    outputs = ["b", "c"]
    for terms, function, reason in MISTAKES:
        station = Frame("a", function, **{"to": "b", "schema": "n int"} | terms)
        stations = [station, *[Sink("typed", print, payload=Numbered)] * ("typed" in station.targets)]
        pipeline = Pipeline("p", stations, outputs=[queue for queue in outputs if queue in station.targets])
        with pytest.raises(ConfigurationError, match=reason) as caught:
            spark.step(pipeline, place.url, session, **place.settings)
        assert "'a'" in str(caught.value)
        assert [(m.payload, m.attempts, m.leased_by) for m in db.queue("a").peek(9)] == [
            ({"n": n}, 0, None) for n in range(3)
        ]
    assert db.queues() == ["a"]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_times_keep_their_microseconds_and_old_rules_that_would_change_them_are_refused(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    db.queue("a").push({"at": "2026-03-01T12:00:00.123456Z"})
    session.conf.set(TIME_RULES, "LEGACY")
    try:
        for schema, function in (("at timestamp", kept), ("n int", lambda f: f.select(F.current_date().alias("day")))):
            station = Frame("a", function, "b", schema=schema)
            with pytest.raises(ConfigurationError, match=f"'a': {TIME_RULES} is LEGACY"):
                spark.step(Pipeline("p", [station], outputs=["b"]), place.url, session, **place.settings)
    finally:
        session.conf.unset(TIME_RULES)
    assert [(m.attempts, m.leased_by) for m in db.queue("a").peek(9)] == [(0, None)]

    station = Frame("a", kept, "b", schema="at timestamp")
    pipeline = Pipeline("p", [station], outputs=["b"])
    spark.step(pipeline, place.url, session, new_columns=["a"], **place.settings)  # the last ones were n int
    assert [m.payload["at"][:26] for m in db.queue("b").peek(9)] == ["2026-03-01T12:00:00.123456"]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_result_that_makes_no_sense_of_some_messages_fails_these_alone_with_the_reason(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    once = limited(1, AT_ONCE)
    guilty = F.col("n") == 2
    # Where there is another message, the batch fails first: whole, and row by row.
    cases: list[tuple[str, list[int], dict[str, Any], Any, str]] = [
        ("twice", [1], {"rowwise": True}, lambda f: f.union(f.where(guilty)).coalesce(1), "the _id {} twice"),
        (
            "none",
            [],
            {"rowwise": True},
            lambda f: f.withColumn("_id", F.when(~guilty, F.col("_id"))),
            "a row of its result has no _id",
        ),
        (
            "strange",
            [],
            {"rowwise": True},
            lambda f: f.withColumn("_id", F.when(guilty, 9**9).otherwise(F.col("_id"))),
            "the _id 387420489, which no message of the batch has",
        ),
        (
            "invented",
            [1],
            {},
            lambda f: f.withColumn("_id", F.when(guilty, 9**9).otherwise(F.col("_id"))),
            "the _id 387420489, which no message of the batch has",
        ),
        (
            "both",
            [],
            {},
            lambda f: f.withColumn("_error", F.lit(None).cast("string")).union(
                f.where(guilty).withColumn("_error", F.lit("no"))
            ),
            "message {} has rows with an _error and rows without",
        ),
    ]
    ids = {
        queue: db.queue(queue).push_many([Draft({"n": n}) for n in (*others, 2)])[-1].id for queue, others, *_ in cases
    }
    stations = [
        Frame(queue, function, f"{queue}-out", schema="n int", retry=once, **terms)
        for queue, _, terms, function, _ in cases
    ]
    whole = Pipeline("p", stations, outputs=[f"{queue}-out" for queue, *_ in cases])
    spark.run(whole, place.url, session, until="idle", **place.settings)
    for queue, others, _, _, reason in cases:
        (dead,) = db.queue(queue).find()
        assert (dead.id, dead.status) == (ids[queue], "dead"), queue
        assert reason.format(dead.id) in str(dead.last_error)
        assert [m.payload["n"] for m in db.queue(f"{queue}-out").find()] == others, queue


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_functions_of_pandas_frames_arrow_batches_and_tables_work_and_return_text_as_polars_has_it(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    """Polars itself is too large to install for this."""

    def in_cents(sales: DataFrame) -> DataFrame:
        def each(frames: Iterator[Any]) -> Iterator[Any]:
            for frame in frames:
                frame["cents"] = (frame["euros"] * 100).round().astype("int64")
                yield frame[["_id", "shop", "cents"]]

        return sales.mapInPandas(each, "_id long, shop string, cents long")

    def taxed(sales: DataFrame) -> DataFrame:
        def each(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            for batch in batches:
                shop, tax = (
                    batch["shop"].cast(pa.large_string()),
                    pa.array([n // 4 for n in batch["cents"].to_pylist()]),
                )
                yield from pa.table({"_id": batch["_id"], "shop": shop, "tax": tax}).to_batches()

        return sales.mapInArrow(each, "_id long, shop string, tax long")

    def highest(sales: DataFrame) -> DataFrame:
        def of_shop(table: Any) -> Any:
            import pyarrow as pa

            top = table.sort_by([("tax", "descending")]).slice(0, 1).select(["shop", "tax"])
            large = top.cast(pa.schema([("shop", pa.large_string()), ("tax", pa.int64())]))
            return large.cast(pa.schema([("shop", pa.string()), ("tax", pa.int64())]))

        return sales.groupBy("shop").applyInArrow(of_shop, "shop string, tax long")

    sales = [("split", 10.0), ("split", 4.0), ("zadar", 5.0)]
    db.queue("sold").push_many([Draft({"shop": shop, "euros": euros}) for shop, euros in sales])
    stations = [
        Frame("sold", lambda f: taxed(in_cents(f)), "taxed", rowwise=True, schema="shop string, euros double"),
        Frame("taxed", highest, "highest", schema="shop string, tax long"),
    ]
    spark.run(Pipeline("p", stations, outputs=["highest"]), place.url, session, **place.settings)
    assert sorted((m.payload["shop"], m.payload["tax"]) for m in db.queue("highest").find()) == [
        ("split", 250),
        ("zadar", 125),
    ]
    assert db.queues() == ["highest"]
