"""A pipeline for a cluster of Spark, the program that runs it there, and what must have come of it.

A number goes through a relay, which adds its square, and a switch. Even ones go on through a frame station with a
shuffle, which adds their name; then the numbers of each ten come together in a join.

    python -m tests.spark.on_cluster spark://127.0.0.1:7077 URL '{"prefix": "…"}' '{"spark.executor.memory": "512m"}'
"""

from __future__ import annotations

import json
import sys
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import duerow
from duerow import Frame, Join, Message, Pipeline, Relay, Switch, spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NUMBERS, ENDED = "numbers", "ended"
SET = 10
LEASE = timedelta(seconds=15)
TERMS: dict[str, Any] = {"lease": LEASE, "retry": duerow.fixed(timedelta(0))}


def pipeline(pause: float = 0.004) -> Pipeline:
    """Make the pipeline; its first station takes so many seconds for a number."""

    def square(message: Message) -> Any:
        time.sleep(pause)
        n = message.payload
        return {"n": n, "square": n**2, "of": n // SET, "name": ""}

    def name(numbers: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        named = numbers.withColumn("name", F.format_string("no. %d of %d", "n", F.count("*").over(_same(F))))
        return named.drop("_id")

    def gather(parts: list[Message]) -> Any:
        return {
            "of": parts[0].payload["of"],
            "numbers": sorted((one.payload for one in parts), key=lambda one: one["n"]),
        }

    return Pipeline(
        "clustered",
        [
            Relay(NUMBERS, square, to="sorted", **TERMS),
            Switch(
                "sorted",
                lambda message: ("odd" if message.payload["n"] % 2 else "even", message.payload),
                to={"even": "named", "odd": "sets"},
                **TERMS,
            ),
            Frame("named", name, "sets", schema="n long, square long, of long, name string", batch=500, **TERMS),
            Join("sets", gather, to=ENDED, by="payload.of", complete=lambda parts: len(parts) == SET, **TERMS),
        ],
        outputs=[ENDED],
    )


def _same(functions: Any) -> Any:
    """A window over each number by itself, so that the plan has a shuffle and its result is known."""
    from pyspark.sql import Window

    return Window.partitionBy(functions.col("n"))


def check(database: duerow.Database, total: int) -> str:
    """Each number below the total has come out once, in its set, with every mark, and nothing is left."""
    assert database.queues() == [ENDED], {name: database.queue(name).stats(exact=True) for name in database.queues()}
    sets = [message.payload for message in database.queue(ENDED).find(limit=1_000_000)]
    assert sorted(one["of"] for one in sets) == [*range(total // SET)]
    found = sorted((one for many in sets for one in many["numbers"]), key=lambda one: one["n"])
    assert found == [
        {"n": n, "square": n**2, "of": n // SET, "name": "" if n % 2 else f"no. {n} of 1"} for n in range(total)
    ]
    assert database.queue(ENDED).stats(exact=True).leased == 0
    return f"{total:,} numbers, all in their {len(sets):,} sets once, with every mark, 0 leased"


def main(master: str, url: str, settings: dict[str, Any], conf: dict[str, str]) -> None:
    """Run the pipeline until nothing is left."""
    session = spark.session(app="duerow on a cluster", cores=4, **{"spark.master": master, **conf})
    try:
        spark.run(pipeline(), url, session, **settings)
    finally:
        session.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4]))
