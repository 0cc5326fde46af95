"""One Spark session for all tests, and for each test empty queues on each family of databases."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import duerow
from duerow import spark
from duerow.spark import probe
from duerow.testing.conformance.fixtures import Place

_numbers = itertools.count()

ON = os.environ.get("DUEROW_TEST_SPARK_ON", "sqlite postgresql mariadb mongodb").split()
"""The databases on which each test runs; on MongoDB most of them are long tests."""


class EachServerOnce(dict[str, int]):
    """Databases that executors have reached: others on the same server, and other files, count as reached."""

    def __contains__(self, database: object) -> bool:
        return super().__contains__(_server(database))

    def __getitem__(self, database: str) -> int:
        return super().__getitem__(_server(database))

    def __setitem__(self, database: str, places: int) -> None:
        super().__setitem__(_server(database), places)


def _server(database: object) -> str:
    """Return a database's URL, which tests on a server share; of a file its scheme."""
    url = str(database).partition("', [")[0]
    return "sqlite" if "sqlite:" in url else url


@pytest.fixture(scope="session")
def session(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """A session with two places to run."""
    on_interrupt = signal.getsignal(signal.SIGINT)
    started = spark.session(app="duerow tests", cores=2)
    signal.signal(signal.SIGINT, on_interrupt)  # Spark's own would outlive the session, in the tests that come after
    if request.config.option.markexpr == "not soak":
        probe._reached[started] = EachServerOnce()
    yield started
    started.stop()


@pytest.fixture(params=ON)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Empty queues on each store that Spark's processes can share."""
    settings: dict[str, Any] = {}
    url = f"sqlite:///{tmp_path}/queues.db"
    if request.param != "sqlite":
        url, settings = request.getfixturevalue(f"{request.param}_url"), {"prefix": f"spark{next(_numbers)}_"}
    duerow.connect(url, migrate=True, **settings).close()
    return Place(url, settings)


@pytest.fixture
def db(place: Place) -> Iterator[duerow.Database]:
    """The test's own way to those queues."""
    with duerow.connect(place.url, **place.settings) as database:
        yield database
