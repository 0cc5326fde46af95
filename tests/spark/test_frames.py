"""Frame stations: batches of messages as data frames, whole or row by row, exactly once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import duerow
from duerow import Draft, Frame, Pipeline, spark
from duerow.errors import ConfigurationError
from duerow.retry import fixed, limited
from duerow.testing.conformance.fixtures import Place
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
    assert [m.headers for m in messages] == [{"hops": 1}] * 3
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
    assert "'nowhere', which is none of 'small', 'large'" in seven.last_error.message
    assert tallies["a"].settled == 298
