"""Processes share a database, also those that were forked."""

from tests.stores.processes import *  # noqa: F403 - the tests of all stores that processes can share
