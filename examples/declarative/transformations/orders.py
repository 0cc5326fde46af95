"""Route orders from one queue to two others, and show the orders that are waiting for approval as a table."""

import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

URL = os.environ["DUEROW_URL"]

spark = SparkSession.active()

dp.create_sink("routed", "duerow", {"url": URL})


@dp.append_flow(target="routed")
def route() -> DataFrame:
    """Reserve orders, and move each one to the queue `approve` or `ship`."""
    orders = spark.readStream.format("duerow").option("url", URL).option("queue", "orders").load()
    dear = "double(get_json_object(payload, '$.price')) > 100"
    return orders.selectExpr("*", f"IF({dear}, 'approve', 'ship') AS to")


@dp.materialized_view
def approved() -> DataFrame:
    """Read the orders that are waiting for approval, without reserving them."""
    waiting = spark.read.format("duerow").option("url", URL).option("queue", "approve").load()
    return waiting.selectExpr("id", "get_json_object(payload, '$.item') AS item", "created_at")
