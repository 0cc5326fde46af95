"""A worker that may only begin so many messages in a span still handles all of them, and can be stopped meanwhile."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

import duerow
from duerow import Draft
from duerow.errors import DuerowError
from duerow.sync.worker import Worker
from duerow.testing.worker_harness import Workshop


@pytest.mark.parametrize("terms", [{"batch": 1}, {"batch": 10, "concurrency": 3}, {"batch": 5, "whole_batch": True}])
def test_every_message_is_handled_once(shop: Workshop, terms: dict[str, Any]) -> None:
    shop.queue.push_many([Draft(number) for number in range(20)])
    seen: list[int] = []

    async def handle(subject: Any) -> None:
        seen.extend(one.payload for one in (subject if isinstance(subject, list) else [subject]))

    shop.work(handle, rate=(5, timedelta(milliseconds=50)), **terms)
    assert Counter(seen) == Counter(range(20))
    assert shop.queue.count() == 0


@pytest.mark.parametrize("rate", [5, (5,), (0, timedelta(1)), (1.5, timedelta(1)), (5, 60), (5, timedelta(0)), "5/s"])
def test_what_is_no_rate_is_refused_when_the_worker_is_made(rate: Any) -> None:
    queue = duerow.connect("memory://").queue("mail")
    with pytest.raises(DuerowError, match="rate"):
        Worker(queue, print, rate=rate)
