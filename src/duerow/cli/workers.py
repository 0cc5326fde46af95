"""How `duerow worker` turns an object of the user's program into workers, and runs them."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from duerow import aio
from duerow.aio.database import Database as AwaitedDatabase
from duerow.aio.queue import Queue as AwaitedQueue
from duerow.aio.stations import PipelineWorker as AwaitedPipelineWorker
from duerow.aio.tasks import Tasks as AwaitedTasks
from duerow.errors import ConfigurationError, shown
from duerow.queue.definition import differences, indexed_again
from duerow.queue.handler import TakesHandler
from duerow.sync.database import Database
from duerow.sync.queue import Queue
from duerow.sync.stations import PipelineWorker
from duerow.sync.tasks import Tasks
from duerow.sync.worker import Worker
from duerow.worker.run import Until
from duerow.worker.several_queues import Entities
from duerow.worker.signals import signals_of_thread, stopped_in_loop_by

AWAITED: Final = (aio.Worker, AwaitedPipelineWorker)
WORKERS: Final = (Worker, PipelineWorker, *AWAITED)
QUEUES: Final = (Queue, AwaitedQueue)
TASKS: Final = (Tasks, AwaitedTasks)


async def application(found: Any, name: str, options: Mapping[str, Any]) -> list[Any]:
    """Return the workers for an object of a program.

    Args:
        found: tasks, a worker, a queue or a database with handlers, a list of those, a function that returns any of
            these, or an object with a function `workers` that does.
        name: its name on the command line, for errors.
        options: options for the workers that are created here.

    Raises:
        ConfigurationError: it is none of these, it has no handler, or it is a worker and there are options.
    """
    if isinstance(found, list | tuple):
        return [worker for one in found for worker in await application(one, name, options)]
    if isinstance(found, WORKERS):
        if options:
            raise ConfigurationError(f"{name} is a worker and has its own options: leave out --{', --'.join(options)}")
        return [found]
    if isinstance(found, Database | AwaitedDatabase):
        queues = list(found.handled.values())
        if not queues:
            raise ConfigurationError(f"{name} is a database, and none of its queues has a handler: {_HANDLER}")
        return [_handled(queue, name, options) for queue in queues]
    if isinstance(found, TASKS):
        return [found.worker(**options)]
    if isinstance(found, QUEUES):
        return [_handled(found, name, options)]
    if isinstance(found, Entities):
        raise ConfigurationError(
            f"{name} is an EntityQueue: name a worker for it instead, made with Worker({name.partition(':')[2]}, …)"
        )
    if isinstance(found, TakesHandler):
        module = name.partition(":")[0]
        raise ConfigurationError(
            f"{name} is a queue that an application declares: name the object that it is declared on, as in duerow "
            f"worker {module}:queues"
        )
    if not isinstance(found, type) and callable(getattr(found, "workers", None)):  # such as StarletteQueues
        return await application(found.workers, f"{name}.workers", options)
    if callable(found) and not isinstance(found, type) and not _takes_something(found):
        made = found()
        return await application(await made if inspect.isawaitable(made) else made, f"what {name} returned", options)
    if callable(found) and not isinstance(found, type):
        raise ConfigurationError(f"{name} is a handler: name its queues too, as in duerow worker {name} mail")
    raise ConfigurationError(
        f"{name} is {shown(found)}; name a function and its queues, or tasks, a queue with a handler, a worker, a "
        "database whose queues have handlers, a list of those, or a function that returns one"
    )


def handle_of(module: str, queue: str) -> Any:
    """Return the program's own object for a queue, blocking or async; None: it has none at the top level of a module.

    Args:
        module: the module that has the handler; if it has no object for the queue, all loaded modules are searched.
        queue: the queue's name.

    Raises:
        ConfigurationError: there are several, and they differ.
    """
    handles = _handles(sys.modules[module], queue)
    if not handles:
        handles = [one for other in list(sys.modules.values()) for one in _handles(other, queue)]
    for other in handles[1:]:
        first = handles[0]
        unlike = [str(one) for one in differences(first.declared, other.declared)]
        if first.payload is not other.payload:
            unlike.append(f"payload: {first.payload!r}, {other.payload!r}")
        if unlike:
            raise ConfigurationError(
                f"the program defines queue {queue!r} more than once, and the definitions differ in "
                f"{'; '.join(unlike)}. Give the right one a handler and run duerow worker MODULE:QUEUE"
            )
    return handles[0] if handles else None


def _handles(module: Any, queue: str) -> list[Any]:
    """Return a module's top-level objects for a queue. Compares only types: other access may trigger a proxy."""
    named = list(getattr(module, "__dict__", {}).values())
    return [one for one in named if issubclass(type(one), QUEUES) and one.name == queue]


def like(handle: Any, database: Any, payload: type[Any] | None) -> Any:
    """Return a queue of this database with the settings of the program's own queue object, and `payload` if given."""
    return database.queue(
        handle.name,
        lease=handle.lease,
        retry=handle.retry,
        max_payload_bytes=handle.max_payload_bytes,
        dead_letter=handle.dead_letter,
        payload=handle.payload if payload is None else payload,
        upgrades=handle.upgrades if payload is None else None,
        indexed=indexed_again(handle.declared.indexed),
        history=None if handle.keeping is None else handle.keeping.history,
        remember_keys=None if handle.keeping is None else handle.keeping.keys,
    )


def worker_of(queue: Any, handler: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    """Return a worker for a queue, async if the queue is."""
    return (aio.Worker if isinstance(queue, AwaitedQueue) else Worker)(queue, handler, **options)


async def run_all(workers: Sequence[Any], until: Until) -> None:
    """Run workers until all have ended, blocking ones in threads. If one fails, stop the others and raise its error."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(len(workers), "duerow") as threads:
        running: list[asyncio.Future[None]] = [
            asyncio.ensure_future(worker.run(until, signals=False))
            if isinstance(worker, AWAITED)
            else loop.run_in_executor(threads, partial(worker.run, until, signals=False))
            for worker in workers
        ]
        with stopped_in_loop_by(signals_of_thread(None), partial(_stop, workers)):
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
            if any(one.exception() for one in done):
                _stop(workers)
            await asyncio.wait(running)
    for one in running:
        one.result()


def _stop(workers: Sequence[Any]) -> None:
    for worker in workers:
        worker.stop()


def _handled(queue: Any, name: str, options: Mapping[str, Any]) -> Any:
    if queue.handled_by is None:
        raise ConfigurationError(f"{name} is queue {queue.name!r}, which has no handler: {_HANDLER}")
    return worker_of(queue, queue.handled_by.function, {**queue.handled_by.options, **options})


def _takes_something(function: Callable[..., Any]) -> bool:
    """Return whether a function cannot be called without arguments."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    except ValueError:  # some functions written in C have no signature
        return False
    return False


_HANDLER: Final = (
    "put @QUEUE.handler above the function, or name the function and the queue: duerow worker MODULE:FUNCTION QUEUE"
)
