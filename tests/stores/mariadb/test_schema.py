"""The tables are made, checked and shared as promised."""

from tests.stores.schema import *  # noqa: F403 - the tests of all stores with tables
