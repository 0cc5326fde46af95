"""The database, or the driver, ends in mid-run and is started again: each message goes on once."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import duerow
from duerow import Draft, spark
from duerow.testing.clock import seconds
from duerow.testing.conformance.fixtures import Place
from tests.crash.on_spark import STATIONS, check, pipeline
from tests.crash.spark_kills import Program
from tests.servers import postgresql
from tests.servers.fixtures import provide
from tests.servers.restartable import Restartable

NUMBERS = 300


@pytest.fixture
def chance() -> random.Random:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    return random.Random(seed)


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Restartable]:
    """A server of the test's own, and what lets it crash and starts it again."""
    yield from provide("postgresql", postgresql.restartable, request.config)


def test_a_server_that_crashes_and_is_started_again_in_mid_run_loses_and_doubles_nothing(
    session: SparkSession, chance: random.Random, server: Restartable
) -> None:
    url = server.url
    with duerow.connect(url, migrate=True) as db:
        db.queue("numbers").push_many([Draft(n) for n in range(NUMBERS)])
    moments = sorted(chance.sample(range(1, NUMBERS), 2), reverse=True)
    print(f"crashes when {moments} are left in the first station")

    with ThreadPoolExecutor(1) as threads:  # the server lives no longer than the thread that starts it: this one
        stations = pipeline(batch=200, pause=0.004, lease=seconds(2))
        running = threads.submit(spark.run, stations, url, session, chunk=100)
        for left in moments:
            _wait_until(url, left, running)
            server.restart()
        running.result()
    with duerow.connect(url) as db:
        check(db, NUMBERS)


def _wait_until(url: str, left: int, running: Future[Any]) -> None:
    """Wait until so many numbers are not through the first station, or the run has ended.

    The connection stays open, because a new one for each look would take longer than the run itself.
    """
    while not running.done():
        with suppress(duerow.StoreUnavailable), duerow.connect(url) as db:
            while db.queue("numbers").count() > left and not running.done():
                time.sleep(0.02)
            return
        time.sleep(0.02)


@pytest.fixture
def program(place: Place, tmp_path: Path, chance: random.Random) -> Iterator[Program]:
    slow = 0.02  # so that it has messages in hand for seconds
    program = Program(place, tmp_path, chance, "tests.crash.on_spark", slow)
    yield program
    program.stop()


@pytest.mark.parametrize("place", ["postgresql", "mongodb"], indirect=True)  # SQLite's turn is in the long test
def test_what_a_killed_driver_had_in_hand_is_taken_up_by_the_next_one(
    session: SparkSession, place: Place, db: duerow.Database, program: Program, chance: random.Random
) -> None:
    db.queue("numbers").push_many([Draft(n) for n in range(NUMBERS)])
    program.start()
    way = None
    while way is None:
        program.check_running()
        time.sleep(0.1)  # so that Spark, and not who looks at it, has the processor
        if any(db.queue(name).stats(exact=True).leased for name in STATIONS):
            time.sleep(chance.uniform(0, 1))
            way = program.kill_driver(even_at_rest=True)  # the first station has messages in hand for three seconds
    in_hand = sum(db.queue(name).stats(exact=True).leased for name in STATIONS)
    print(f"killed: {way}, with {in_hand} messages in hand")
    spark.run(pipeline(lease=seconds(5)), place.url, session, **place.settings)
    check(db, NUMBERS)
