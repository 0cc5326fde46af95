"""Message queues kept as rows in the database that an application already has.

Names are imported when they are first used, so a process that only reads, such as a Spark task or a command, starts in
half the time.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duerow import errors
    from duerow.errors import DuerowError, DuplicateKey, LeaseLost, MessageLeased, StoreUnavailable, TimedOut
    from duerow.message import Draft, Failure, Message, Pushed
    from duerow.pipeline import (
        Drop,
        Elsewhere,
        Fork,
        Frame,
        Graph,
        Join,
        Pipeline,
        Relay,
        Sink,
        Split,
        Switch,
        TableSink,
        TableSource,
    )
    from duerow.queue.schedule import Maintained, Schedule
    from duerow.reservation import Receipt
    from duerow.retry import RetryPolicy, bury, by_error, exponential, fixed, limited, on, snooze
    from duerow.settlement import Bury, Commit, Move, Release, Retry, Rollback
    from duerow.sync.copy import copy
    from duerow.sync.database import Database, connect
    from duerow.sync.queue import Queue
    from duerow.sync.reservation import Reservation
    from duerow.sync.task import Task
    from duerow.sync.task_handle import TaskHandle
    from duerow.sync.tasks import TaskBatch, Tasks
    from duerow.sync.worker import Worker
    from duerow.tasks.batch import TaskOutcome
    from duerow.tasks.outcome import TaskState
    from duerow.worker.attempt import Attempt, current
    from duerow.worker.progress import Progress

    __version__: str

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
    "Progress",
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
    "Tasks",
    "Task",
    "TaskHandle",
    "TaskState",
    "TaskBatch",
    "TaskOutcome",
    "copy",
    "Pipeline",
    "Relay",
    "Switch",
    "Fork",
    "Split",
    "Join",
    "Frame",
    "Sink",
    "TableSink",
    "TableSource",
    "Drop",
    "Elsewhere",
    "Graph",
    "DuerowError",
    "DuplicateKey",
    "LeaseLost",
    "MessageLeased",
    "StoreUnavailable",
    "TimedOut",
    "errors",
]

_HOMES = {
    "errors": ("DuerowError", "DuplicateKey", "LeaseLost", "MessageLeased", "StoreUnavailable", "TimedOut"),
    "message": ("Draft", "Failure", "Message", "Pushed"),
    "pipeline": (
        "Drop",
        "Elsewhere",
        "Fork",
        "Frame",
        "Graph",
        "Join",
        "Pipeline",
        "Relay",
        "Sink",
        "Split",
        "Switch",
        "TableSink",
        "TableSource",
    ),
    "reservation": ("Receipt",),
    "retry": ("RetryPolicy", "bury", "by_error", "exponential", "fixed", "limited", "on", "snooze"),
    "queue.schedule": ("Maintained", "Schedule"),
    "settlement": ("Bury", "Commit", "Move", "Release", "Retry", "Rollback"),
    "sync.copy": ("copy",),
    "sync.database": ("Database", "connect"),
    "sync.queue": ("Queue",),
    "sync.reservation": ("Reservation",),
    "sync.task": ("Task",),
    "sync.task_handle": ("TaskHandle",),
    "sync.tasks": ("TaskBatch", "Tasks"),
    "sync.worker": ("Worker",),
    "tasks.batch": ("TaskOutcome",),
    "tasks.outcome": ("TaskState",),
    "worker.attempt": ("Attempt", "current"),
    "worker.progress": ("Progress",),
}
"""The module of each name, used at run time. Type checkers read the imports above instead; a test compares the two."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:  # otherwise every name would seem to exist

    def __getattr__(name: str) -> Any:
        """Import the object with this name, which may be a module."""
        found: Any
        if name == "__version__":
            found = import_module("importlib.metadata").version("duerow")
        elif home := _HOME_OF.get(name):
            found = getattr(import_module(f"{__name__}.{home}"), name)
        elif not name.startswith("_") and find_spec(f"{__name__}.{name}"):
            found = import_module(f"{__name__}.{name}")
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        """Return all names, imported or not."""
        return sorted({*globals(), *__all__})
