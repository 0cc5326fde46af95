"""Processes to be killed, the databases that they work on, and a word at the end on how many were."""

import multiprocessing
import os
import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import duerow
from duerow.testing.conformance.fixtures import Place
from tests.processes import forking
from tests.servers.fixtures import ON_MYSQL

KILLED = pytest.StashKey[Counter[str]]()

Start = Callable[..., multiprocessing.Process]


@pytest.fixture(params=["sqlite", "postgresql", "mariadb", *ON_MYSQL])
def place(request: pytest.FixtureRequest) -> Place:
    """A migrated database for one test, on each server that processes can share."""
    return migrated(request)


def migrated(request: pytest.FixtureRequest, **on_sqlite: str) -> Place:
    """Return new tables on the database that a fixture's parameter names; on SQLite a file with some settings."""
    if request.param == "sqlite":
        return Place(request.getfixturevalue("sqlite_url"), on_sqlite)
    place = Place(request.getfixturevalue(f"{request.param}_url"), {"prefix": f"crash_{uuid.uuid4().hex[:8]}_"})
    duerow.connect(place.url, migrate=True, **place.settings).close()
    return place


@pytest.fixture(scope="session")
def processes() -> Any:
    """Starts processes from one that has no threads and has duerow loaded already."""
    return forking()


@pytest.fixture
def start(processes: Any) -> Iterator[Start]:
    """A function that starts a process; all have ended when the test ends."""
    started: list[multiprocessing.Process] = []

    def begin(target: Callable[..., None], *args: Any) -> multiprocessing.Process:
        process = processes.Process(target=target, args=args, daemon=True)
        process.start()
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.is_alive():
            process.kill()
        process.join()


@pytest.fixture
def which(request: pytest.FixtureRequest, scale: int) -> Callable[[int, int], tuple[int, ...]]:
    """A function that returns at which times a point is reached processes are killed there, one after the other.

    In the long tests at both times that it is given; else at one of them, which differs from one point to the next.
    """
    place = request.node.callspec.indices["point"]
    return lambda first, later: (first, later) if scale > 1 else ((first, later)[place % 2],)


@pytest.fixture
def count_killed(request: pytest.FixtureRequest) -> Callable[..., None]:
    """A function that notes how many processes this test killed, which cannot be none, and who held a lease then."""

    def note(killed: int, holders: int | None = None) -> None:
        assert killed > 0, "nothing was killed, so nothing was shown"
        name = request.node.name if holders is None else f"{request.node.name}, {holders} of which held a lease"
        request.config.stash.setdefault(KILLED, Counter())[name] += killed
        request.node.user_properties.append(("killed", killed))

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many processes each test killed."""
    killed = config.stash.get(KILLED, Counter())
    if killed:
        terminalreporter.section(f"{killed.total()} processes were killed")
        for name, number in sorted(killed.items()):
            terminalreporter.line(f"{number:4} in {name}")


@pytest.fixture
def chance() -> random.Random:
    """A source of randomness whose seed is printed, or given by DUEROW_SOAK_SEED."""
    seed = int(os.environ.get("DUEROW_SOAK_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"seed {seed}")
    return random.Random(seed)
