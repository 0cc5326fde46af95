"""Spark for tests, whose data are small: what makes large data fast takes longer there than all the rest.

Java takes long to start: it loads and checks 16,000 classes. `python -m tests.spark.quick_settings` has it write them
to an archive, once for each environment, and it then starts in 6 seconds of processor time instead of 10. Without the
archive everything works as well. Programs that Spark's own commands start, such as `spark-submit`, know none of this.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import MutableMapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

from duerow.errors import ConfigurationError
from duerow.spark.java import java_home
from tests.servers.process import ServerUnavailable, cache_folder

SETTINGS: Final = Path(__file__).with_name("quick.conf")

START: Final = SETTINGS.with_name("start")
"""A folder on the path of Python's processes, with what each of them does first."""

OPTIONS: Final = "spark.driver.defaultJavaOptions"

PROGRAM: Final = """
from duerow import spark
import sys
from pyspark.sql import functions as F
session = spark.session(app="classes", cores=2)
table = session.range(100).withColumn("key", F.col("id") % 7)
table.groupBy("key").agg(F.sum("id"), F.collect_list("id")).orderBy("key").join(table, "key").collect()
table.mapInArrow(lambda batches: batches, table.schema).write.parquet(sys.argv[1] + "/table")
read = session.readStream.schema(table.schema).parquet(sys.argv[1] + "/table")
query = read.writeStream.foreachBatch(lambda batch, number: batch.collect()).trigger(availableNow=True)
query.option("checkpointLocation", sys.argv[1] + "/checkpoint").start().awaitTermination()
session.stop()
java = session.sparkContext._gateway.proc
java.stdin.close()
sys.exit(java.wait())
"""
"""Uses what most tests use, and waits until Java has ended, which writes the archive last of all."""

QUIET: Final = "-Xlog:cds=off -Xlog:cds+dynamic=off"

LONGEST: Final = 900.0
"""Seconds that making the archive may take."""


def set_up(environment: MutableMapping[str, str] = os.environ) -> None:
    """Have Spark read these settings wherever a test starts it by Python, unless the environment has others."""
    if "SPARK_CONF_DIR" in environment or "PYSPARK_SUBMIT_ARGS" in environment:
        return
    archive, settings = _archive(), SETTINGS
    if archive is not None and archive.exists() and archive.with_suffix(".conf").exists():
        environment["SPARK_CONF_DIR"] = str(_empty_folder(archive))
        settings = archive.with_suffix(".conf")
    environment["PYSPARK_SUBMIT_ARGS"] = _arguments(settings)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(START), environment.get("PYTHONPATH"))))


def prepare() -> str:
    """Have Java write the archive, if there is none, and say where it is; ServerUnavailable if there can be none."""
    archive = _archive()
    if archive is None:
        raise ServerUnavailable("there is no Java, or no folder of one's own to keep anything in")
    place = archive.name.rpartition("-")[0]
    with archive.with_name(f"{place}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not archive.exists():
            for old in archive.parent.glob(f"{place}-*"):
                old.unlink()
            _write(archive)
    return str(archive)


def _write(archive: Path) -> None:
    written, settings = archive.with_suffix(".new"), archive.with_suffix(".conf")
    _write_settings(settings, f"-XX:ArchiveClassesAtExit={written} {QUIET}")
    environment = {"SPARK_CONF_DIR": str(_empty_folder(archive)), "PYSPARK_SUBMIT_ARGS": _arguments(settings)}
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-c", PROGRAM, scratch]
        try:
            done = subprocess.run(
                command, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=LONGEST
            )
        except subprocess.TimeoutExpired as error:
            raise ServerUnavailable(f"Java was not done after {LONGEST:.0f} s") from error
    if done.returncode or not written.exists():
        raise ServerUnavailable(f"this Java writes no archive: {(done.stderr or done.stdout).strip()[-300:]}")
    _write_settings(settings, f"-XX:SharedArchiveFile={archive} {QUIET}")
    written.replace(archive)


def _write_settings(settings: Path, options: str) -> None:
    lines = SETTINGS.read_text().splitlines()
    settings.write_text("\n".join(f"{line} {options}" if line.startswith(OPTIONS) else line for line in lines) + "\n")


def _arguments(settings: Path) -> str:
    return f"--properties-file {shlex.quote(str(settings))} pyspark-shell"


def _empty_folder(archive: Path) -> Path:
    """Where Spark looks for settings, and Java for classes: it archives none if one of its folders has files.

    Java searches it by its path, which the archive holds, so the path is always the same.
    """
    folder = archive.with_name("conf")
    folder.mkdir(mode=0o755, exist_ok=True)
    return folder


def _archive() -> Path | None:
    """Where the archive is, or would be, of this Java and this installation of Spark; None if there can be none."""
    try:
        home = java_home()
        java = Path(home, "bin", "java") if home else "java"
        about = subprocess.run(
            [java, "-XshowSettings:properties", "-version"], capture_output=True, text=True, check=True
        ).stderr
        folder = cache_folder() / "java"
        folder.mkdir(mode=0o755, exist_ok=True)
        spark = Path(str(distribution("pyspark").locate_file("pyspark")), "jars")
        java_is = [line.strip() for line in about.splitlines() if "java.home" in line or "java.vm.version" in line]
        state = [java_is, spark.stat().st_mtime_ns, SETTINGS.read_text(), PROGRAM]
    except (ConfigurationError, ServerUnavailable, OSError, RuntimeError, subprocess.CalledProcessError):
        return None
    if " " in str(folder):  # Spark would take one option for two
        return None
    return folder / f"spark-{_digest(str(spark))}-{_digest(state)}.jsa"


def _digest(said: object) -> str:
    return hashlib.sha256(repr(said).encode()).hexdigest()[:12]


if __name__ == "__main__":
    try:
        print(f"archive of Spark's classes: {prepare()}")
    except ServerUnavailable as error:
        print(f"archive of Spark's classes: none, so Java starts as slowly as elsewhere: {error}", file=sys.stderr)
