"""A run whose frame station has other columns than the last one is checked before it begins."""

from __future__ import annotations

import logging
from dataclasses import field, make_dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import duerow
from duerow import Draft, Frame, Pipeline, spark
from duerow.errors import ConfigurationError
from duerow.spark.command import app
from duerow.spark.schema import schema_of
from duerow.spark.stored_columns import stored_columns
from duerow.testing.conformance.fixtures import Place
from tests.spark.payloads import Numbered, Order

pytestmark = pytest.mark.parametrize("place", ["sqlite"], indirect=True)  # what is compared is no database's matter


def pipeline(**terms: Any) -> Pipeline:
    return Pipeline("p", [Frame("a", lambda frame: frame.select("n"), "b", **terms)], outputs=["b"])


def columns_of(db: duerow.Database) -> dict[str, str] | None:
    return db.pipelines()[0].stations[0].columns


def test_columns_may_be_added_and_widened_while_messages_wait_and_the_log_says_so(
    session: SparkSession, place: Place, db: duerow.Database, caplog: pytest.LogCaptureFixture
) -> None:
    spark.run(pipeline(schema="n int, on date"), place.url, session, **place.settings)
    assert columns_of(db) == {"n": "int", "on": "date"}
    db.queue("a").push({"n": 1, "on": "2026-03-01"})
    with caplog.at_level(logging.INFO, "duerow.pipeline"):
        wider = pipeline(schema="n bigint, on timestamp, note string")
        spark.run(wider, place.url, session, **place.settings)
    assert [one.getMessage() for one in caplog.records if one.name == "duerow.pipeline"] == [
        f"frame 'a' of pipeline 'p': column {said}"
        for said in ("n was int and is now bigint", "note (string) is new", "on was date and is now timestamp")
    ]
    assert columns_of(db) == {"n": "bigint", "on": "timestamp", "note": "string"}
    assert [m.payload for m in db.queue("b").find()] == [{"n": 1}]


def test_a_change_that_waiting_messages_may_not_fit_is_refused_before_any_is_claimed(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    spark.run(pipeline(schema="n bigint, m string"), place.url, session, **place.settings)
    big = 1 << 40
    ids = [one.id for one in db.queue("a").push_many([Draft({"n": n}) for n in (1, big, 2)])]
    narrow = pipeline(schema="n int")
    for go in (spark.run, spark.step):
        with pytest.raises(ConfigurationError, match=r"m \(string\) is gone; n was bigint and is now int"):
            go(narrow, place.url, session, **place.settings)
    assert [(m.attempts, m.leased_by) for m in db.queue("a").peek(9)] == [(0, None)] * 3
    assert columns_of(db) == {"n": "bigint", "m": "string"}

    spark.run(narrow, place.url, session, new_columns=["a"], **place.settings)
    [dead] = db.queue("a").find()
    assert (dead.id, dead.status) == (ids[1], "dead")
    assert f"payload.n is {big}, not of type int" in str(dead.last_error)
    assert sorted(m.payload["n"] for m in db.queue("b").find()) == [1, 2]
    assert columns_of(db) == {"n": "int"}


def test_the_fields_of_declared_types_are_compared_and_what_is_refused_says_where(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    spark.run(pipeline(payload=Numbered), place.url, session, **place.settings)
    assert columns_of(db) == {"n": "bigint not null required"}
    db.queue("a", payload=Numbered).push(Numbered(1))
    newer = make_dataclass("Numbered", [("n", int), ("times", int)])
    with pytest.raises(ConfigurationError, match=r"frame 'a' .*: times \(bigint not null required\) is new"):
        spark.run(pipeline(payload=newer), place.url, session, **place.settings)
    fields = stored_columns(schema_of(Order))
    assert fields["lines[].Item name"] == "string not null required"
    assert fields["counts[…]"] == "bigint"
    assert fields["nested"] == "array not null"
    optional = make_dataclass("Numbered", [("n", int), ("name", str | None, field(default=None))])
    assert stored_columns(schema_of(optional))["name"] == "string"


def test_what_is_accepted_must_be_frames_of_the_pipeline(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    for accepted, said in (
        ("a", "must be a list of frame stations"),
        (["x"], "names 'x', which is not one of its frames"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            spark.run(pipeline(schema="n int"), place.url, session, new_columns=accepted, **place.settings)


def test_the_command_accepts_new_columns(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.run(pipeline(schema="n bigint"), place.url, session, **place.settings)
    db.queue("a").push({"n": 1})
    (tmp_path / "narrowed.py").write_text(
        "from duerow import Frame, Pipeline\n"
        "frame = Frame('a', lambda frame: frame, 'b', schema='n int')\n"
        "pipeline = Pipeline('p', [frame], outputs=['b'])\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    words = ["narrowed:pipeline", "--db", place.url]
    refused = CliRunner().invoke(app, words)
    assert isinstance(refused.exception, ConfigurationError)
    CliRunner().invoke(app, [*words, "--new-columns", "a"], catch_exceptions=False)
    assert [m.payload for m in db.queue("b").find()] == [{"n": 1}]
