"""A worker that may only begin so many messages in a span still handles all of them, and can be stopped meanwhile."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

import duerow
from duerow import Draft, Message
from duerow.errors import DuerowError
from duerow.sync.worker import Worker
from tests.workers.workshop import Workshop, eventually


@pytest.mark.parametrize("terms", [{"batch": 1}, {"batch": 10, "concurrency": 3}, {"batch": 5, "whole_batch": True}])
def test_every_message_is_handled_once(shop: Workshop, terms: dict[str, Any]) -> None:
    shop.queue.push_many([Draft(number) for number in range(20)])
    seen: list[int] = []

    async def handle(subject: Any) -> None:
        seen.extend(one.payload for one in (subject if isinstance(subject, list) else [subject]))

    shop.work(handle, rate=(5, timedelta(milliseconds=50)), **terms)
    assert Counter(seen) == Counter(range(20))
    assert shop.queue.count() == 0


def test_what_may_not_be_begun_stays_where_others_can_have_it(shop: Workshop) -> None:
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


@pytest.mark.parametrize("rate", [5, (5,), (0, timedelta(1)), (1.5, timedelta(1)), (5, 60), (5, timedelta(0)), "5/s"])
def test_what_is_no_rate_is_refused_when_the_worker_is_made(rate: Any) -> None:
    queue = duerow.connect("memory://").queue("mail")
    with pytest.raises(DuerowError, match="rate"):
        Worker(queue, print, rate=rate)
