"""Stations on Spark send to queues of other databases; the driver brings the messages there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import duerow
from duerow import Draft, Elsewhere, Frame, Message, Pipeline, Relay, StoreUnavailable, spark
from duerow.testing.conformance.fixtures import Place


def doubling() -> Any:
    """Return a function of a message station that the executors can load."""

    def doubled(message: Message) -> Any:
        return {"n": 2 * message.payload["n"]}

    return doubled


def test_stations_and_frames_on_spark_send_each_message_to_another_database_once(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    tries: list[int] = []

    def connect() -> duerow.Database:
        tries.append(1)
        if len(tries) == 1:
            raise StoreUnavailable("no route to the centre")
        return duerow.connect(f"sqlite:///{tmp_path}/centre.db", migrate=True)

    there = Elsewhere("readings", connect, name="out", database="the centre")
    stations = [
        Relay("pack", doubling(), to=there),
        Frame("frame", lambda frame: frame.select("_id", "n"), to=there, schema="n long", rowwise=True),
        Frame("whole", lambda frame: frame.select("n"), to=there, schema="n long"),
    ]
    pipeline = Pipeline("across", stations)
    for name, base in (("pack", 0), ("frame", 1_000), ("whole", 2_000)):
        db.queue(name).push_many([Draft({"n": base + n}, headers={"trace": "t"}) for n in range(50)])
    tallies = spark.run(pipeline, place.url, session, until="empty", **place.settings)
    assert db.queues() == []
    with duerow.connect(f"sqlite:///{tmp_path}/centre.db") as centre:
        found = centre.queue("readings").find(limit=1_000)
    wanted = [*range(0, 100, 2), *range(1_000, 1_050), *range(2_000, 2_050)]
    assert sorted(one.payload["n"] for one in found) == wanted
    assert len({one.headers["came-as"] for one in found}) == 150
    assert (tallies["out"].settled, tallies["pack"].settled) == (150, 50)


def test_a_run_on_spark_until_idle_ends_though_another_database_does_not_answer(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    def connect() -> duerow.Database:
        raise StoreUnavailable("no route to the centre")

    pipeline = Pipeline("across", [Relay("pack", doubling(), to=Elsewhere("readings", connect))])
    db.queue("pack").push({"n": 1})
    spark.run(pipeline, place.url, session, until="idle", **place.settings)
    assert [one.payload for one in db.queue("readings").find()] == [{"n": 2}]
