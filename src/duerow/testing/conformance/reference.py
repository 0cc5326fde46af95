"""After any steps, a store gives the same answers and has the same contents as the in-memory reference."""

from __future__ import annotations

import os
import random

import pytest

from duerow import Database
from duerow.testing.clock import MovableClock
from duerow.testing.conformance.fixtures import Harm
from duerow.testing.state_machine import drive


def test_a_store_does_what_the_reference_does(
    db: Database, clock: MovableClock, harms: dict[str, Harm], harms_out_of_line: dict[str, Harm]
) -> None:
    drive(db, clock, harms=harms, harms_out_of_line=harms_out_of_line)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_store_does_what_the_reference_does_for_a_long_time(
    db: Database, clock: MovableClock, harms: dict[str, Harm], harms_out_of_line: dict[str, Harm]
) -> None:
    """Runs and steps by DUEROW_SOAK_RUNS and DUEROW_SOAK_STEPS; DUEROW_SEED repeats a run, whose seed is printed."""
    seed = int(os.environ.get("DUEROW_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"DUEROW_SEED={seed}")
    runs, steps = int(os.environ.get("DUEROW_SOAK_RUNS", "300")), int(os.environ.get("DUEROW_SOAK_STEPS", "100"))
    drive(db, clock, runs, steps, seed, harms, harms_out_of_line)
