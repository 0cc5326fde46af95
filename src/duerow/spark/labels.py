"""Labels of Spark jobs: the description that Spark's pages show, and the tags by which jobs are cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

DESCRIPTION: Final = "spark.job.description"


def context_of(spark: SparkSession) -> SparkContext | None:
    """Return the Spark context of a session in this process; None for Spark Connect, which has no context."""
    try:
        return spark.sparkContext
    except Exception:  # its class depends on PySpark's version
        return None


@contextmanager
def labelled(spark: SparkSession, description: str, *tags: str) -> Iterator[None]:
    """Describe and tag the jobs that this thread starts in a block; on Spark Connect they get only the tags.

    Args:
        spark: the session in which they run.
        description: what Spark's pages call the jobs, their stages and their queries.
        tags: tags for `cancel`.
    """
    context = context_of(spark)
    add, remove = (spark.addTag, spark.removeTag) if context is None else (context.addJobTag, context.removeJobTag)
    before = None if context is None else context.getLocalProperty(DESCRIPTION)
    if context is not None:
        context.setLocalProperty(DESCRIPTION, description)
    for tag in tags:
        add(tag)
    try:
        yield
    finally:
        for tag in tags:
            remove(tag)
        if context is not None:
            context.setLocalProperty(DESCRIPTION, before)  # type: ignore[arg-type]


def cancel(spark: SparkSession, tag: str) -> None:
    """Cancel the jobs with a tag, no matter which thread started them."""
    context = context_of(spark)
    if context is None:
        spark.interruptTag(tag)
    else:  # the session keeps tags by thread: interruptTag would not find those of another thread
        context.cancelJobsWithTag(tag)
