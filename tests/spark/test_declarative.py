"""A declarative pipeline of Spark with a queue as its source and as its sink."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pyspark
import pytest

import duerow
from duerow.spark.java import java_home

EXAMPLE = Path(__file__).parents[2] / "examples" / "declarative"


@pytest.mark.soak
def test_a_declarative_pipeline_routes_each_message_once_and_reads_a_queue_into_a_table(tmp_path: Path) -> None:
    folder = tmp_path / "declarative"
    shutil.copytree(EXAMPLE, folder)
    spec = folder / "spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("file:///var/tmp/orders", (tmp_path / "storage").as_uri()))
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    with duerow.connect(url, migrate=True) as db:
        db.queue("orders").push_many([duerow.Draft({"item": f"item {n}", "price": 50.0 * n}) for n in range(6)])
        db.queue("approve").push({"item": "a chair"})
        run(folder, url)
        shutil.rmtree(folder / "spark-warehouse")  # this catalog forgets its tables with the run, but not their files
        db.queue("orders").push({"item": "a lamp", "price": 10.0})
        run(folder, url)
        counts = {name: db.queue(name).count() for name in ("orders", "ship", "approve")}
    assert counts == {"orders": 0, "ship": 4, "approve": 4}
    table = pyarrow.parquet.read_table(folder / "spark-warehouse" / "approved")
    assert sorted(table["item"].to_pylist()) == ["a chair", "item 3", "item 4", "item 5"]


def run(folder: Path, url: str) -> None:
    """Run the pipeline of a folder once, as a user does."""
    home = Path(pyspark.__file__).parent
    java = java_home()
    environment = {
        **os.environ,
        **({"JAVA_HOME": java} if java else {}),
        "DUEROW_URL": url,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [home / "bin" / "spark-pipelines", "run", "--spec", "spark-pipeline.yml"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Run is COMPLETED" in done.stdout + done.stderr
