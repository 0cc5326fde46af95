"""The servers as fixtures: each starts when the first test asks for it and ends with the session.

A family that cannot run here is skipped and named at the end; where CI=true it fails instead.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import pytest

from tests.servers import mariadb, mongodb, postgresql
from tests.servers.process import ServerUnavailable

T = TypeVar("T")

MISSING = pytest.StashKey[dict[str, str]]()


@pytest.fixture(scope="session")
def postgresql_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A PostgreSQL for the session: `postgresql://duerow@127.0.0.1:PORT/duerow`."""
    yield from provide("postgresql", postgresql.running, request.config)


@pytest.fixture(scope="session")
def mariadb_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A MariaDB for the session: `mysql://root@127.0.0.1:PORT/duerow`."""
    yield from provide("mariadb", mariadb.running, request.config)


@pytest.fixture(scope="session")
def mongodb_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that speaks MongoDB's protocol for the session: `mongodb://127.0.0.1:PORT/duerow`."""
    yield from provide("mongodb", mongodb.running, request.config)


def provide(family: str, running: Callable[[], AbstractContextManager[T]], config: pytest.Config) -> Iterator[T]:
    """Yield how a running server is reached; without one, skip or, in CI, fail the tests that ask for it."""
    server = running()
    try:
        reached = server.__enter__()
    except ServerUnavailable as error:
        config.stash.setdefault(MISSING, {})[family] = str(error)
        refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        refuse(f"{family} could not run: {error}")
    try:
        yield reached
    finally:
        server.__exit__(None, None, None)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """One of several processes hands what it could not check to the one that reports."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["missing"] = session.config.stash.get(MISSING, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what one of several processes could not check."""
    node.config.stash.setdefault(MISSING, {}).update(getattr(node, "workeroutput", {}).get("missing", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the families whose promises were not checked."""
    for family, reason in config.stash.get(MISSING, {}).items():
        terminalreporter.section(f"NOT CHECKED: {family}", red=True, bold=True)
        terminalreporter.line(f"No test ran on {family}, because {reason}")
