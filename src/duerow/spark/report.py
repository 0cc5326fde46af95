"""What has happened in a pipeline, as counted by the database, because the counts of Spark's tasks may be too low."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from duerow.pipeline import Pipeline
from duerow.queue.stats import Stats
from duerow.spark.consumer import Tally
from duerow.store import Totals
from duerow.sync.database import Database


class Line(msgspec.Struct, frozen=True):
    """A queue of a pipeline.

    Attributes:
        queue: its name.
        station: relay, switch, fork, split, join, frame or sink; "output" if no station reads it.
        ended: how many turns have ended since the report was created, in all processes.
        left: how many messages it has that are not dead.
        leased: how many of these are leased.
        dead: how many dead messages it has.
        observed: the values of a frame station's `observe` for its last batch, by name.
    """

    queue: str
    station: str
    ended: Totals
    left: int
    leased: int
    dead: int
    observed: dict[str, Any] = {}


class Report:
    """Compares the queues of a pipeline with their state when this object was created.

    Args:
        pipeline: the pipeline.
        database: the database of its queues.
    """

    def __init__(self, pipeline: Pipeline, database: Database) -> None:
        self._database = database
        self._kinds = {name: node.kind for node in pipeline.graph.stations for name in node.queues}
        self._kinds |= dict.fromkeys(pipeline.outputs, "output")
        self._before = {queue: self._stats(queue).lifetime for queue in self._kinds}

    def lines(self, tallies: Mapping[str, Tally] | None = None) -> list[Line]:
        """Return a line for each queue, in the order of the stations.

        Args:
            tallies: the result of `run`, which contains the observed values of frame stations.
        """
        observed = {name: tally.observed for name, tally in (tallies or {}).items()}
        return [
            self._line(queue, kind, self._stats(queue), observed.get(queue, {})) for queue, kind in self._kinds.items()
        ]

    def _stats(self, queue: str) -> Stats:
        return self._database.queue(queue).stats(exact=True)

    def _line(self, queue: str, kind: str, now: Stats, observed: dict[str, Any]) -> Line:
        before = self._before[queue]
        ended = Totals(*(getattr(now.lifetime, name) - getattr(before, name) for name in Totals.__struct_fields__))
        left = now.ready + now.delayed + now.leased + now.waiting + now.stopped
        return Line(queue, kind, ended, left, now.leased, now.dead, observed)
