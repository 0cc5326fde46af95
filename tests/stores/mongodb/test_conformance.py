"""MongoDB keeps every promise, on a replica set."""

from duerow import Database
from duerow.testing.clock import MovableClock
from duerow.testing.conformance import promises
from duerow.testing.conformance.fixtures import Harm
from duerow.testing.state_machine import drive

globals().update(promises())


def test_a_store_does_what_the_reference_does(
    db: Database, clock: MovableClock, harms: dict[str, Harm], harms_out_of_line: dict[str, Harm]
) -> None:
    """Take a third of the steps that other stores take in each run; `make soak` takes them all."""
    drive(db, clock, runs=5, harms=harms, harms_out_of_line=harms_out_of_line)
