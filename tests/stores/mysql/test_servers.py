"""What the server says is told as what it means, and servers that cannot keep the promises are refused."""

from tests.stores.mariadb.test_servers import *  # noqa: F403 - the tests of both servers
