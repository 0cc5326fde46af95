"""MongoDB keeps every promise, on a replica set."""

from duerow.testing.conformance import promises

globals().update(promises())
