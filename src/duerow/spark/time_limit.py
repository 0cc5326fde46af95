"""A limit on how long Spark works on a batch."""

from __future__ import annotations

import threading
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING

from duerow.spark.labels import cancel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class TimeLimit:
    """Cancels Spark jobs that are still running when the time for a block is up.

    Args:
        spark: the session in which they run.
        tag: the tag of these jobs; see `duerow.spark.labels`.
        limit: how long they may take together; None: no limit.

    Attributes:
        passed: whether the limit passed before the block ended.
    """

    def __init__(self, spark: SparkSession, tag: str, limit: timedelta | None) -> None:
        self._spark, self._tag = spark, tag
        self.passed = False
        self._timer = None if limit is None else threading.Timer(limit.total_seconds(), self._cancel)

    def __enter__(self) -> TimeLimit:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _cancel(self) -> None:
        self.passed = True
        cancel(self._spark, self._tag)
