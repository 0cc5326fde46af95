"""Spark for tests, whose data are small: what makes large data fast takes longer there than all the rest.

Java takes long to start: it loads and checks 16,000 classes. `python -m tests.spark.quick` has it keep them in a
file, once for each environment, and Java then starts with half of the work. Without that file everything works as well.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
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
"""
"""Uses what most tests use."""


def set_up(environment: MutableMapping[str, str] = os.environ) -> None:
    """Have Spark read these settings from whichever test starts it, unless the environment has others."""
    if "SPARK_CONF_DIR" in environment or "PYSPARK_SUBMIT_ARGS" in environment:
        return
    kept = _kept()
    if kept is not None and kept.exists():
        environment["SPARK_CONF_DIR"] = str(_empty_folder(kept))
    settings = SETTINGS if kept is None or not kept.exists() else kept.with_suffix(".conf")
    environment["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {settings} pyspark-shell"


def prepare() -> str:
    """Have Java keep its classes, if it has not, and say where they are."""
    kept = _kept()
    if kept is None:
        raise ServerUnavailable("there is no Java, or no folder of one's own to keep anything in")
    with kept.with_suffix(".lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not kept.exists():
            _keep(kept)
    return str(kept)


def _keep(kept: Path) -> None:
    written, settings = kept.with_suffix(".new"), kept.with_suffix(".conf")
    _write(settings, f"-XX:ArchiveClassesAtExit={written} -Xlog:cds=off -Xlog:cds+dynamic=off")
    environment = {"SPARK_CONF_DIR": str(_empty_folder(kept))}
    environment["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {settings} pyspark-shell"
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-c", PROGRAM, scratch]
        done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    if done.returncode or not written.exists():
        raise ServerUnavailable(f"this Java keeps no classes: {(done.stderr or done.stdout).strip()[-300:]}")
    _write(settings, f"-XX:SharedArchiveFile={kept}")
    written.replace(kept)


def _write(settings: Path, option: str) -> None:
    lines = SETTINGS.read_text().splitlines()
    settings.write_text("\n".join(f"{line} {option}" if line.startswith(OPTIONS) else line for line in lines) + "\n")


def _empty_folder(kept: Path) -> Path:
    """Where Spark looks for settings, and Java for classes, which it keeps only if no folder has others: an empty one.

    Its path is one of those for which the classes are kept, so it is always the same.
    """
    folder = kept.with_name("conf")
    folder.mkdir(exist_ok=True)
    return folder


def _kept() -> Path | None:
    """The file of classes for this Java, this version of Spark and this environment, where it is or would be."""
    try:
        java = Path(java_home() or Path(str(shutil.which("java"))).resolve().parents[1], "bin", "java")
        folder = cache_folder() / "java"
        folder.mkdir(exist_ok=True)
    except (ConfigurationError, ServerUnavailable):
        return None
    said = [java.resolve(), java.stat().st_mtime_ns, *_spark(), SETTINGS.read_text(), PROGRAM]
    return folder / f"spark-{hashlib.sha256(repr(said).encode()).hexdigest()[:16]}.jsa"


def _spark() -> list[object]:
    """The version of Spark and where it is."""
    found = distribution("pyspark")
    return [found.version, found.locate_file("pyspark")]


if __name__ == "__main__":
    try:
        print(f"classes of Spark: {prepare()}")
    except ServerUnavailable as error:
        print(f"classes of Spark: not kept, so Java starts as slowly as elsewhere: {error}", file=sys.stderr)
