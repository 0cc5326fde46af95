"""An idle worker sleeps, and is there when something is due."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from duerow import Message, Retry
from duerow.testing.worker_harness import Workshop, eventually
from duerow.worker import maintenance

NEVER = timedelta(hours=1)


@pytest.fixture(autouse=True)
def no_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Already the first sleep lasts an hour, so a test ends only if something other than polling woke the worker."""
    monkeypatch.setattr("duerow.worker.prefetch.FIRST_POLL", NEVER.total_seconds())


@pytest.mark.parametrize("terms", [{"batch": 1}, {"batch": 10}, {"batch": 1, "concurrency": 3}])
def test_a_push_wakes_it(shop: Workshop, terms: dict[str, int]) -> None:
    seen: list[int] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    running = shop.start(handle, poll=NEVER, **terms)
    for number in range(20):
        shop.queue.push(number)
        eventually(lambda number=number: seen[-1:] == [number])
    running.stop()
    running.join()
    assert seen == list(range(20))


@pytest.mark.parametrize("batch", [1, 10])
def test_it_keeps_no_more_threads_or_tasks_than_an_operator_allows(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(maintenance, "PRESENT", 0.0)
    monkeypatch.setattr(maintenance, "LOOK", 0.05)
    seen: list[str] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    running: Any = shop.start(handle, poll=NEVER, concurrency=1, batch=batch)
    for wanted in (4, 1):
        shop.queue.limit(concurrency=wanted)
        eventually(lambda wanted=wanted: running.worker._run and len(running.worker._run.slots) == wanted)
    shop.queue.push("after")
    eventually(lambda: seen == ["after"])
    running.stop()
    running.join()


@pytest.mark.parametrize("batch", [1, 10])
def test_it_wakes_when_a_delayed_message_falls_due(shop: Workshop, batch: int) -> None:
    shop.queue.push("later", delay=timedelta(milliseconds=50))
    seen: list[str] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    shop.work(handle, "empty", poll=NEVER, batch=batch)
    assert seen == ["later"]


@pytest.mark.parametrize("batch", [1, 10])
def test_it_wakes_for_its_own_retries(shop: Workshop, batch: int) -> None:
    shop.queue.push("hello")
    tries: list[int] = []

    async def handle(message: Message) -> None:
        tries.append(message.attempts)
        if len(tries) < 4:
            raise Retry(after=timedelta(milliseconds=10 * (len(tries) - 1)))

    shop.work(handle, "empty", poll=NEVER, batch=batch)
    assert tries == [1, 2, 3, 4]


def test_it_wakes_when_another_consumers_lease_ends(shop: Workshop) -> None:
    shop.queue.push("hello")
    taken = shop.queue.reserve(lease=timedelta(milliseconds=50))
    seen: list[int] = []

    async def handle(message: Message) -> None:
        seen.append(message.attempts)

    assert taken is not None
    shop.work(handle, "empty", poll=NEVER)
    assert seen == [2]


@pytest.mark.parametrize("batch", [1, 10])
def test_it_wakes_when_it_is_stopped(shop: Workshop, batch: int) -> None:
    async def handle(message: Message) -> None:
        raise AssertionError("there is nothing to handle")

    running = shop.start(handle, poll=NEVER, batch=batch, concurrency=3)
    running.stop()
    running.join()
