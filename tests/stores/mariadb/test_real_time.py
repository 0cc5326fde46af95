"""The database's own clock is told as promised."""

from tests.stores.real_time import *  # noqa: F403 - the tests of all SQL stores
