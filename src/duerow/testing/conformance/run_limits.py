"""Limits that an operator sets for the workers of a queue are kept until they are replaced."""

from __future__ import annotations

from typing import Any

import pytest

from duerow import Database, Queue
from duerow.errors import DuerowError
from duerow.queue.limits import RunLimits
from duerow.testing.clock import minutes, seconds


def test_limits_of_a_queue_are_set_read_replaced_and_taken_away(db: Database, queue: Queue, other: Queue) -> None:
    assert queue.limits() == RunLimits()
    queue.limit(concurrency=3, rate=(100, minutes(1)))
    other.limit(cluster_concurrency=2)
    assert db.queue("mail").limits() == RunLimits(3, None, 100, minutes(1))
    queue.limit(rate=(7, seconds(1)))
    assert queue.limits() == RunLimits(None, None, 7, seconds(1))
    assert other.limits() == RunLimits(None, 2)
    queue.limit()
    assert queue.limits() == RunLimits()
    queue.limit()
    assert db.known_queues() == []


@pytest.mark.parametrize(
    "wrong",
    [{"concurrency": 0}, {"concurrency": "3"}, {"cluster_concurrency": -1}, {"rate": 5}, {"rate": (0, minutes(1))}],
    ids=str,
)
def test_limits_that_cannot_be_are_refused_and_change_nothing(queue: Queue, wrong: dict[str, Any]) -> None:
    queue.limit(concurrency=3)
    with pytest.raises(DuerowError):
        queue.limit(**wrong)
    assert queue.limits() == RunLimits(3)
