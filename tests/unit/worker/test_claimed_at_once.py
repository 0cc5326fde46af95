"""How many messages a worker claims at once, and when its tasks make way for others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import duerow
import duerow.aio
from duerow.aio import worker_tasks
from duerow.errors import ConfigurationError
from duerow.worker.run import claimed_at_once


@pytest.mark.parametrize(
    ("batch", "concurrency", "whole_batch", "most"),
    [
        (None, 1, False, 100),
        (None, 300, False, 300),
        (None, 5_000, False, 1_000),
        (20, 300, False, 20),
        (5_000, 1, False, 5_000),
        (None, 300, True, 100),
    ],
)
def test_a_claim_takes_as_many_as_can_begin_at_once_and_at_least_100_unless_told_otherwise(
    batch: int | None, concurrency: int, whole_batch: bool, most: int
) -> None:
    assert claimed_at_once(batch, concurrency, whole_batch) == most


@pytest.mark.parametrize("concurrency", [0, "eight", True])
def test_a_concurrency_that_is_no_number_is_refused_by_both_workers(concurrency: Any) -> None:
    with duerow.connect("memory://") as db, pytest.raises(ConfigurationError, match="concurrency"):
        duerow.Worker(db.queue("mail"), lambda message: None, concurrency=concurrency)

    async def awaited() -> None:
        async def handle(message: duerow.Message) -> None: ...

        async with await duerow.aio.connect("memory://") as db:
            duerow.aio.Worker(db.queue("mail"), handle, concurrency=concurrency)

    with pytest.raises(ConfigurationError, match="concurrency"):
        asyncio.run(awaited())


def yields(monkeypatch: pytest.MonkeyPatch, handle: Callable[[duerow.Message], Any]) -> int:
    """Return how often the tasks of a worker made way for others, if every handler takes longer than they may."""
    seen: list[None] = []

    async def noted(self: worker_tasks.Handlers) -> None:
        seen.append(None)
        await asyncio.sleep(0)

    monkeypatch.setattr(worker_tasks.Handlers, "_yield_loop", noted)
    monkeypatch.setattr(worker_tasks, "YIELD_AFTER_S", -1.0)

    async def run() -> None:
        async with await duerow.aio.connect("memory://") as db:
            queue = db.queue("mail")
            await queue.push_many([duerow.Draft(number) for number in range(200)])
            await duerow.aio.Worker(queue, handle, concurrency=7).run(until="idle")
            assert await queue.count() == 0

    asyncio.run(run())
    return len(seen)


def test_tasks_whose_handlers_wait_make_way_for_nobody_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    async def handle(message: duerow.Message) -> None:
        await asyncio.sleep(0.0001)

    assert yields(monkeypatch, handle) == 0


def test_tasks_whose_handlers_never_wait_make_way_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def handle(message: duerow.Message) -> None: ...

    assert yields(monkeypatch, handle) > 0
