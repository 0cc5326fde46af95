"""MongoDB keeps every promise, on a replica set."""

from duerow.testing.conformance import promises
from tests.stores import reference

globals().update(promises() | {name: test for name, test in vars(reference).items() if name.startswith("test_")})
