"""Spark's process that forks those of Python for its tasks, with what they import loaded: each begins a second sooner.

A process that died or raised an error is not used again, so tests of failures need many.
"""

import sys

# Spark's archives are on the path of its processes. Each of them would read their lists of files 18 times, and
# compile PySpark from one of them, though it is installed.
for place in [place for place in (*sys.path, *sys.path_importer_cache) if place.endswith((".zip", ".jar"))]:
    sys.path_importer_cache.pop(place, None)
    if place in sys.path:
        sys.path.remove(place)

from pyspark import daemon  # noqa: E402 - not from the archive

if sys.argv[1:] != ["pyspark.sql.worker.lookup_data_sources"]:  # which needs nothing
    import pandas  # noqa: F401 - Spark's
    import psycopg  # noqa: F401
    import pyarrow  # noqa: F401
    import pymysql  # noqa: F401
    import pyspark.worker  # noqa: F401

    import duerow.spark.sink
    import duerow.spark.source
    import duerow.spark.streams
    import duerow.spark.task  # noqa: F401
    from duerow.store.backends import backend_named

    for scheme in ("sqlite", "postgresql", "mysql"):
        backend_named(scheme)

if __name__ == "__main__":
    daemon.manager()
