"""What the blocking and async runs of a pipeline share: what they refuse, and which stations have work."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from duerow.errors import NotSupported
from duerow.pipeline.pipeline import Pipeline
from duerow.store import Capabilities
from duerow.worker.prefetch import Interval

LONGEST_SLEEP: Final = 1.0
"""The maximum number of seconds between two checks of queues whose messages are all due later."""

NOW: Final = timedelta(0)
"""A sleep of zero: the caller does not sleep, and relies on the store's answer."""


def check_run(pipeline: Pipeline, capabilities: Capabilities) -> None:
    """Raise NotSupported unless the pipeline can run without Spark on a store with these capabilities."""
    if needing := [str(station) for station in pipeline.stations if station.needs_spark]:
        work = "work" if len(needing) > 1 else "works"
        raise NotSupported(
            f"{pipeline}: {', '.join(needing)} {work} only on Spark; run the pipeline there: "
            "duerow.spark.run(pipeline, url)"
        )
    pipeline.check_store(capabilities)


def due_now(waits: Mapping[str, timedelta | None]) -> list[str]:
    """Return the queues that have something due, given the time until each queue's next message is due."""
    return [queue for queue, wait in waits.items() if wait is not None and wait <= NOW]


def next_look(waits: Mapping[str, timedelta | None], until: str, interval: Interval) -> float | None:
    """Return how many seconds to wait for messages that are due later; None if the run has finished.

    Args:
        waits: how long until the next message of each queue is due.
        until: "idle" ends when nothing is due now, "empty" when nothing has a due time.
        interval: determines how the waits grow.
    """
    later = [wait for wait in waits.values() if wait is not None]
    if until == "idle" or not later:
        return None
    return min(min(later).total_seconds(), interval.next(LONGEST_SLEEP))
