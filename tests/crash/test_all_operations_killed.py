"""Processes that do everything at once are killed at random: nothing is lost, doubled, stuck or out of order."""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from duerow.testing.conformance.fixtures import Place
from tests.crash.workload.run import LEAST, Run

FULL = int(os.environ.get("DUEROW_SOAK_KILLS", "2000"))
SMALL = 10


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(SMALL, id="small"),
        pytest.param(FULL, id="full", marks=[pytest.mark.soak, pytest.mark.timeout(7_200)]),
    ],
)
def test_whatever_is_killed_nothing_is_lost_doubled_stuck_or_out_of_order(
    place: Place, processes: Any, count_killed: Callable[[int], None], tmp_path: Path, kills: int
) -> None:
    seed = int(os.environ.get("DUEROW_SOAK_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"seed {seed}")
    run = Run(place.url, place.settings, seed, processes, tmp_path / "processes.log")
    try:
        run.kill(kills)
        run.finish()
    finally:
        run.stop()
    verdict = run.verdict()
    faults = verdict.faults()
    print(f"killed: {dict(run.killed)}; connections ended: {run.broken}")
    print(verdict)
    count_killed(run.killed.total())
    assert verdict.turns_begun >= LEAST
    assert not faults, f"seed {seed}: {len(faults)} faults\n" + "\n".join(map(verdict.story, faults[:5]))
