"""What a worker may not begin yet, or does not end in time, is not lost."""

from __future__ import annotations

from datetime import timedelta

import pytest

from duerow import Draft, Message, fixed, limited
from duerow.testing.workshop import Gate, Workshop, eventually

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
