"""Processes share a database as promised."""

from tests.stores.processes import *  # noqa: F403 - the tests of all stores that processes can share
