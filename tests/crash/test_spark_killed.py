"""Python workers, drivers and connections of a pipeline on Spark are killed at random: nothing is lost or doubled."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import duerow
from duerow import Draft
from duerow.testing.conformance.fixtures import Place
from tests.crash.on_spark import STATIONS, check
from tests.crash.spark_kills import Program, kill_all, tell

FED = 1_500
"""Numbers that are pushed for each kill."""

SHARES = {
    "postgresql": {"workers": 0.5, "drivers": 0.1, "connections": 0.4},
    "sqlite": {"workers": 0.88, "drivers": 0.12},
    "mysql": {"workers": 0.88, "drivers": 0.12},
}


@pytest.fixture
def program(place: Place, tmp_path: Path, chance: random.Random) -> Iterator[Program]:
    program = Program(place, tmp_path, chance, "tests.crash.on_spark", 0.001)
    yield program
    program.stop()


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_whatever_is_killed_each_number_comes_out_once_with_every_mark(
    place: Place, program: Program, chance: random.Random, count_killed: Callable[[int], None]
) -> None:
    began = time.monotonic()
    pushed = 0
    with duerow.connect(place.url, **place.settings) as database:
        queues = [database.queue(name) for name in STATIONS]

        def feed() -> None:
            nonlocal pushed
            queues[0].push_many([Draft(n) for n in range(pushed, pushed + FED)])
            pushed += FED

        kinds = kill_all(program, SHARES[place.url.partition(":")[0]], chance, feed, queues)
        ended = program.end()
        if ended != 0:  # as when a task was killed as often as Spark tries it
            program.start()
            ended = program.end()
        took = time.monotonic() - began
        print(f"killed: {tell(kinds)}; it ended by itself with {dict(program.ended)}, at last with {ended}")
        assert ended == 0, program.log.read_text()[-5_000:]
        print(f"{check(database, pushed)}; in {took:.0f} s")
    count_killed(sum(of.total() for of in kinds.values()))
