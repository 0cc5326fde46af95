"""What both ways of running a pipeline on plain workers share: what is refused, and which stations have work."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from duerow.errors import NotSupported
from duerow.pipeline.frame import Frame
from duerow.pipeline.pipeline import Pipeline
from duerow.store import Capabilities
from duerow.worker.prefetch import Interval

LONGEST_SLEEP: Final = 1.0
"""Seconds between two looks at queues whose messages are all due later."""

NOW: Final = timedelta(0)
"""With so long a sleep nobody sleeps: what a store answers is relied on."""


def check_run(pipeline: Pipeline, capabilities: Capabilities) -> None:
    """Raise NotSupported unless the pipeline can run without Spark on a store that can do this."""
    if frames := [str(station) for station in pipeline.stations if isinstance(station, Frame)]:
        raise NotSupported(
            f"{pipeline}: {', '.join(frames)} works on data frames of Spark's; run the pipeline there: "
            "duerow.spark.run(pipeline, url)"
        )
    pipeline.check_store(capabilities)


def due_now(waits: Mapping[str, timedelta | None]) -> list[str]:
    """Return the queues that have something due, given how long until the next message of each is due."""
    return [queue for queue, wait in waits.items() if wait is not None and wait <= NOW]


def next_look(waits: Mapping[str, timedelta | None], until: str, interval: Interval) -> float | None:
    """Return for how many seconds to wait for what is due later; None when the run is at its end.

    Args:
        waits: how long until the next message of each queue is due.
        until: "idle" ends when nothing is due now, "empty" when nothing has a due time.
        interval: what the waits grow by.
    """
    later = [wait for wait in waits.values() if wait is not None]
    if until == "idle" or not later:
        return None
    return min(min(later).total_seconds(), interval.next(LONGEST_SLEEP))
