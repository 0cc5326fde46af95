"""Run the workers of a pipeline side by side, in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from duerow.message import Message
from duerow.pipeline import Pipeline, Station
from duerow.pipeline.host import PipelineRun
from duerow.settlement import Settlement
from duerow.sync.executor import Executor
from duerow.worker.run import Until
from duerow.worker.signals import LOOK


class Alarm:
    """Ends a sleep."""

    def __init__(self) -> None:
        self._rung: SimpleQueue[None] = SimpleQueue()

    def ring(self) -> None:
        """End this sleep or the next one; may be called from any thread or signal handler, so it takes no lock."""
        self._rung.put(None)

    def sleep(self, seconds: float) -> None:
        """Sleep for this many seconds, or until it rings."""
        with suppress(Empty):
            self._rung.get(timeout=seconds)


def work(workers: Iterable[PipelineRun], until: Until) -> None:
    """Run workers, each in its own thread so that this one receives signals; if one fails, stop the others."""
    each = list(workers)
    failures: list[BaseException] = []

    def stop() -> None:
        for worker in each:
            worker.stop()

    def run(worker: PipelineRun) -> None:
        try:
            worker.run(until)
        except BaseException as error:  # raised again in the thread that waits for this one
            failures.append(error)
            stop()

    threads = [threading.Thread(target=run, args=(worker,), daemon=True) for worker in each]
    for thread in threads:
        thread.start()
    try:
        _join(threads)
    except BaseException:
        stop()
        _join(threads)
        raise
    if failures:
        raise failures[0]


def _join(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        while thread.is_alive():
            thread.join(LOOK)


def handler_of(pipeline: Pipeline, station: Station, database: Executor) -> Callable[[Message], Any]:
    """Return the handler of a station."""

    def handle(message: Message) -> Settlement:
        return station.settlement(message, pipeline.max_hops, database.encryption)

    return handle
