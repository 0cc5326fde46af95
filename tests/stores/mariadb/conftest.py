"""MariaDB: the server that the tests start, and how an application may hold a transaction on it."""

import pytest

from tests.stores.callers import begin, parametrize
from tests.stores.mariadb.callers import ways
from tests.stores.mariadb.fixtures import *  # noqa: F403 - the fixtures of both servers

__all__ = ["begin"]


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the promises of `within=` in every way that MariaDB's callers have."""
    parametrize(metafunc, ways("mariadb"))


@pytest.fixture(scope="session")
def server_url(mariadb_url: str) -> str:
    """The server."""
    return mariadb_url


@pytest.fixture(scope="session")
def bytewise() -> str:
    """The collation that its tables need."""
    return "utf8mb4_nopad_bin"
