"""The async face: the same names as `duerow`, with `await`, `async with` and an async worker."""

from duerow.aio.copy import copy
from duerow.aio.database import Database, connect
from duerow.aio.queue import Queue
from duerow.aio.reservation import Reservation
from duerow.aio.task import Task
from duerow.aio.task_handle import TaskHandle
from duerow.aio.tasks import TaskBatch, Tasks
from duerow.aio.worker import Worker

__all__ = ["Database", "Queue", "Reservation", "Task", "TaskBatch", "TaskHandle", "Tasks", "Worker", "connect", "copy"]
