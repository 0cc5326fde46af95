"""MongoDB keeps every promise, on a replica set."""

from tests.stores.reference import promises

globals().update(promises())
