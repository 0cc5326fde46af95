"""Queries of Structured Streaming are killed and started again at random: each message and each line goes on once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random

import pytest

import duerow
from duerow import Draft
from duerow.testing.conformance.fixtures import Place
from tests.crash.on_spark_streams import LAST, NUMBERS, check, write_file
from tests.crash.spark_kills import Program, kill_all, tell

FED = 500
"""Numbers that are pushed for each kill."""

SHARES = {
    "postgresql": {"workers": 0.3, "drivers": 0.15, "connections": 0.2, "queries": 0.35},
    "sqlite": {"workers": 0.4, "drivers": 0.2, "queries": 0.4},
    "mysql": {"workers": 0.4, "drivers": 0.2, "queries": 0.4},
}


@pytest.fixture
def program(place: Place, tmp_path: Path, chance: Random) -> Iterator[Program]:
    program = Program(place, tmp_path, chance, "tests.crash.on_spark_streams", tmp_path)
    yield program
    program.stop()


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_whatever_of_a_query_is_killed_or_started_again_each_message_and_line_goes_on_once(
    place: Place, program: Program, chance: Random, tmp_path: Path, count_killed: Callable[[int], None]
) -> None:
    began = time.monotonic()
    pushed, files = 0, count()
    with duerow.connect(place.url, **place.settings) as database:
        numbers = database.queue(NUMBERS)

        def feed() -> None:
            nonlocal pushed
            numbers.push_many([Draft(n) for n in range(pushed, pushed + FED)])
            pushed += FED
            write_file(tmp_path, next(files))

        kinds = kill_all(program, SHARES[place.url.partition(":")[0]], chance, feed, [numbers])
        (tmp_path / LAST).touch()
        ended = program.end()
        took = time.monotonic() - began
        print(f"killed: {tell(kinds)}; it ended by itself with {dict(program.ended)}, at last with {ended}")
        assert ended == 0, program.log.read_text()[-5_000:]
        print(f"{check(database, pushed, next(files))}; in {took:.0f} s")
    count_killed(sum(of.total() for of in kinds.values()))
