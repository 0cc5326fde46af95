"""One Spark session for all tests of a process: those of Spark, the pages of the documentation, and the demo."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


QUICK = {"spark__python__task__killTimeout": "50ms"}
"""Settings of the quick tests: a task that is cancelled while its function hangs keeps a core busy for that long."""


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
    """A session with two places to run; in the long tests with the patience that Spark has by itself."""
    from duerow import spark
    from duerow.spark import probe

    quick = request.config.option.markexpr == "not soak"
    on_interrupt = signal.getsignal(signal.SIGINT)
    started = spark.session(app="duerow tests", cores=2, **(QUICK if quick else {}))
    signal.signal(signal.SIGINT, on_interrupt)  # Spark's own would outlive the session, in the tests that come after
    if quick:
        probe._reached[started] = EachServerOnce()
    yield started
    started.stop()
