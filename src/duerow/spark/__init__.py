"""Pipelines on Spark: exactly once from queue to queue, on any master.

Read it in this order: `runner` (the driver), `jobs` and `task` (message stations, there and in executors), `frames`,
`batch`, `reading`, `writing` and `schema` (frame stations), `probe` (what executors need), `report`, `progress` and
`command` (for people), `session` and `java` (a Spark for this machine).
"""

from duerow.spark.report import Line, Report
from duerow.spark.runner import run, step
from duerow.spark.schema import schema_of
from duerow.spark.session import session
from duerow.spark.task import Tally

__all__ = ["Line", "Report", "Tally", "run", "schema_of", "session", "step"]
