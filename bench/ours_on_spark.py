"""duerow's side of the measurements on Spark, through its public names only."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import duerow
from bench.messages import PAYLOAD_COLUMNS, QUEUE, payload
from bench.processes import Prepared
from duerow import Draft, Message


@contextmanager
def spark_session(cores: int, jar: Path | None = None) -> Iterator[Any]:
    """A local Spark session with as many tasks at a time as there are cores, and a jar that Spark itself is to use."""
    from duerow.spark.session import session

    settings = {} if jar is None else {"spark__driver__extraClassPath": str(jar)}
    started = session("duerow bench", cores, **settings)
    try:
        yield started
    finally:
        started.stop()
        _end_java()


def _end_java() -> None:
    """End the Java that the session ran in, so that the next one may have another jar."""
    from pyspark import SparkContext

    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


def run_station(url: str, session: Any, output: str) -> None:
    """Run a pipeline of one relay, from the benchmark's queue to the output, until the queue is empty."""
    from duerow.spark import run

    pipeline = duerow.Pipeline("bench", [duerow.Relay(QUEUE, _hand_on, to=output)], outputs=[output])
    run(pipeline, url, spark=session, until="idle")


def run_alone(url: str, output: str) -> Prepared[None]:
    """Run the same pipeline in this process, without Spark."""
    database = duerow.connect(url)
    pipeline = duerow.Pipeline("bench", [duerow.Relay(QUEUE, _hand_on, to=output)], outputs=[output])
    return lambda: pipeline.run(database, until="idle")


STEPS = ["first", "second", "third"]
"""The stations that a message goes through one after the other."""

BUSY_SECONDS = 0.05
"""How long the function of the other station takes for a message."""


def wait_through_stations(url: str, session: Any, count: int, beside: int, frame: bool = False) -> list[float]:
    """Run three stations for ever, push a message each second, and return how many milliseconds each took to the end.

    Args:
        url: the database.
        session: Spark's.
        count: how many messages.
        beside: how many others wait meanwhile in a station whose function is slow; more come when they are done.
        frame: whether the second station is one for frames.
    """
    from duerow.spark import run

    first, second, third = STEPS
    between = duerow.Frame(second, _same_frame, to=third, rowwise=True, schema="pushed double, n long")
    relays = [duerow.Relay(first, _hand_on, to=second), between if frame else duerow.Relay(second, _hand_on, to=third)]
    stations = [*relays, duerow.Relay(STEPS[-1], _mark_time, to="end"), duerow.Relay("other", _be_slow, to="rest")]
    pipeline = duerow.Pipeline("steps", stations, outputs=["end", "rest"])
    stop = threading.Event()
    with duerow.connect(url) as db, ThreadPoolExecutor(1) as thread:
        running = thread.submit(run, pipeline, url, spark=session, until=None, stop=stop)
        try:
            _pushed_and_through(db, -1, running)  # the first one warms all up
            for number in range(count):
                if beside and db.queue("other").count() < beside // 2:
                    db.queue("other").push_many([Draft(payload(n)) for n in range(beside)])
                db.queue(STEPS[0]).push({"pushed": time.time(), "n": number})
                time.sleep(1)
            _wait_for(db, count + 1, running)
        finally:
            stop.set()
        running.result()
        ended = [message.payload for message in db.queue("end").find(limit=count + 1)]
    return [(one["ended"] - one["pushed"]) * 1e3 for one in ended if one["n"] >= 0]


def run_stations_for_nothing(url: str) -> Prepared[None]:
    """Run three stations on Spark, with empty queues, until SIGTERM ends the run."""
    from duerow.spark import run, session

    relays = [duerow.Relay(one, _hand_on, to=next) for one, next in pairwise([*STEPS, "end"])]
    pipeline, stop = duerow.Pipeline("steps", relays, outputs=["end"]), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())

    started = session(app="duerow bench", cores=2)
    with duerow.connect(url) as db:
        db.queue(STEPS[0]).push(payload(0))
    run(pipeline, url, spark=started)  # so that all is warm

    def work() -> None:
        run(pipeline, url, spark=started, until=None, stop=stop)
        started.stop()

    return work


def _pushed_and_through(db: duerow.Database, number: int, running: Future[Any]) -> None:
    db.queue(STEPS[0]).push({"pushed": time.time(), "n": number})
    _wait_for(db, 1, running)


def _wait_for(db: duerow.Database, count: int, running: Future[Any]) -> None:
    """Wait until so many messages came to the end; raise the run's error, or TimeoutError after two minutes."""
    until = time.monotonic() + 120
    while db.queue("end").count() < count:
        if running.done():
            running.result()
        if time.monotonic() > until:
            raise TimeoutError(f"{db.queue('end').count()} messages of {count} came to the end within two minutes")
        time.sleep(0.1)


def _mark_time(message: Message) -> Any:
    return {**message.payload, "ended": time.time()}


def _be_slow(message: Message) -> Any:
    time.sleep(BUSY_SECONDS)
    return message.payload


def run_frame(url: str, session: Any, output: str, rowwise: bool) -> None:
    """Run a pipeline of one frame station, which hands the columns of each payload on, until the queue is empty."""
    from duerow.spark import run

    station = duerow.Frame(QUEUE, _same_frame, output, rowwise=rowwise, schema=PAYLOAD_COLUMNS)
    run(duerow.Pipeline("bench", [station], outputs=[output]), url, spark=session, until="idle")


def _same_frame(frame: Any) -> Any:
    return frame


def _hand_on(message: Message) -> Any:
    return message.payload
