"""Spark's process that forks those of Python for its tasks, with what they import loaded: each begins a second sooner.

A process that died or raised an error is not used again, so tests of failures need many.
"""

import sys

from pyspark import daemon

if sys.argv[1:] != ["pyspark.sql.worker.lookup_data_sources"]:  # which needs nothing
    import pandas  # noqa: F401 - Spark's
    import psycopg  # noqa: F401
    import pyarrow  # noqa: F401
    import pymysql  # noqa: F401

    import duerow.spark.sink
    import duerow.spark.source
    import duerow.spark.streams
    import duerow.spark.task
    import duerow.stores.sql  # noqa: F401

if __name__ == "__main__":
    daemon.manager()
