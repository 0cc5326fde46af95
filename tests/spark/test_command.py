"""`python -m duerow.spark` runs a pipeline of a module, and tells what has happened by the database's own counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import duerow
from duerow import Draft, Frame, Pipeline, Relay
from duerow.errors import NotSupported
from duerow.retry import bury
from duerow.spark import Report
from duerow.spark.command import app
from duerow.store import Totals
from duerow.testing.clock import minutes
from duerow.testing.conformance.fixtures import Place

MODULE = """
from duerow import Frame, Pipeline

station = Frame("a", lambda frame: frame.where("n > 0"), "b", rowwise=True, schema="n int")
pipeline = Pipeline("p", [station], outputs=["b"])
"""


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_the_command_runs_a_pipeline_and_prints_what_has_happened(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.queue("a").push_many([Draft({"n": n}) for n in range(3)])
    (tmp_path / "shop.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    done = CliRunner().invoke(app, ["shop:pipeline", "--db", place.url, "--json"], catch_exceptions=False)

    assert done.exit_code == 0
    a, b = json.loads(done.stdout)
    assert (a["queue"], a["station"], a["left"], a["ended"]["moved"], a["ended"]["done"]) == ("a", "frame", 0, 2, 1)
    assert (b["queue"], b["station"], b["left"]) == ("b", "output", 2)


def test_a_report_counts_from_when_it_was_made() -> None:
    pipeline = Pipeline("p", [Relay("a", lambda m: 1 // m.payload, to="b", retry=bury)], outputs=["b"])
    with duerow.connect("memory://") as db:
        db.queue("a").push(1)
        pipeline.run(db)
        report = Report(pipeline, db)
        db.queue("a").push_many([Draft(1), Draft(0)])
        db.queue("a").push(1, delay=minutes(1))
        pipeline.run(db)
        a, b = report.lines()
    assert (a.ended, a.left, a.dead) == (Totals(moved=1, dead=1), 1, 1)
    assert (b.ended, b.left, b.station) == (Totals(), 2, "output")


def test_a_pipeline_with_frames_is_refused_without_spark_before_anything_happens() -> None:
    with duerow.connect("memory://") as db:
        db.queue("a").push(1)
        pipeline = Pipeline("p", [Frame("a", lambda frame: frame, "b")], outputs=["b"])
        with pytest.raises(NotSupported, match=r"frame 'a' works only on Spark.*duerow.spark.run\("):
            pipeline.run(db)
        assert (db.queue("a").count(), db.pipelines()) == (1, [])
