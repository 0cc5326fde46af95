"""MySQL, where DUEROW_TEST_MYSQL_URL names a server: the same tests as MariaDB's.

Without one the tests are not collected, and the report says so: no server can be started for them.
"""

from pathlib import Path

import pytest

from tests.servers.fixtures import MISSING
from tests.servers.process import given_url
from tests.stores.callers import begin, parametrize
from tests.stores.mariadb.callers import ways
from tests.stores.mariadb.fixtures import *  # noqa: F403 - the fixtures of both servers

__all__ = ["begin"]

URL = given_url("mysql")

collect_ignore = [path.name for path in Path(__file__).parent.glob("test_*.py") if URL is None]


def pytest_configure(config: pytest.Config) -> None:
    """Have the report say that the promises were not checked, which is no failure: nobody can start a server here."""
    if URL is None:
        config.stash.setdefault(MISSING, {})["mysql"] = "DUEROW_TEST_MYSQL_URL names no server, and none can be started"


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the promises of `within=` in every way that MySQL's callers have."""
    parametrize(metafunc, ways("mysql"))


@pytest.fixture(scope="session")
def server_url(mysql_url: str) -> str:
    """The server."""
    return mysql_url


@pytest.fixture(scope="session")
def bytewise() -> str:
    """The collation that its tables need."""
    return "utf8mb4_0900_bin"
