"""Killed in the middle, the demo goes on where it was, and its totals are those of a run that nobody touched."""

import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.demo.conftest import expected, found, kill_when, number_in, run_demo, started, totals_of

LEASE = 2
"""Seconds until what a killed run had taken is handed out again."""

PUSHED = "SELECT done FROM demo_progress"
RECORDED = "SELECT count(*) FROM demo_flight"
CALLED = "SELECT count(*) FROM demo_call"

Reached = Callable[[], bool]


def at(file: Path, query: str, limit: int, seen: list[str]) -> Reached:
    """Return what tells when a count has come to a random part of its limit."""
    enough = random.randint(1, limit)
    seen.append(f"{query!r} at {enough}")
    return lambda: number_in(file, query) >= enough


def killed_three_times(folder: Path, flights: int, *options: str) -> list[str]:
    """Start the demo three times and kill it, while it pushes, while its pipeline runs, and while it sends."""
    file, report = folder / "demo.db", folder / "report.html"
    arguments = ("--flights", str(flights), "--lease", str(LEASE), *options)
    moments: list[str] = []
    for query, limit in ((PUSHED, flights), (RECORDED, flights // 2), (CALLED, flights // 20)):
        with started(f"sqlite:///{file}", report, *arguments) as process:
            assert kill_when(process, at(file, query, limit, moments)) == -signal.SIGKILL
    totals = totals_of(run_demo(f"sqlite:///{file}", report, *arguments))
    assert found(totals) == expected(flights), moments
    return moments


def test_three_kills_without_spark_change_no_total(tmp_path: Path, record_property: Callable[[str, object], None]):
    record_property("killed", killed_three_times(tmp_path, 300, "--local"))


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.soak)])
def test_told_to_end_the_demo_says_so_by_130_and_goes_on_later(number: signal.Signals, tmp_path: Path):
    file, report = tmp_path / "demo.db", tmp_path / "report.html"
    arguments = ("--flights", "200", "--lease", str(LEASE), "--local")
    with started(f"sqlite:///{file}", report, *arguments) as process:
        assert kill_when(process, lambda: number_in(file, RECORDED) > 0, number) == 130
    assert "Traceback" not in (tmp_path / "log").read_text()
    done = run_demo(f"sqlite:///{file}", report, *arguments)
    assert found(totals_of(done)) == expected(200)
    assert "Continuing" in done.stderr


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_three_kills_among_20_000_flights_on_spark_change_no_total(tmp_path: Path):
    killed_three_times(tmp_path, 20_000)
