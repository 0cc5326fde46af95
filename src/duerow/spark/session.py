"""A Spark session on this machine, for experiments, tests and small jobs."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from duerow.errors import ConfigurationError
from duerow.spark.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASK_ATTEMPTS: Final = 4
"""How many times a task is tried; on a single machine, Spark's default is 1."""

REDACTED: Final = r"(?i)secret|password|token|access[.]?key|credential|://[^\s/@]*:[^\s/@]+@"
"""What Spark hides in its pages and its event log: settings with matching names, and passwords in URLs.

This is Spark's own default, with the URLs added.
"""

_POOLS: Final = Path(__file__).with_name("pools.xml")
"""The configuration of a fair pool for all jobs, so that stations share the task slots."""

_LOGGING: Final = Path(__file__).with_name("log4j2.properties")


def session(app: str = "duerow", cores: int | None = None, **settings: Any) -> SparkSession:
    """Return a session on this machine that logs little, cannot be reached from outside, and retries failed tasks.

    If Spark already runs in this process, the running session is returned unchanged; otherwise Java is started. In a
    program started by `spark-submit`, or if `SPARK_REMOTE` names a Spark Connect server, the session runs on that
    Spark, with its settings and the settings given here.

    Args:
        app: the application's name.
        cores: how many tasks run at once; default: the number of cores. Ignored by `spark-submit` and Spark Connect.
        settings: Spark settings, with `__` instead of dots: `spark__driver__memory="4g"`.

    Raises:
        ConfigurationError: PySpark is not installed, Java 17 or later is missing, or the number of cores is invalid.
    """
    if cores is not None:
        from duerow.worker.run import check_count  # imported here: it imports what workers need, but few sessions do

        check_count("cores", cores)
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"Spark needs the module {error.name}; run pip install 'duerow[spark]'") from error
    if (active := SparkSession.getActiveSession()) is not None:
        return active
    builder, wanted = SparkSession.builder, {name.replace("__", "."): value for name, value in settings.items()}
    if not _is_told_where():
        _prepare_environment()
        builder = builder.master(f"local[{cores or '*'},{TASK_ATTEMPTS}]").appName(app)
        wanted = _settings(cores) | wanted
    for name, value in wanted.items():
        builder = builder.config(name, str(value))
    return builder.getOrCreate()


def _is_told_where() -> bool:
    """Whether spark-submit has started Spark for this program, or the environment names a server."""
    return any(os.environ.get(name) for name in ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"))


def _prepare_environment() -> None:
    """Set the environment variables that Spark reads when it starts, unless the user has set them."""
    if home := java_home():
        os.environ["JAVA_HOME"] = home
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def _new_folder(what: str) -> str:
    """Return a new folder for this process alone; its name is random, so no one else can have created it before."""
    folder = tempfile.mkdtemp(prefix=f"duerow-{what}-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _settings(cores: int | None) -> dict[str, str]:
    tasks = str(cores or os.cpu_count() or 1)
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
        "spark.redaction.regex": REDACTED,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.default.parallelism": tasks,
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.allocation.file": _POOLS.as_uri(),
        "spark.sql.shuffle.partitions": tasks,
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": _new_folder("warehouse"),
    }
