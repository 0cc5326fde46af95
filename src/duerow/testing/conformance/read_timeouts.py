"""A read on behalf of people ends after `read_timeout`; the work of workers has no such limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import Any

import pytest

from duerow import Commit, Database, Draft, Queue
from duerow.errors import ConfigurationError, NotSupported, QueryTimeout, StoreUnavailable
from duerow.testing.clock import MovableClock, hours
from duerow.testing.conformance.fixtures import Begin, Place
from duerow.testing.faces import Face

MANY = 250
"""So many messages with payloads as below take more than a millisecond to be looked through on every machine."""

NAMES = [f"field{n}" for n in range(40)]
SLOW = " or ".join(f"payload.{name}.text = 'nobody'" for name in NAMES)

LOOKS: dict[str, Callable[[Queue], Any]] = {
    "find": lambda queue: queue.find(SLOW),
    "find in an order": lambda queue: queue.find(SLOW, order="-created_at"),
    "count": lambda queue: queue.count(SLOW),
    "count by": lambda queue: queue.count(SLOW, by="payload.field1.text"),
    "edit": lambda queue: queue.edit(where=SLOW, headers={"seen": True}),
    "reschedule": lambda queue: queue.reschedule(where=SLOW, delay=hours(1)),
    "requeue": lambda queue: queue.requeue(where=SLOW),
    "remove": lambda queue: queue.remove(where=SLOW),
    "history": lambda queue: queue.history(SLOW),
}


def crowded(db: Database) -> Queue:
    """Return a queue that takes a while to search."""
    queue = db.queue("mail", history=hours(1))
    queue.push_many([Draft({name: {"text": "somebody"} for name in NAMES})] * MANY)
    return queue


@contextmanager
def hasty(face: Face, place: Place, clock: MovableClock) -> Iterator[Queue]:
    """Another handle of that queue, whose reads on behalf of people may take a millisecond."""
    limit = timedelta(milliseconds=1)
    with closing(face.connect(place.url, clock=clock, read_timeout=limit, **place.settings)) as database:
        yield database.queue("mail", history=hours(1))


def test_what_looks_through_a_queue_for_longer_than_it_may_is_ended_and_told(
    db: Database, face: Face, place: Place, clock: MovableClock
) -> None:
    usual = crowded(db)
    usual.settle([(one, Commit()) for one in usual.reserve_many(MANY)])
    crowded(db)
    with hasty(face, place, clock) as queue:
        for look in LOOKS.values():
            with pytest.raises(QueryTimeout, match=r"0\.001 s.*read_timeout") as raised:
                look(queue)
            assert raised.value.limit == timedelta(milliseconds=1)
            assert not isinstance(raised.value, StoreUnavailable)  # another try would take as long
    assert not usual.find("headers.seen = true")
    assert usual.count("new") == MANY


def test_what_workers_do_and_a_look_at_one_message_have_no_limit(
    db: Database, face: Face, place: Place, clock: MovableClock
) -> None:
    crowded(db)
    with hasty(face, place, clock) as queue:
        pushed = queue.push_many([Draft({"n": n}, key=f"k-{n}") for n in range(MANY)])
        assert queue.contains("k-7")
        assert [one.payload for one in queue.find(key="k-8")] == [{"n": 8}]
        assert queue.get(pushed[0].id) is not None
        assert queue.edit(key="k-9", headers={"seen": True}).count == 1
        assert queue.remove(pushed[3].id).count == 1
        lent = queue.reserve_many(2 * MANY)
        assert len(lent) == 2 * MANY - 1
        assert queue.settle([(one, Commit()) for one in lent]) == []


def test_a_change_within_the_callers_own_transaction_has_no_limit(
    db: Database, face: Face, place: Place, clock: MovableClock, begin: Begin | None
) -> None:
    crowded(db)
    with hasty(face, place, clock) as queue:
        if begin is None:
            with pytest.raises(NotSupported):
                queue.edit(where=SLOW, headers={"seen": True}, within=object())
            return
        with begin() as own:
            changed = queue.edit(where=f"not ({SLOW})", headers={"seen": True}, within=own.handle)
            own.commit()
        assert changed.count == MANY


def test_without_a_limit_a_look_takes_as_long_as_it_takes(
    db: Database, face: Face, place: Place, clock: MovableClock
) -> None:
    crowded(db)
    with closing(face.connect(place.url, clock=clock, read_timeout=None, **place.settings)) as database:
        assert database.queue("mail").count(f"not ({SLOW})", exact=True) == MANY


@pytest.mark.parametrize("odd", [timedelta(0), timedelta(microseconds=1), timedelta(days=25), 30, "30 s"])
def test_a_limit_that_no_database_can_keep_is_refused(face: Face, place: Place, odd: Any) -> None:
    with pytest.raises(ConfigurationError, match="read_timeout"):
        face.connect(place.url, read_timeout=odd, **place.settings)
