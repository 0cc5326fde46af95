"""Stations on Spark leave messages of kinds that they do not know, as plain workers do, and say so."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import duerow
from duerow import Draft, Frame, Pipeline, Relay, spark
from duerow.payload.codec import Encoded
from duerow.pipeline import Station
from duerow.spark.command import app
from duerow.testing.conformance.fixtures import Place
from duerow.testing.conformance.unknown_kinds import as_it_is, put
from tests.spark.payloads import Numbered, Renumbered, from_plain, renumbered

STATIONS: dict[str, Callable[..., Station]] = {
    "messages": lambda: Relay("a", lambda message: {"n": message.payload.n}, to="b", payload=Numbered),
    "frames": lambda: Frame("a", lambda frame: frame.select("n"), to="b", payload=Numbered),
    "rows": lambda: Frame("a", lambda frame: frame.select("_id", "n"), to="b", payload=Numbered, rowwise=True),
}


@pytest.mark.parametrize("kind", STATIONS)
def test_messages_of_unknown_kinds_are_left_as_they_were_and_do_not_keep_a_run_from_ending(
    session: SparkSession, place: Place, db: duerow.Database, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    known = db.queue("a", payload=Numbered)
    known.push_many([Draft(Numbered(n)) for n in range(20)])
    odd = [put(db, 1, queue="a"), put(db, 2, queue="a")]
    known.push_many([Draft(Numbered(n)) for n in range(20, 40)])
    before = [as_it_is(db, id) for id in odd]
    pipeline = Pipeline("p", [STATIONS[kind]()], outputs=["b"])
    with caplog.at_level(logging.ERROR, "duerow.queue"):
        tallies = spark.run(pipeline, place.url, session, **place.settings)
    assert [as_it_is(db, id) for id in odd] == before
    assert sorted(message.payload["n"] for message in db.queue("b").find()) == [*range(40)]
    assert (tallies["a"].settled, tallies["a"].left, tallies["a"].buried) == (40, 2, 0)
    [told] = [one for one in caplog.records if one.name == "duerow.queue"]
    assert (
        "2 messages of a were skipped because this consumer does not know their kinds: 'Invoice'" in told.getMessage()
    )
    assert [reason.code for reason in db.queue("a").why(odd[0])] == ["unknown-kind"]
    assert spark.run(pipeline, place.url, session, until="idle", **place.settings)["a"].left == 2


MODULE = """
from duerow import Pipeline, Relay

from tests.spark.payloads import Numbered, Renumbered, from_plain, renumbered

pipeline = Pipeline("p", [Relay("a", lambda message: None, to="b", payload=Numbered)], outputs=["b"])
"""


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_the_command_tells_by_its_exit_status(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "left_alone.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert CliRunner().invoke(app, ["left_alone:pipeline", "--db", place.url], catch_exceptions=False).exit_code == 0
    put(db, 1, queue="a")
    assert CliRunner().invoke(app, ["left_alone:pipeline", "--db", place.url], catch_exceptions=False).exit_code == 3


UPGRADES = {Numbered: renumbered, "Renumbered": from_plain}
RENUMBERED: dict[str, Callable[..., Station]] = {
    "messages": lambda **terms: Relay("a", lambda message: vars(message.payload), to="b", **terms),
    "frames": lambda **terms: Frame("a", lambda frame: frame.select("number", "times"), to="b", **terms),
    "rows": lambda **terms: Frame("a", lambda f: f.select("_id", "number", "times"), to="b", rowwise=True, **terms),
}


@pytest.mark.parametrize("kind", RENUMBERED)
def test_payloads_of_older_shapes_reach_a_station_in_its_own(
    session: SparkSession, place: Place, db: duerow.Database, kind: str
) -> None:
    db.queue("a", payload=Numbered).push(Numbered(1))
    db.queue("a", payload=Renumbered).push(Renumbered(2, 3))
    db.queue("a").push(Encoded("Renumbered", '{"number": 4}'))
    pipeline = Pipeline("p", [RENUMBERED[kind](payload=Renumbered, upgrades=UPGRADES)], outputs=["b"])
    assert spark.run(pipeline, place.url, session, **place.settings)["a"].left == 0
    found = sorted((message.payload["number"], message.payload["times"]) for message in db.queue("b").find())
    assert found == [(1, 1), (2, 3), (4, 2)]
