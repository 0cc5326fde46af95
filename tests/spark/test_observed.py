"""What a frame station observes of its result reaches the log, the tallies, the report and telemetry."""

from __future__ import annotations

import logging
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import duerow
from duerow import Draft, Frame, Pipeline, spark
from duerow.encryption import Encryption
from duerow.errors import ConfigurationError
from duerow.spark import Report
from duerow.testing.conformance.fixtures import Place
from duerow.worker import rounds
from duerow.worker.rounds import FrameRound

pytestmark = pytest.mark.parametrize("place", ["sqlite"], indirect=True)  # no database computes what is observed


def pipeline(function: Any, **terms: Any) -> Pipeline:
    return Pipeline("p", [Frame("a", function, "b", schema="n int", **terms)], outputs=["b"])


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[FrameRound]:
    """The batches that a hook around them has seen."""
    seen: list[FrameRound] = []

    from contextlib import contextmanager

    @contextmanager
    def around(one: FrameRound) -> Any:
        yield
        seen.append(one)

    monkeypatch.setattr(rounds, "AROUND", [around])
    return seen


@pytest.mark.parametrize("rowwise", [False, True])
def test_what_is_observed_of_each_batch_is_told_after_it(
    session: SparkSession,
    place: Place,
    db: duerow.Database,
    batches: list[FrameRound],
    caplog: pytest.LogCaptureFixture,
    rowwise: bool,
) -> None:
    db.queue("a").push_many([Draft({"n": n}) for n in range(6)])

    def positive(frame: DataFrame) -> DataFrame:
        return frame.where("n > 0").withColumn("price", F.col("n").cast("decimal(5, 2)"))

    observe = {"rows": "count(*)", "total": F.sum("price"), "least": "string(min(n))"}
    watched = pipeline(positive, observe=observe, rowwise=rowwise, batch=3)
    report = Report(watched, db)
    with caplog.at_level(logging.INFO, "duerow.spark"):
        tallies = spark.run(watched, place.url, session, parallelism=1, **place.settings)

    both = [
        {"rows": 2, "total": Decimal("3.00"), "least": "1"},
        {"rows": 3, "total": Decimal("12.00"), "least": "3"},
    ]
    assert sorted((one.observed for one in batches), key=lambda one: one["rows"]) == both
    assert tallies["a"].observed in both
    assert report.lines(tallies)[0].observed == tallies["a"].observed
    assert report.lines()[0].observed == report.lines(tallies)[1].observed == {}
    assert "frame 'a' of pipeline 'p': observed rows=2, total=3.00, least=1" in caplog.messages
    assert sorted(m.payload["n"] for m in db.queue("b").find()) == [1, 2, 3, 4, 5]


def test_a_batch_that_fails_tells_nothing_and_an_empty_result_is_observed_too(
    session: SparkSession, place: Place, db: duerow.Database, batches: list[FrameRound]
) -> None:
    db.queue("a").push({"n": 1})
    failing = pipeline(lambda f: f.withColumn("m", F.raise_error(F.lit("no"))), observe={"rows": "count(*)"})
    spark.step(failing, place.url, session, **place.settings)
    assert [one.observed for one in batches] == [{}]
    db.queue("a").push({"n": 1})
    none = pipeline(lambda f: f.where("false"), observe={"rows": "count(*)", "most": "max(n)"})
    spark.step(none, place.url, session, **place.settings)
    assert batches[1].observed == {"rows": 0, "most": None}


def test_the_log_of_encrypted_queues_names_what_is_observed_without_its_values(
    session: SparkSession, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    place.settings["encryption"] = Encryption([Encryption.new_key()])
    with duerow.connect(place.url, **place.settings) as db:
        db.queue("a").push({"n": 4711})
    with caplog.at_level(logging.INFO, "duerow.spark"):
        spark.step(pipeline(lambda f: f, observe={"most": "max(n)"}), place.url, session, **place.settings)
    [told] = [one for one in caplog.messages if "observed" in one]
    assert told == "frame 'a' of pipeline 'p': observed most"


def test_what_spark_cannot_compute_is_refused_before_anything_is_done(
    session: SparkSession, place: Place, db: duerow.Database, capsys: pytest.CaptureFixture[str]
) -> None:
    db.queue("a").push({"n": 1})
    for observe in ({"x": "sum(nothing)"}, {"x": "n"}):
        wrong = pipeline(lambda f: f, observe=observe)
        with pytest.raises(ConfigurationError, match="frame 'a': observe: Spark cannot compute it from the result"):
            spark.step(wrong, place.url, session, **place.settings)
        with pytest.raises(ConfigurationError, match="frame 'a': observe: Spark cannot compute it from the result"):
            spark.explain(wrong, "a", session)
    assert [(m.attempts, m.leased_by) for m in db.queue("a").peek(9)] == [(0, None)]
    spark.explain(pipeline(lambda f: f, observe={"x": "max(n)"}), "a", session)
    assert "CollectMetrics" in capsys.readouterr().out
