"""A write of several statements is one transaction at READ COMMITTED, also on an engine of the user's own."""

from tests.stores.mariadb.test_engines import *  # noqa: F403 - the tests of both servers
