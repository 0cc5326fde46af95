"""Message queues kept as rows in the database that an application already has."""

from duerow.message import Draft, Failure, Message, Pushed
from duerow.pipeline import Drop, Pipeline, Relay, Sink, Switch
from duerow.reservation import Receipt
from duerow.retry import RetryPolicy, exponential, fixed, limited
from duerow.settlement import Bury, Commit, Move, Release, Retry, Rollback
from duerow.sync.database import Database, connect
from duerow.sync.queue import Queue, Reservation
from duerow.sync.worker import Worker

__all__ = [
    "Bury",
    "Commit",
    "Database",
    "Draft",
    "Drop",
    "Failure",
    "Message",
    "Move",
    "Pipeline",
    "Pushed",
    "Queue",
    "Receipt",
    "Relay",
    "Release",
    "Reservation",
    "Retry",
    "RetryPolicy",
    "Rollback",
    "Sink",
    "Switch",
    "Worker",
    "connect",
    "exponential",
    "fixed",
    "limited",
]
