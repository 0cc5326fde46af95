"""Spark's process that forks those of Python for its tasks, with what they import loaded: each begins a second sooner.

A process that died or raised an error is not used again, so tests of failures need many.
"""

if __name__ == "__main__":  # and not in the processes that tasks spawn to call functions, which import this module
    import gc

    import pandas  # noqa: F401 - Spark's
    import psycopg  # noqa: F401
    import pyarrow.pandas_compat
    import pyarrow.parquet  # noqa: F401
    import pymongo  # noqa: F401
    import pymysql  # noqa: F401
    import pyspark.worker  # noqa: F401
    from pyspark import daemon

    import duerow.spark.frames
    import duerow.spark.sink
    import duerow.spark.source
    import duerow.spark.streams
    import duerow.spark.tables.write
    import duerow.spark.task
    import duerow.spark.write  # noqa: F401
    import pyspark_duerow  # noqa: F401
    from duerow.store.backends import backend_named

    for scheme in ("sqlite", "postgresql", "mysql", "mongodb"):
        backend_named(scheme)

    look_for_garbage = gc.collect

    def collect() -> int:
        """Look for garbage, and never again among what is found to be in use.

        Spark does so after each task, among all that is loaded, which takes longer than most tasks.
        """
        found = look_for_garbage()
        gc.freeze()
        return found

    gc.collect = collect  # type: ignore[assignment]
    gc.collect()
    daemon.manager()
