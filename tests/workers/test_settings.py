"""A worker that cannot work as it is told says so when it is made."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

import duerow
from duerow import aio
from duerow.aio.worker import Worker as AsyncWorker
from duerow.errors import DuerowError
from duerow.sync.worker import Worker


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


def test_a_handler_must_be_callable() -> None:
    queue = duerow.connect("memory://").queue("mail")
    with pytest.raises(DuerowError, match="handler"):
        Worker(queue, "send")  # type: ignore[arg-type]
