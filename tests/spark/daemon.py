"""Spark's process that forks those of Python for its tasks, with what they import loaded: each begins a second sooner.

A process that died or raised an error is not used again, so tests of failures need many.
"""

if __name__ == "__main__":  # and not in the processes that tasks spawn to call functions, which import this module
    import pandas  # noqa: F401 - Spark's
    import psycopg  # noqa: F401
    import pyarrow  # noqa: F401
    import pymysql  # noqa: F401
    import pyspark.worker  # noqa: F401
    from pyspark import daemon

    import duerow.spark.sink
    import duerow.spark.source
    import duerow.spark.streams
    import duerow.spark.task  # noqa: F401
    from duerow.store.backends import backend_named

    for scheme in ("sqlite", "postgresql", "mysql"):
        backend_named(scheme)
    daemon.manager()
