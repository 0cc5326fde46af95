"""A worker that is asked to stop leaves nothing half done and ends within a bounded time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from duerow import Draft, Message, current
from duerow.errors import TimedOut
from duerow.testing.worker_harness import Gate, Workshop
from duerow.worker.attempt import Attempt


@pytest.mark.parametrize("batch", [1, 50])
def test_what_a_stopped_worker_had_not_begun_is_as_it_was_and_the_rest_is_finished(shop: Workshop, batch: int) -> None:
    shop.queue.push_many([Draft(number) for number in range(50)])
    before = {one.id: (one.due_at, one.attempts, one.status) for one in shop.queue.find()}
    begun, gate = Gate(), Gate()
    seen: list[int] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)
        if message.payload == 5:
            begun.open()
            await gate.passed()

    running = shop.start(handle, batch=batch)
    begun.block()
    running.stop()
    gate.open()
    running.join()
    assert seen == [0, 1, 2, 3, 4, 5]
    left = shop.queue.find()
    assert [one.payload for one in left] == list(range(6, 50))
    assert {one.id: (one.due_at, one.attempts, one.status) for one in left}.items() <= before.items()
    assert [one.leased_by for one in left] == [None] * 44


@pytest.mark.parametrize("batch", [1, 50])
def test_what_outlasts_the_grace_of_a_stopped_worker_is_due_again_at_once(shop: Workshop, batch: int) -> None:
    shop.queue.push_many([Draft(number) for number in range(10)])
    begun, never = Gate(), Gate()
    attempts: list[Attempt | None] = []

    async def handle(message: Message) -> None:
        attempts.append(current())
        begun.open()
        await never.passed()

    running = shop.start(handle, batch=batch, grace=timedelta(milliseconds=20))
    begun.block()
    running.stop()
    running.join()
    assert attempts[0] is not None
    assert isinstance(attempts[0].error, TimedOut)
    first, *others = shop.queue.find()
    assert (first.status, first.attempts, first.leased_by) == ("error", 1, None)
    assert first.last_error is not None
    assert "grace" in first.last_error.message
    assert {(one.status, one.attempts, one.leased_by) for one in others} == {("new", 0, None)}
    again = shop.queue.reserve_many(10)
    assert sorted(one.message.payload for one in again) == list(range(10))
    never.open()
