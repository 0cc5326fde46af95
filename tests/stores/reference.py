"""The random steps of the conformance suite on servers, which take long."""

from collections.abc import Callable

from duerow import Database
from duerow.testing import conformance
from duerow.testing.clock import MovableClock
from duerow.testing.conformance.fixtures import Harm
from duerow.testing.state_machine import drive


def test_a_store_does_what_the_reference_does(
    db: Database, clock: MovableClock, harms: dict[str, Harm], harms_out_of_line: dict[str, Harm]
) -> None:
    """Take fewer steps than other stores do in each run; `make soak` takes many more of them."""
    drive(db, clock, runs=3, harms=harms, harms_out_of_line=harms_out_of_line)


def promises() -> dict[str, Callable[..., None]]:
    """Return the tests of the conformance suite, with these steps."""
    test = test_a_store_does_what_the_reference_does
    return conformance.promises() | {test.__name__: test}
