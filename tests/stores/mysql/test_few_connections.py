"""A user who has no connection left, or a server that has none, is told as when the server is away."""

from tests.stores.mariadb.test_few_connections import *  # noqa: F403 - the tests of both servers
