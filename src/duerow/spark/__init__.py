"""Pipelines on Spark: exactly once from queue to queue, on any master.

Read it in this order: `runner` (the driver), `task` (what runs in the executors), `probe` (what they need),
`session` and `java` (a Spark for this machine).
"""

from duerow.spark.runner import run, step
from duerow.spark.session import session
from duerow.spark.task import Tally

__all__ = ["Tally", "run", "session", "step"]
