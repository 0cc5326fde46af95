"""Message queues kept as rows in the database that an application already has."""

from duerow import errors
from duerow.errors import DuerowError, DuplicateKey, LeaseLost, MessageLeased, StoreUnavailable, TimedOut
from duerow.message import Draft, Failure, Message, Pushed
from duerow.pipeline import Drop, Fork, Frame, Graph, Join, Pipeline, Relay, Sink, Split, Switch
from duerow.reservation import Receipt
from duerow.retry import RetryPolicy, bury, by_error, exponential, fixed, limited, on, snooze
from duerow.schedule import Maintained, Schedule
from duerow.settlement import Bury, Commit, Move, Release, Retry, Rollback
from duerow.sync.copying import copy
from duerow.sync.database import Database, connect
from duerow.sync.queue import Queue, Reservation
from duerow.sync.worker import Worker
from duerow.working.attempt import Attempt, current

# In the order in which a reader meets them.
__all__ = [  # noqa: RUF022 - the order of the tutorial, not of the alphabet
    "connect",
    "Database",
    "Queue",
    "Draft",
    "Pushed",
    "Message",
    "Failure",
    "Reservation",
    "Receipt",
    "Worker",
    "Retry",
    "Bury",
    "Commit",
    "Rollback",
    "Release",
    "Move",
    "Attempt",
    "current",
    "RetryPolicy",
    "fixed",
    "exponential",
    "limited",
    "by_error",
    "on",
    "bury",
    "snooze",
    "Schedule",
    "Maintained",
    "copy",
    "Pipeline",
    "Relay",
    "Switch",
    "Fork",
    "Split",
    "Join",
    "Frame",
    "Sink",
    "Drop",
    "Graph",
    "DuerowError",
    "DuplicateKey",
    "LeaseLost",
    "MessageLeased",
    "StoreUnavailable",
    "TimedOut",
    "errors",
]
