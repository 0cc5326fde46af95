"""MySQL keeps every promise."""

from duerow.testing.conformance import promises

globals().update(promises())
