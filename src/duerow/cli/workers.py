"""What `duerow worker` works with: workers, and what they are made of."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, Literal

from duerow import aio
from duerow.aio.database import Database as AwaitedDatabase
from duerow.aio.queue import Queue as AwaitedQueue
from duerow.aio.stations import PipelineWorker as AwaitedPipelineWorker
from duerow.errors import ConfigurationError
from duerow.queue.definition import differences, indexed_again
from duerow.sync.database import Database
from duerow.sync.queue import Queue
from duerow.sync.stations import PipelineWorker
from duerow.sync.worker import Worker
from duerow.worker.several_queues import Entities
from duerow.worker.signals import signals_of_thread, stopped_in_loop_by

AWAITED: Final = (aio.Worker, AwaitedPipelineWorker)
WORKERS: Final = (Worker, PipelineWorker, *AWAITED)
QUEUES: Final = (Queue, AwaitedQueue)

Until = Literal["idle", "empty"] | None


async def application(found: Any, name: str, options: Mapping[str, Any]) -> list[Any]:
    """Return the workers that something of a program stands for.

    Args:
        found: a worker, a queue or a database with handlers, a list of those, or a function that returns one of them.
        name: how it was named, for errors.
        options: what workers are made with besides, if they are made here.

    Raises:
        ConfigurationError: it is none of these, has no handler, or is a worker already and options are given.
    """
    if isinstance(found, list | tuple):
        return [worker for one in found for worker in await application(one, name, options)]
    if isinstance(found, WORKERS):
        if options:
            raise ConfigurationError(
                f"{name} is a worker, made with options of its own: leave out --{', --'.join(options)}"
            )
        return [found]
    if isinstance(found, Database | AwaitedDatabase):
        queues = list(found.handled.values())
        if not queues:
            raise ConfigurationError(f"{name} is a database, none of whose queues has a handler: {_HANDLER}")
        return [_handled(queue, name, options) for queue in queues]
    if isinstance(found, QUEUES):
        return [_handled(found, name, options)]
    if isinstance(found, Entities):
        raise ConfigurationError(f"{name} is a queue of rows: name a worker of it, Worker({name.partition(':')[2]}, …)")
    if callable(found) and not isinstance(found, type) and not _takes_something(found):
        made = found()
        return await application(await made if inspect.isawaitable(made) else made, f"what {name} returned", options)
    if callable(found) and not isinstance(found, type):
        raise ConfigurationError(f"{name} is a handler: name the queues as well, such as duerow worker {name} mail")
    raise ConfigurationError(
        f"{name} is {found!r:.80}; name a function and its queues, or a queue with a handler, a worker, a database "
        "whose queues have handlers, a list of those, or a function that returns one"
    )


def handle_of(module: str, queue: str) -> Any:
    """Return the handle that a program has of a queue, whichever face it is of; None if none is to be seen.

    Args:
        module: the module that has the handler; if it has no handle at its top level, all that it has loaded are asked.
        queue: the queue's name.

    Raises:
        ConfigurationError: there are several that differ.
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
                f"the program has handles of the queue {queue!r} that differ in {'; '.join(unlike)}: give the one that "
                "is meant a handler and name it, duerow worker MODULE:QUEUE"
            )
    return handles[0] if handles else None


def _handles(module: Any, queue: str) -> list[Any]:
    """Return the handles of a queue at the top level of a module; types are compared, for proxies may act on a look."""
    named = list(getattr(module, "__dict__", {}).values())
    return [one for one in named if issubclass(type(one), QUEUES) and one.name == queue]


def like(handle: Any, database: Any, payload: type[Any] | None) -> Any:
    """Return a queue of this database on the terms of a handle, of whichever face; with a type of its own if given."""
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
    """Return a worker of a queue, of the queue's face."""
    return (aio.Worker if isinstance(queue, AwaitedQueue) else Worker)(queue, handler, **options)


async def run_all(workers: Sequence[Any], until: Until) -> None:
    """Run workers until all have ended, blocking ones in threads; if one fails, stop the others and raise its error."""
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
        raise ConfigurationError(f"{name} is the queue {queue.name!r}, which has no handler: {_HANDLER}")
    return worker_of(queue, queue.handled_by.function, {**queue.handled_by.options, **options})


def _takes_something(function: Callable[..., Any]) -> bool:
    """Return whether a function cannot be called without arguments."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    except ValueError:  # some of C have no signature
        return False
    return False


_HANDLER: Final = (
    "write @QUEUE.handler above the function, or name the function and the queue, duerow worker MODULE:FUNCTION QUEUE"
)
