"""Queries of Structured Streaming, run to their ends on a machine that may be busy."""

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming import DataStreamWriter

TOO_BUSY = "Python worker failed to connect back"
"""What Spark says if a Python process takes more than the ten seconds that Spark gives it to start."""


def finish(writing: DataStreamWriter) -> None:
    """Run a query until what is available now is over; if Spark ends it early, continue it, as users do."""
    while True:
        try:
            writing.start().awaitTermination()
        except StreamingQueryException as error:
            if TOO_BUSY not in str(error):
                raise
        else:
            return
