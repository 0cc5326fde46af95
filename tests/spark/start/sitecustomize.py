"""Python reads this when it starts: PySpark then comes from its package, and not from an archive.

Spark puts its archives on the path of its processes. Each process would read their lists of files 18 times, and compile
PySpark, which takes three seconds, though it is installed.
"""

import gc
import os
import sys

for place in [place for place in (*sys.path, *sys.path_importer_cache) if place.endswith((".zip", ".jar"))]:
    if "pyspark" in place:
        sys.path_importer_cache.pop(place, None)
        if place in sys.path:
            sys.path.remove(place)

# Modules make many objects as they are loaded, none of which is garbage, but Python looks at them again and again.
gc.set_threshold(20_000)

# Otherwise numpy starts a thread for each core, which keeps looking for work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
