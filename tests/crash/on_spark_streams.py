"""Two queries of Structured Streaming to be killed, the program that runs them, and what must have come of them.

    numbers, a queue   →  squared, a queue: each number moves once
    lines of files     →  lines, a queue: each line is pushed once

    python -m tests.crash.on_spark_streams URL '{"prefix": "…"}' FOLDER

The folder has the files, and the checkpoints. SIGUSR1 stops both queries wherever they are, and starts them again. With
a file called `last` in the folder the program ends when nothing is left.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duerow
from duerow import spark
from duerow.testing.contents import payloads
from tests.crash.on_spark import TRIES

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter

NUMBERS, SQUARED, LINES = "numbers", "squared", "lines"
LAST = "last"
PER_FILE = 10
LOOK = 0.1
"""Seconds between two looks at the queries."""


def write_file(folder: Path, number: int) -> None:
    """Write the lines of a file, all at once."""
    (folder / "in").mkdir(exist_ok=True)
    hidden = folder / "in" / f".{number}"
    hidden.write_text("".join(f"{number * PER_FILE + n}\n" for n in range(PER_FILE)))
    hidden.rename(folder / "in" / f"{number}.txt")


def check(database: duerow.Database, numbers: int, files: int) -> str:
    """Each number and each line came out once, and nothing is left; return that in words."""
    assert database.queue(NUMBERS).count() == 0
    squared = Counter((one["n"], one["square"]) for one in payloads(database.queue(SQUARED)))
    assert squared == Counter((n, n * n) for n in range(numbers))
    assert Counter(payloads(database.queue(LINES))) == Counter(range(files * PER_FILE))
    return f"{numbers:,} numbers and {files * PER_FILE:,} lines came out once each"


def queries(session: SparkSession, options: dict[str, str], folder: Path) -> list[DataStreamWriter]:
    """Return both queries."""
    from pyspark.sql import functions as F

    def busily(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sum(range(20_000 * batch.num_rows))  # so that there is something to kill
            yield batch

    def into(frame: DataFrame, **more: str) -> DataStreamWriter:
        return frame.writeStream.format("duerow").options(**options, **more)

    numbers = session.readStream.format("duerow").options(**options, queue=NUMBERS, batch="500", lease="5s").load()
    n = F.col("payload").cast("long")
    squared = numbers.withColumn("payload", F.to_json(F.struct(n.alias("n"), (n * n).alias("square"))))
    lines = session.readStream.format("text").option("maxFilesPerTrigger", "5").load(str(folder / "in"))
    pushed = lines.select(F.col("value").alias("payload"))
    return [
        into(squared.mapInArrow(busily, squared.schema), queue=NUMBERS, to=SQUARED).option(
            "checkpointLocation", str(folder / "moved")
        ),
        into(pushed.mapInArrow(busily, pushed.schema), queue=LINES).option(
            "checkpointLocation", str(folder / "pushed")
        ),
    ]


def main(url: str, settings: dict[str, Any], folder: Path) -> None:
    """Run the queries until nothing is left."""
    stopped = threading.Event()
    signal.signal(signal.SIGUSR1, lambda number, frame: stopped.set())
    session = spark.session(app="duerow to be killed", cores=2, spark__master=f"local[2,{TRIES}]")
    options = {"url": url, **{name: str(value) for name, value in settings.items()}}
    with duerow.connect(url, **settings) as database:
        while True:
            ends = (folder / LAST).exists()
            trigger: dict[str, Any] = {"availableNow": True} if ends else {"processingTime": "100 milliseconds"}
            running = [one.trigger(**trigger).start() for one in queries(session, options, folder)]
            while any(one.isActive for one in running):
                if stopped.wait(LOOK) or (not ends and (folder / LAST).exists()) or any(map(failed, running)):
                    stopped.clear()
                    break
            for one in running:
                one.stop()
            if ends and not any(map(failed, running)) and database.queue(NUMBERS).count() == 0:
                return


def failed(query: Any) -> bool:
    """Whether a query has failed, as when a connection of its driver was ended; it is told in the log."""
    error = query.exception()
    if error is not None:
        print(f"a query failed: {str(error)[:500]}", file=sys.stderr, flush=True)
    return error is not None


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3]))
