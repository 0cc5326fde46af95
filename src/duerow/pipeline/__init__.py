"""Pipelines: queues of one database joined by small functions, on plain workers and on Spark.

Read it in this order: `stations` (what becomes of a message), `join` (many messages to one), `frame` (batches as data
frames), `pipeline` (the whole, and how it is checked), `graph` (how it is drawn and kept).
"""

from duerow.pipeline.frame import Frame
from duerow.pipeline.graph import Graph, Node
from duerow.pipeline.join import Join
from duerow.pipeline.pipeline import Pipeline
from duerow.pipeline.stations import Drop, Fork, Relay, Sink, Split, Station, Switch

__all__ = [
    "Drop",
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
]
