"""Web frameworks' sessions and connections, on PostgreSQL."""

from tests.stores.frameworks import *  # noqa: F403 - the tests of both databases
