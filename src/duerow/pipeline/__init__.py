"""Pipelines: queues joined by small functions, on plain workers and on Spark.

Read the modules in this order: `stations` (how each message is handled), `join` (many messages into one), `frame`
(batches as data frames), `table` (reading and writing tables), `elsewhere` and `crossing` (queues in other databases),
`pipeline` (the pipeline itself, and its checks), `graph` (how a pipeline is drawn and stored).
"""

from duerow.pipeline.crossing import Crossing
from duerow.pipeline.elsewhere import Elsewhere
from duerow.pipeline.frame import Frame
from duerow.pipeline.graph import Graph, Node
from duerow.pipeline.join import Join
from duerow.pipeline.pipeline import Pipeline
from duerow.pipeline.stations import Drop, Fork, Relay, Sink, Split, Station, Switch
from duerow.pipeline.table import TableSink, TableSource

__all__ = [
    "Crossing",
    "Drop",
    "Elsewhere",
    "Fork",
    "Frame",
    "Graph",
    "Join",
    "Node",
    "Pipeline",
    "Relay",
    "Sink",
    "Split",
    "Station",
    "Switch",
    "TableSink",
    "TableSource",
]
