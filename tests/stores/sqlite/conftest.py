"""SQLite, each test in a file of its own."""

import sqlite3
from collections.abc import Iterator, Set
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from duerow.testing.conformance.fixtures import Harm, Hold, Place
from duerow.testing.faces import Face
from tests.stores.callers import begin, parametrize
from tests.stores.sqlite.callers import WAYS
from tests.stores.sqlite.damage import HARMS, HARMS_OUT_OF_LINE, ways

__all__ = ["begin"]


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the promises of `within=` in every way that SQLite's callers have."""
    parametrize(metafunc, WAYS)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the file of this test is, or will be."""
    return tmp_path / "queues.db"


@pytest.fixture
def place(sqlite_url: str) -> Place:
    """The queues of this test."""
    return Place(sqlite_url)


@pytest.fixture
def bare_place(file: Path) -> Place:
    """A place without any tables."""
    return Place(f"sqlite:///{file}")


@pytest.fixture
def crowd(face: Face) -> int:
    """More than SQLite takes parameters in one statement; once, since both faces run the same plans."""
    return 33_000 if face.name == "sync" else 6_000


@pytest.fixture
def harms(file: Path) -> dict[str, Harm]:
    """Ways to damage a row."""
    return ways(file, HARMS)


@pytest.fixture
def harms_out_of_line(file: Path) -> dict[str, Harm]:
    """Ways to damage a row so that no claim comes upon it."""
    return ways(file, HARMS_OUT_OF_LINE)


@pytest.fixture
def largest_token(file: Path) -> Harm:
    """A token that a claim makes a float."""
    return ways(file, {"": f"token = {2**63 - 1}"})[""]


@pytest.fixture
def hold(file: Path) -> Hold:
    """Another connection writes, so that everybody else must wait."""

    @contextmanager
    def holding() -> Iterator[None]:
        with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False, timeout=30)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")

    return holding


@pytest.fixture
def in_loop() -> Set[str]:
    """Whoever waits for pushes looks into shared memory, which takes less time than to ask a thread to."""
    return {"connect in AsyncDataVersionListener._changed", "Connection.execute in _data_version"}
