"""The servers as fixtures: each starts when the first test asks for it and ends with the session.

A family that cannot run here is skipped and named at the end; where CI=true it fails instead.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import pytest

import duerow
from tests.servers import mariadb, mongodb, postgresql
from tests.servers.process import ServerUnavailable, given_url

T = TypeVar("T")

MISSING = pytest.StashKey[dict[str, str]]()
"""Why families could not run."""

VERSIONS = pytest.StashKey[dict[str, str]]()
"""What the servers said of themselves."""


ON_MYSQL = ["mysql"] if given_url("mysql") else []
"""For the parameters of tests that run on MySQL too, where there is one."""

ON_MSSQL = ["mssql"] if given_url("mssql") else []
"""As before, for SQL Server."""


@pytest.fixture(scope="session")
def sqlite_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of SQLite with empty tables, to be copied: to make them takes longer than many tests."""
    file = tmp_path_factory.mktemp("migrated") / "queues.db"
    duerow.connect(f"sqlite:///{file}", migrate=True).close()
    return file


@pytest.fixture
def sqlite_url(sqlite_tables: Path, tmp_path: Path) -> str:
    """The URL of a file of this test's own, with empty tables."""
    return f"sqlite:///{shutil.copyfile(sqlite_tables, tmp_path / 'queues.db')}"


@pytest.fixture(scope="session")
def postgresql_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A PostgreSQL for the session: `postgresql://duerow:PASSWORD@127.0.0.1:PORT/duerow`."""
    yield from provide("postgresql", postgresql.running, request.config, postgresql.server_version)


@pytest.fixture(scope="session")
def mariadb_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A MariaDB for the session: `mysql://root:PASSWORD@127.0.0.1:PORT/duerow`."""
    yield from provide("mariadb", mariadb.running, request.config, mariadb.server_version)


@pytest.fixture(scope="session")
def mysql_url(request: pytest.FixtureRequest) -> str:
    """A MySQL, as the caller named it: none can be started."""
    url = given_url("mysql")
    assert url is not None, "DUEROW_TEST_MYSQL_URL names no server"
    request.config.stash.setdefault(VERSIONS, {})["mysql"] = mariadb.server_version(url)
    return url


@pytest.fixture(scope="session")
def mssql_url() -> str:
    """A SQL Server, as the caller named it: none can be started."""
    url = given_url("mssql")
    assert url is not None, "DUEROW_TEST_MSSQL_URL names no server"
    return url


@pytest.fixture(scope="session")
def mongodb_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that speaks MongoDB's protocol for the session: `mongodb://127.0.0.1:PORT/duerow`."""
    yield from provide("mongodb", mongodb.running, request.config, mongodb.server_version)


def provide(
    family: str,
    running: Callable[[], AbstractContextManager[T]],
    config: pytest.Config,
    version: Callable[[T], str] | None = None,
) -> Iterator[T]:
    """Yield how a running server is reached; without one, skip or, in CI, fail the tests that ask for it.

    Args:
        family: what it is called in reports.
        running: starts the server.
        config: takes what is to be reported.
        version: asks the server what it is, to be reported.
    """
    server = running()
    try:
        reached = server.__enter__()
    except ServerUnavailable as error:
        config.stash.setdefault(MISSING, {})[family] = str(error)
        refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        refuse(f"{family} could not run: {error}")
    try:
        if version is not None:
            config.stash.setdefault(VERSIONS, {})[family] = version(reached)
        yield reached
    finally:
        server.__exit__(None, None, None)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """One of several processes hands what it could not check to the one that reports."""
    if hasattr(session.config, "workeroutput"):
        stash, told = session.config.stash, session.config.workeroutput
        told["missing"], told["versions"] = stash.get(MISSING, {}), stash.get(VERSIONS, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what one of several processes could not check, and which servers it met."""
    told = getattr(node, "workeroutput", {})
    for key, name in ((MISSING, "missing"), (VERSIONS, "versions")):
        node.config.stash.setdefault(key, {}).update(told.get(name, {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the families whose promises were not checked."""
    for family, reason in config.stash.get(MISSING, {}).items():
        terminalreporter.section(f"NOT CHECKED: {family}", red=True, bold=True)
        terminalreporter.line(f"No test ran on {family}, because {reason}")
