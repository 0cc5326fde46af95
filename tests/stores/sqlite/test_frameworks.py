"""Web frameworks' sessions and connections, on SQLite."""

from tests.stores.frameworks import *  # noqa: F403 - the tests of both databases
