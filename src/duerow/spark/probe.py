"""A tiny first job that checks whether the executors can work on the queues and reports what is missing where."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from duerow.errors import ConfigurationError, NotSupported
from duerow.spark.labels import labelled
from duerow.store.consumer_id import own_version
from duerow.sync.database import Database

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MANY: Final = 1 << 12
"""The number of rows of a frame whose partitions Spark chooses."""

SCHEMA: Final = "host string, problem string"

_reached: Final[WeakKeyDictionary[SparkSession, dict[str, int]]] = WeakKeyDictionary()


def check_reach(spark: SparkSession, database: Database) -> None:
    """Raise NotSupported if executors can never reach a database of this kind, wherever they run."""
    capabilities = database.store.capabilities
    if not capabilities.processes:
        raise NotSupported("queues in memory belong to one process, and Spark works in others; use a database")
    master = spark.conf.get("spark.master", "") or ""
    if not capabilities.hosts and not master.startswith("local"):
        raise NotSupported(
            f"this database is a file on this machine, and Spark runs on {master or 'another one'}: use a local[*] "
            "master, or a database server"
        )


def probe(spark: SparkSession, url: str, settings: Mapping[str, Any]) -> int:
    """Connect from every executor; return how many tasks Spark runs at once.

    Done once for each session and database.

    Raises:
        ConfigurationError: an executor lacks duerow, a driver, the tables or access to the database; the error names
            all such problems.
    """
    reached = _reached.setdefault(spark, {})
    what = repr((url, sorted(settings.items())))
    if what in reached:
        return reached[what]
    frame = spark.range(0, MANY).mapInArrow(_look(url, settings, own_version()), SCHEMA)
    try:
        with labelled(spark, "duerow: check of the executors"):
            found = frame.collect()
    except Exception as error:
        raise ConfigurationError(
            f"Spark cannot run Python functions on its executors: {last_line(error)}; each needs the driver's version "
            "of Python, with duerow, the database's driver and pyarrow"
        ) from error
    problems = sorted({f"on {row.host}: {row.problem}" for row in found if row.problem})
    if problems:
        raise ConfigurationError(f"Spark's executors cannot work on the queues: {'; '.join(problems[:10])}")
    reached[what] = len(found)
    return reached[what]


def _look(url: str, settings: Mapping[str, Any], ours: str) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a function that Spark pickles by value, because duerow may be missing on the executors."""

    def look(batches: Iterable[Any]) -> Iterator[Any]:
        import socket
        from importlib.metadata import version

        from pyarrow import RecordBatch

        for _ in batches:
            pass
        problem = ""
        try:
            import duerow

            if (theirs := version("duerow")) != ours:
                problem = f"duerow is {theirs} there and {ours} here"
            else:
                duerow.connect(url, **settings).close()
        except ModuleNotFoundError as error:
            problem = f"no module {error.name}"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        yield RecordBatch.from_pydict({"host": [socket.gethostname()], "problem": [problem]})

    return look


def last_line(error: BaseException) -> str:
    """Return what a Spark error says: the last line of a Python traceback in it, or Spark's own message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ends = [place for place, line in enumerate(lines) if line.startswith("at ") or "JVM stacktrace" in line]
    lines = [line for line in (lines[: ends[0]] if ends else lines) if not line.startswith("SQLSTATE: ")]
    if not lines:
        return type(error).__name__
    of_spark = [place for place, line in enumerate(lines) if _CONDITION.search(line)]
    if not of_spark or any("Traceback (most recent call last)" in line for line in lines):
        return lines[-1][:500]
    said = " ".join(lines[of_spark[-1] :])
    begin = _CONDITION.search(said)
    return said[begin.start() if begin else 0 :][:500]


_CONDITION: Final = re.compile(r"\[[A-Z][A-Z0-9_.]+\] ")
"""The beginning of Spark's own errors."""
