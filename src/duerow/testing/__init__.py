"""Tools for tests of queues: a movable clock, `drain`, assertions, faults, and the conformance suite for stores.

The suite needs `pip install 'duerow[testing]'`; the rest needs no extra.
"""

from duerow.testing.assertions import assert_not_pushed, assert_pushed, like
from duerow.testing.clock import MovableClock
from duerow.testing.queue_drain import Handled, adrain, drain

__all__ = ["Handled", "MovableClock", "adrain", "assert_not_pushed", "assert_pushed", "drain", "like"]
