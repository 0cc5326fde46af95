"""What a frame station would do can be seen before it runs."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from duerow import Frame, Pipeline, Relay, Sink, spark
from duerow.errors import ConfigurationError
from tests.spark.payloads import Numbered


def pipeline(function: Any, **terms: Any) -> Pipeline:
    stations = [Frame("a", function, "b", schema="n long", **terms), Relay("b", lambda m: m.payload, to="c")]
    return Pipeline("p", stations, outputs=["c"])


def test_the_plan_of_a_frame_station_is_shown_without_a_run(
    session: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    spark.explain(pipeline(lambda frame: frame.groupBy("n").count()), "a", session)
    plan = capsys.readouterr().out
    assert "HashAggregate" in plan
    assert "a(id" in plan, "the reading of a batch has the name of its station"


@pytest.mark.parametrize(
    ("function", "terms", "said"),
    [
        (lambda frame: frame.select("m"), {}, "Spark cannot plan the result of its function"),
        (lambda frame: frame.select("n"), {"rowwise": True}, "has no column _id"),
        (lambda frame: frame.collect, {}, "it must return a Spark data frame"),
        (lambda frame: 1 / 0, {}, "its function failed: ZeroDivisionError"),
    ],
)
def test_what_a_run_would_refuse_is_refused_before_it(
    session: SparkSession, function: Any, terms: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        spark.explain(pipeline(function, **terms), "a", session)


def test_a_result_is_compared_with_the_type_of_the_next_queue(session: SparkSession) -> None:
    stations = [
        Frame("a", lambda frame: frame.selectExpr("string(n) AS n"), "b", schema="n long"),
        Sink("b", print, payload=Numbered),
    ]
    with pytest.raises(ConfigurationError, match="frame 'a'"):
        spark.explain(Pipeline("p", stations), "a", session)


def test_a_message_station_has_no_plan() -> None:
    with pytest.raises(ConfigurationError, match="only frame stations have a plan; relay 'b' calls its function"):
        spark.explain(pipeline(lambda frame: frame), "b")
