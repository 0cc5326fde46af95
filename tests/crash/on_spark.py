"""A pipeline on Spark to be killed, the program that carries it, and what must have come of it in the end.

A number goes through one station of each kind. Whatever is killed meanwhile, it must come out exactly once, with the
mark of each:

    numbers   message station: it gets its square
    squared   frame station, row by row: it gets its name
    named     frame station, whole, with a shuffle: those with the same rest go on together

    python -m tests.crash.on_spark URL '{"prefix": "…"}' SECONDS_PER_NUMBER
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import duerow
from duerow import Frame, Message, Pipeline, Relay, spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GATHERED = "gathered"
STATIONS = ("numbers", "squared", "named")
LEASE = timedelta(seconds=5)
AT_ONCE = duerow.fixed(timedelta(0))
GROUPS = 7
TRIES = 50


def pipeline(batch: int = 1_000, pause: float = 0.0, lease: timedelta = LEASE) -> Pipeline:
    """Make the pipeline.

    Args:
        batch: messages of a frame at most.
        pause: seconds that the message station takes for a number.
        lease: how long messages and batches are lent.
    """

    def square(message: Message) -> Any:
        time.sleep(pause)
        return {"n": message.payload, "square": message.payload**2}

    def name(numbers: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        return numbers.withColumn("name", F.format_string("no. %d", "n"))

    def gather(numbers: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        rest = (F.col("n") % GROUPS).alias("rest")
        return numbers.groupBy(rest).agg(F.collect_list(F.struct("n", "square", "name")).alias("numbers"))

    terms: Any = {"lease": lease, "retry": AT_ONCE}
    return Pipeline(
        "killed",
        [
            Relay("numbers", square, to="squared", **terms),
            Frame("squared", name, "named", rowwise=True, schema="n long, square long", batch=batch, **terms),
            Frame("named", gather, GATHERED, schema="n long, square long, name string", batch=batch, **terms),
        ],
        outputs=[GATHERED],
    )


def check(database: duerow.Database, total: int) -> str:
    """Each number from 0 to the total has come out once, with every mark, and nothing is left; return that in words."""
    assert database.queues() == [GATHERED], {name: database.queue(name).stats(exact=True) for name in STATIONS}
    batches = [message.payload for message in database.queue(GATHERED).find(limit=1_000_000)]
    found = [(batch["rest"], one) for batch in batches for one in batch["numbers"]]
    times = Counter(one["n"] for _, one in found)
    lost, doubled = set(range(total)) - times.keys(), {n: count for n, count in times.items() if count > 1}
    assert not lost, f"{len(lost)} of {total} were lost, such as {sorted(lost)[:10]}"
    assert not doubled, f"{len(doubled)} of {total} came twice, such as {dict(sorted(doubled.items())[:10])}"
    whole = [(n % GROUPS, {"n": n, "square": n**2, "name": f"no. {n}"}) for n in range(total)]
    assert sorted(found, key=lambda one: one[1]["n"]) == whole
    leased = sum(database.queue(name).stats(exact=True).leased for name in (*STATIONS, GATHERED))
    assert leased == 0
    return f"{total:,} numbers, {len(times):,} distinct, {leased} leased, 0 without a mark"


def main(url: str, settings: dict[str, Any], pause: float) -> None:
    """Run the pipeline until nothing is left."""
    tries = f"local[2,{TRIES}]"  # more than a task is killed: it is to be seen what becomes of messages, not of a run
    session = spark.session(app="duerow to be killed", cores=2, spark__master=tries)
    spark.run(pipeline(pause=pause), url, session, until="empty", **settings)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]), float(sys.argv[3]))
