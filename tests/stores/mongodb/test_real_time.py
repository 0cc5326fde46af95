"""Without a clock given, the time is the server's own."""

from tests.stores.real_time import *  # noqa: F403 - the tests of all stores with servers
