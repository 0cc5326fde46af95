"""Tasks are killed wherever they are in their work on the database; every message goes on once."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import duerow
from duerow import Draft, spark
from duerow.errors import StationFailed
from duerow.testing.clock import seconds
from duerow.testing.conformance.fixtures import Place
from duerow.testing.contents import payloads
from tests.crash.on_spark import GATHERED, check, pipeline
from tests.spark.finished import finish
from tests.spark.random_kills import DyingSource, RandomKills, dying
from tests.spark.test_source import options_of

NUMBERS = 200


def kills(folder: Path, most: int, chance: float) -> RandomKills:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    folder.mkdir()
    return RandomKills(str(folder), seed, most, chance)


def test_stations_whose_tasks_are_killed_anywhere_send_each_message_on_once(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    killing = kills(tmp_path / "killed", most=2, chance=0.15)
    stations = dying(pipeline(batch=200, lease=seconds(2)), killing)
    pushed = 0
    while killing.where().total() < 4:  # chance may spare a round
        db.queue("numbers").push_many([Draft(n) for n in range(pushed, pushed + NUMBERS)])
        pushed += NUMBERS
        while db.queues() != [GATHERED]:
            with suppress(StationFailed):  # a task may be killed as often as Spark tries it
                spark.run(stations, place.url, session, chunk=200, **place.settings)

    print(killing.where())
    check(db, pushed)


def test_writes_of_frames_and_streams_whose_tasks_are_killed_anywhere_push_or_end_each_row_once(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    session.dataSource.register(DyingSource)

    def options(killing: RandomKills, **more: Any) -> dict[str, str]:
        return options_of(place, **{name: str(value) for name, value in asdict(killing).items()}, **more)

    rows = session.range(0, NUMBERS, 1, 4).select(F.col("id").cast("string").alias("payload"))
    for atomic in ("false", "true"):
        # Fewer than Spark has tries for a task: a job that fails is begun anew as another one, with rows of its own.
        killing = kills(tmp_path / f"atomic-{atomic}", most=3, chance=0.15)
        target = f"atomic-{atomic}"
        writing = rows.write.format("dying").options(**options(killing, queue=target, atomic=atomic))
        writing.mode("append").save()
        print(killing.where())
        assert sorted(payloads(db.queue(target))) == list(range(NUMBERS))

    killing = kills(tmp_path / "stream", most=1, chance=0.15)
    reading = session.readStream.format("duerow").options(**options_of(place, queue="atomic-true", batch=150)).load()
    settling = reading.writeStream.format("dying").options(**options(killing, queue="atomic-true", to="after"))
    settling = settling.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    finish(settling)
    print(killing.where())
    assert sorted(payloads(db.queue("after"))) == list(range(NUMBERS))
    assert db.queues() == ["after", "atomic-false"]
    killed = sum(len([*(tmp_path / name).iterdir()]) for name in ("atomic-false", "atomic-true", "stream"))
    assert killed >= 1, f"{NUMBERS} rows came through three times without a single kill"
