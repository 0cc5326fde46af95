"""Python workers, drivers and connections of a pipeline on Spark are killed at random: nothing is lost or doubled."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import duerow
from duerow import Draft
from duerow.testing.conformance.fixtures import Place
from tests.crash.on_spark import STATIONS, check
from tests.crash.spark_kills import LONGEST, Program, tell

KILLS = int(os.environ.get("DUEROW_SOAK_KILLS", "50"))
FED = 1_500
"""Numbers that are pushed for each kill."""

LATEST = 1.5
"""Seconds after that at most until something is killed."""

SHARES = {
    "postgresql": {"workers": 0.5, "drivers": 0.1, "connections": 0.4},
    "sqlite": {"workers": 0.88, "drivers": 0.12},
    "mysql": {"workers": 0.88, "drivers": 0.12},
}


@pytest.fixture
def chance() -> random.Random:
    seed = int(os.environ.get("DUEROW_SOAK_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"seed {seed}")
    return random.Random(seed)


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
    shares = SHARES[place.url.partition(":")[0]]
    plan = [kind for kind, share in shares.items() for _ in range(round(share * KILLS))]
    chance.shuffle(plan)
    kinds: dict[str, Counter[str]] = {kind: Counter() for kind in shares}
    kill = {"workers": program.kill_worker, "drivers": program.kill_driver, "connections": program.kill_connection}
    pushed = 0
    with duerow.connect(place.url, **place.settings) as database:
        numbers = database.queue(STATIONS[0])
        for kind in plan:
            numbers.push_many([Draft(n) for n in range(pushed, pushed + FED)])
            pushed += FED
            deadline = time.monotonic() + LONGEST
            hit = None
            while hit is None:
                assert time.monotonic() < deadline, f"nothing to kill among {kind}: {program.log.read_text()[-5_000:]}"
                program.start()
                if not leased(database):
                    if numbers.count() == 0:
                        numbers.push_many([Draft(n) for n in range(pushed, pushed + FED)])
                        pushed += FED
                    time.sleep(0.05)
                    continue
                time.sleep(chance.uniform(0, LATEST))
                hit = kill[kind]()
            kinds[kind][hit] += 1
            print(f"{time.monotonic() - began:4.0f} s: one of {kind}, {hit}", flush=True)
        ended = program.end()
        if ended != 0:  # as when a task was killed as often as Spark tries it
            program.start()
            ended = program.end()
        took = time.monotonic() - began
        print(f"killed: {tell(kinds)}; it ended by itself with {dict(program.ended)}, at last with {ended}")
        assert ended == 0, program.log.read_text()[-5_000:]
        print(f"{check(database, pushed)}; in {took:.0f} s")
    count_killed(sum(of.total() for of in kinds.values()))


def leased(database: duerow.Database) -> bool:
    """Whether anything is in hand."""
    return any(database.queue(name).stats(exact=True).leased for name in STATIONS)
