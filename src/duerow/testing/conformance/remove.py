"""Messages are removed by id or key; leased messages only with `even_if_leased`."""

from __future__ import annotations

from typing import Any

import pytest

from duerow import Database, Queue
from duerow.errors import ConfigurationError, InvalidMessage, LeaseLost, MessageLeased
from duerow.testing.clock import MovableClock, hours, minutes
from duerow.testing.contents import everything


def test_a_message_is_removed_by_its_id_once(db: Database, queue: Queue) -> None:
    pushed = queue.push("hello")
    assert queue.remove(pushed.id)
    assert everything(db) == []
    assert not queue.remove(pushed.id)


def test_a_message_is_removed_by_its_key_which_is_free_then(queue: Queue) -> None:
    queue.push("hello", key="m-1")
    queue.push("another", key="m-2")
    assert queue.remove(key="m-1")
    assert not queue.contains("m-1")
    assert queue.contains("m-2")
    assert not queue.remove(key="m-1")


def test_a_message_of_another_queue_is_not_removed(queue: Queue, other: Queue) -> None:
    pushed = other.push("another's", key="m-1")
    assert not queue.remove(pushed.id)
    assert not queue.remove(key="m-1")
    assert other.count() == 1


@pytest.mark.parametrize("by", ["id", "key"])
def test_a_message_under_lease_is_not_removed(db: Database, queue: Queue, by: str) -> None:
    pushed = queue.push("hello", key="m-1")
    reservation = queue.reserve()
    assert reservation is not None
    before = everything(db)
    with pytest.raises(MessageLeased, match=f"message {pushed.id} is leased by {reservation.message.leased_by}") as no:
        queue.remove(**named(by, pushed.id))
    assert no.value.message_id == pushed.id
    assert everything(db) == before
    queue.commit(reservation)


@pytest.mark.parametrize("by", ["id", "key"])
def test_a_message_is_removed_from_under_its_consumer_when_that_is_said(queue: Queue, by: str) -> None:
    pushed = queue.push("hello", key="m-1")
    reservation = queue.reserve()
    assert reservation is not None
    assert queue.remove(**named(by, pushed.id), even_if_leased=True)
    assert queue.count() == 0
    with pytest.raises(LeaseLost):
        queue.commit(reservation)


def test_a_message_whose_lease_ended_is_removed(queue: Queue, clock: MovableClock) -> None:
    pushed = queue.push("hello")
    queue.reserve(lease=minutes(1))
    clock.advance(minutes(1))
    assert queue.remove(pushed.id)


def test_delayed_failed_and_dead_messages_are_removed_by_id(queue: Queue) -> None:
    delayed = queue.push("delayed", delay=hours(1)).id
    queue.push("failed")
    failed = queue.reserve()
    assert failed is not None
    queue.rollback(failed, delay=hours(1))
    queue.push("dead", key="m-1")
    dead = queue.reserve()
    assert dead is not None
    queue.bury(dead, "no use")
    assert not queue.remove(key="m-1")
    assert all(queue.remove(id) for id in (delayed, failed.message.id, dead.message.id))
    assert queue.count() == 0


@pytest.mark.parametrize("which", [{}, {"id": 1, "key": "m-1"}], ids=["neither", "both"])
def test_what_to_remove_is_an_id_or_a_key(db: Database, queue: Queue, which: dict[str, Any]) -> None:
    queue.push("hello", key="m-1")
    with pytest.raises(ConfigurationError, match="exactly one of an id, a key and a condition"):
        queue.remove(**which)
    with pytest.raises(InvalidMessage, match="key"):
        queue.remove(key="")
    assert queue.count() == 1


def named(by: str, id: int) -> dict[str, Any]:
    return {"id": id} if by == "id" else {"key": "m-1"}
