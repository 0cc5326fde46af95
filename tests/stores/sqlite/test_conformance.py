"""SQLite keeps every promise."""

from dataclasses import replace

import pytest

from duerow.testing.conformance import promises
from duerow.testing.conformance.fixtures import Place

globals().update(promises())


@pytest.fixture
def place(place: Place) -> Place:
    """The queues of this test, which need not survive a power cut."""
    return replace(place, settings={"synchronous": "NORMAL"})
