"""What cannot be is told by an error of duerow's own, before anything changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import duerow
from duerow import Commit, Draft, DuerowError, Queue, Reservation

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
    "a list of nothing to commit": lambda queue, lent: queue.commit_many([lent, None]),  # type: ignore[list-item]
    "text to commit": lambda queue, lent: queue.commit_many("ab"),  # type: ignore[arg-type]
    "one reservation instead of a list": lambda queue, lent: queue.commit_many(lent),  # type: ignore[arg-type]
    "nothing to bury": lambda queue, lent: queue.bury_many(None, "no use"),  # type: ignore[arg-type]
    "nothing to roll back": lambda queue, lent: queue.rollback_many(None),  # type: ignore[arg-type]
    "a rollback of nothing": lambda queue, lent: queue.rollback(None),  # type: ignore[arg-type]
    "a list of nothing to roll back": lambda queue, lent: queue.rollback_many([lent, None]),  # type: ignore[list-item]
    "an extension of nothing": lambda queue, lent: queue.extend(None),  # type: ignore[arg-type]
    "a list of nothing to extend": lambda queue, lent: queue.extend_many([None]),  # type: ignore[list-item]
    "nothing to settle": lambda queue, lent: queue.settle(None),  # type: ignore[arg-type]
    "a settlement that is missing": lambda queue, lent: queue.settle([(lent, Commit()), (lent,)]),  # type: ignore[list-item]
    "reservations without settlements": lambda queue, lent: queue.settle([lent]),  # type: ignore[list-item]
    "nothing to push": lambda queue, lent: queue.push_many(None),  # type: ignore[arg-type]
    "one draft to push": lambda queue, lent: queue.push_many(Draft(1)),  # type: ignore[arg-type]
    "text to push": lambda queue, lent: queue.push_many("ab"),  # type: ignore[arg-type]
    "followers that are no drafts": lambda queue, lent: queue.commit(lent, then=[1]),  # type: ignore[list-item]
    "an id that is text": lambda queue, lent: queue.get("x"),  # type: ignore[arg-type]
    "an id that is true": lambda queue, lent: queue.get(True),
    "an id beyond 64 bits": lambda queue, lent: queue.get(2**70),
    "why of text": lambda queue, lent: queue.why("1"),  # type: ignore[arg-type]
    "leased ones perhaps": lambda queue, lent: queue.remove(where="id > 0", even_if_leased="no"),  # type: ignore[arg-type]
    "a consumer that is a number": lambda queue, lent: queue.reserve_many(1, consumer=7),  # type: ignore[arg-type]
    "a consumer with half a character": lambda queue, lent: queue.reserve_many(1, consumer="\ud800"),
    "a size that is text": lambda queue, lent: queue.database.queue("small", max_payload_bytes="1"),  # type: ignore[arg-type]
    "a size of nothing": lambda queue, lent: queue.database.queue("small", max_payload_bytes=0),
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
    with pytest.raises(duerow.errors.ConfigurationError, match="a retry policy must return a timedelta or None, not 3"):
        queue.rollback(lent, error="no")
    queue.commit(lent)
