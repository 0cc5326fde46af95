"""Messages for other databases, in a run on Spark: the driver sends them, because executors may not reach those."""

from __future__ import annotations

import threading

from duerow.pipeline import Crossing
from duerow.spark.consumer import Tally
from duerow.spark.jobs import TURN, Job, SparkRun
from duerow.sync.crossing import CrossingWorker


class CrossingJob(Job):
    """Rounds of a station in whose queue messages wait for another database.

    Args:
        run: what the stations share.
        station: the station.
    """

    needs_slots = False

    def __init__(self, run: SparkRun, station: Crossing) -> None:
        super().__init__(run, station)
        self._worker = CrossingWorker(station, run.database, run.pipeline.max_hops)
        self.queue = self._worker.queue
        self._worker.check()

    @property
    def held(self) -> bool:
        """Whether the other database did not answer recently."""
        return self._worker.pause > 0

    def round(self) -> None:
        """Send waiting messages for some seconds."""
        before = self._worker.sent
        timer = threading.Timer(TURN, self._worker.stop)
        timer.start()
        try:
            self._worker.run("idle", signals=False)
        finally:
            timer.cancel()
            sent = self._worker.sent - before
            self.count(Tally(claimed=sent, settled=sent))

    def close(self) -> None:
        """Close the other database if it was opened for this job."""
        self._worker.close()
