"""A worker that cannot work as it is told says so when it is made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

import duerow
from duerow import Message, Move, aio
from duerow.aio.worker import Worker as AsyncWorker
from duerow.errors import ConfigurationError, DuerowError
from duerow.sync.worker import Worker
from tests.workers import jobs


@pytest.mark.parametrize(
    ("terms", "name"),
    [
        ({"batch": 0}, "batch"),
        ({"batch": "many"}, "batch"),
        ({"batch": True}, "batch"),
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": 1.5}, "concurrency"),
        ({"lease": timedelta(0)}, "lease"),
        ({"lease": 60}, "lease"),
        ({"heartbeat": timedelta(0)}, "heartbeat"),
        ({"heartbeat": 1}, "heartbeat"),
        ({"heartbeat": timedelta(seconds=20, microseconds=1)}, "a third of the lease"),
        ({"heartbeat": timedelta(seconds=2), "lease": timedelta(seconds=5)}, "a third of the lease"),
        ({"timeout": timedelta(0)}, "timeout"),
        ({"timeout": 5}, "timeout"),
        ({"poll": timedelta(0)}, "poll"),
        ({"grace": timedelta(seconds=-1)}, "grace"),
        ({"retry": "soon"}, "policy"),
        ({"name": ""}, "name"),
        ({"name": "a\nb"}, "name"),
    ],
)
def test_a_setting_out_of_bounds_is_named(terms: dict[str, Any], name: str) -> None:
    queue = duerow.connect("memory://").queue("mail")
    with pytest.raises(DuerowError, match=name):
        Worker(queue, print, **terms)


def test_each_worker_takes_queues_of_its_own_face() -> None:
    blocking = duerow.connect("memory://").queue("mail")
    awaited = asyncio.run(aio.connect("memory://")).queue("mail")
    with pytest.raises(DuerowError, match=r"duerow\.aio\.Worker"):
        Worker(awaited, print)  # type: ignore[arg-type]
    with pytest.raises(DuerowError, match=r"duerow\.Worker"):
        AsyncWorker(blocking, print)  # type: ignore[arg-type]


def generate(message: Message) -> Iterator[Move]:
    yield Move("next")


class Generating:
    async def __call__(self, message: Message) -> AsyncIterator[Move]:
        yield Move("next")


def test_a_function_of_which_a_call_runs_nothing_is_refused() -> None:
    blocking = duerow.connect("memory://").queue("mail")
    awaited = asyncio.run(aio.connect("memory://")).queue("mail")
    workers: list[Callable[..., Any]] = [partial(Worker, blocking), partial(AsyncWorker, awaited)]
    for worker in workers:
        for handler in (generate, Generating(), partial(generate)):
            with pytest.raises(ConfigurationError, match="is a generator function, so calling it runs nothing"):
                worker(handler)
        with pytest.raises(ConfigurationError, match=r"the middleware .* is a generator function"):
            worker(print, middleware=[lambda message, call_next: (yield call_next(message))])


def test_what_a_handler_gave_without_running_is_not_called_done() -> None:
    queue = duerow.connect("memory://").queue("mail")
    queue.push("hello")
    for processes in (None, 1):
        Worker(queue, jobs.unrun, processes=processes, retry=duerow.fixed(timedelta(minutes=1))).run("idle")
        (message,) = queue.find()
        assert message.last_error is not None
        assert "returned a generator, so none of it has run" in message.last_error.message
        queue.requeue(message.id)


def test_a_handler_must_be_callable() -> None:
    queue = duerow.connect("memory://").queue("mail")
    with pytest.raises(DuerowError, match="handler"):
        Worker(queue, "send")  # type: ignore[arg-type]
