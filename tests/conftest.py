"""What all tests share."""

from hypothesis import settings

pytest_plugins = ["tests.servers.fixtures", "duerow.testing.conformance.fixtures"]

# No test depends on how fast the machine is.
settings.register_profile("duerow", deadline=None)
settings.load_profile("duerow")
