"""The awaited face: the same names as `duerow`, with `await`, `async with` and an async worker."""

from duerow.aio.copy import copy
from duerow.aio.database import Database, connect
from duerow.aio.queue import Queue, Reservation
from duerow.aio.worker import Worker

__all__ = ["Database", "Queue", "Reservation", "Worker", "connect", "copy"]
