"""A message that a worker may not yet start, or does not finish in time, is not lost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from duerow import Draft, Message, fixed, limited
from duerow.testing.worker_harness import Gate, Workshop, eventually
from duerow.worker import maintenance

TIMEOUT = timedelta(milliseconds=50)
ONCE = limited(1, fixed(timedelta(0)))


def test_what_the_rate_of_a_worker_holds_back_stays_where_others_can_have_it(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number) for number in range(10)])
    seen: list[int] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    running = shop.start(handle, rate=(3, timedelta(hours=1)))
    eventually(lambda: shop.queue.count() == 7)
    assert [one.payload for one in shop.queue.peek(10)] == list(range(3, 10))
    running.stop()
    running.join()
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("batch", [1, 10])
def test_a_worker_that_runs_follows_the_limits_that_an_operator_sets(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(maintenance, "SETTLED_IN", 0.0)
    shop.queue.limit(concurrency=2, rate=(5, timedelta(hours=1)))
    running, most, seen = 0, 0, 0

    async def handle(message: Message) -> None:
        nonlocal running, most, seen
        running, seen = running + 1, seen + 1
        most = max(most, running)
        running -= 1

    started: Any = shop.start(handle, concurrency=4, batch=batch)
    eventually(lambda: started.worker._run is not None and started.worker._run.limits.rate == 5)
    shop.queue.push_many([Draft(number) for number in range(12)])
    eventually(lambda: shop.queue.count() == 7)
    started.stop()
    started.join()
    assert seen == 5
    assert most <= 2


@pytest.mark.parametrize("batch", [1, 10])
def test_a_worker_that_runs_handles_more_at_once_if_an_operator_says_so(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(maintenance, "SETTLED_IN", 0.0)
    shop.queue.limit(concurrency=3)
    gate = Gate()
    running: set[int] = set()

    async def handle(message: Message) -> None:
        running.add(message.payload)
        await gate.passed()

    started: Any = shop.start(handle, concurrency=1, batch=batch)
    eventually(lambda: started.worker._run is not None and len(started.worker._run.slots) >= 3)
    shop.queue.push_many([Draft(number) for number in range(5)])
    eventually(lambda: len(running) == 3)
    gate.open()
    eventually(lambda: shop.queue.count() == 0)
    started.stop()
    started.join()


@pytest.mark.parametrize("batch", [1, 10])
def test_a_handler_that_takes_too_long_has_failed_and_others_go_on_in_its_place(shop: Workshop, batch: int) -> None:
    shop.queue.push_many([Draft("hangs"), Draft("works")])
    gate = Gate()
    seen: list[str] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)
        if message.payload == "hangs":
            await gate.passed()

    running = shop.start(handle, "empty", batch=batch, timeout=TIMEOUT, retry=ONCE)
    running.join()
    gate.open()
    assert seen == ["hangs", "works"]
    (message,) = shop.queue.find()
    assert (message.payload, message.status) == ("hangs", "dead")
    assert message.last_error is not None
    assert message.last_error.type == "TimedOut"
    assert str(TIMEOUT) in message.last_error.message
