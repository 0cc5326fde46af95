"""What cannot be is told by an error of duerow's own, before anything changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import duerow
from duerow import Draft, DuerowError, Queue, Reservation

Call = Callable[[Queue, Reservation], Any]

CALLS: dict[str, Call] = {
    "an integer of a thousand bits": lambda queue, lent: queue.push(10**400),
    "a burial without words": lambda queue, lent: queue.bury(lent, 7),  # type: ignore[arg-type]
    "an error that is none": lambda queue, lent: queue.rollback(lent, error=7),  # type: ignore[arg-type]
    "a commit of nothing": lambda queue, lent: queue.commit(None),  # type: ignore[arg-type]
    "headers that are a number": lambda queue, lent: queue.move(lent, "there", headers=7),  # type: ignore[arg-type]
    "one draft instead of a list": lambda queue, lent: queue.commit(lent, then=Draft(1, queue="there")),  # type: ignore[arg-type]
    "a count by a field": lambda queue, lent: queue.count(by="colour"),  # type: ignore[call-overload]
    "a count of a status": lambda queue, lent: queue.count("lost"),  # type: ignore[call-overload]
    "a status to find": lambda queue, lent: queue.find(status="lost"),  # type: ignore[arg-type]
    "a timeout in seconds": lambda queue, lent: queue.pop(timeout=5),  # type: ignore[arg-type]
}


@pytest.fixture
def queue() -> Iterator[Queue]:
    with duerow.connect("memory://") as database:
        yield database.queue("mail", retry=lambda attempt, started_at, error: 3)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_bad_input_is_told_and_changes_nothing(queue: Queue, call: Call) -> None:
    queue.push("one")
    lent = queue.reserve()
    assert lent is not None
    queue.push("two")
    before = queue.find()
    with pytest.raises(DuerowError, match=r"\w+ \w+"):
        call(queue, lent)
    assert queue.find() == before
    queue.commit(lent)


def test_a_retry_policy_that_gives_no_timedelta_is_told_and_changes_nothing(queue: Queue) -> None:
    queue.push("one")
    lent = queue.reserve()
    assert lent is not None
    with pytest.raises(duerow.errors.ConfigurationError, match="a retry policy gives a timedelta or None, not 3"):
        queue.rollback(lent, error="no")
    queue.commit(lent)
