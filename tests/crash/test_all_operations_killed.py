"""Processes that do everything at once are killed at random: nothing is lost, duplicated, stuck or out of order."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from duerow.testing.conformance.fixtures import Place
from duerow.testing.torture import Options, torture
from duerow.testing.torture.options import any_seed
from duerow.testing.torture.run import LEAST

FULL = int(os.environ.get("DUEROW_SOAK_KILLS", "2000"))
SMALL = 3


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
    seed = int(os.environ.get("DUEROW_SOAK_SEED", any_seed()))
    print(f"seed {seed}")
    options = Options(seed, kills, processes=4 if kills == SMALL else 8, serializable=seed % 2 == 0)
    report = torture(place.url, options, shared=True, context=processes, folder=tmp_path)
    print(report)
    count_killed(sum(report.killed.values()))
    assert report.turns >= LEAST
    assert not report.broken, report
