"""Lower priorities go first; within a priority, the oldest due time, then the lowest id."""

from __future__ import annotations

from typing import Any

import pytest

from duerow import Database, Draft, Move, Queue
from duerow.errors import InvalidMessage
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.contents import everything, payloads


def test_the_lowest_priority_goes_first_whenever_it_was_due(queue: Queue, clock: MovableClock) -> None:
    queue.push("usual")
    clock.advance(minutes(1))
    queue.push_many(
        [Draft("late", priority=7), Draft("urgent", priority=-3), Draft("most urgent", priority=-(1 << 15))]
    )
    queue.push("last", priority=(1 << 15) - 1)
    order = [one.message.payload for one in queue.reserve_many(10)]
    assert order == ["most urgent", "urgent", "usual", "late", "last"]


def test_the_lowest_priority_goes_first_also_after_the_clock_was_set_back(queue: Queue, clock: MovableClock) -> None:
    clock.advance(minutes(1))
    queue.push("before", priority=-3)
    assert queue.pop() is not None
    clock.advance(minutes(-1))
    queue.push("usual")
    queue.push("urgent", priority=-3)
    assert [one.message.payload for one in queue.reserve_many(1)] == ["urgent"]
    queue.push("moved here")
    queue.reprioritise(where="payload = 'moved here'", priority=-3)
    assert [one.message.payload for one in queue.reserve_many(1)] == ["moved here"]


def test_within_a_priority_the_oldest_due_time_goes_first(queue: Queue, clock: MovableClock) -> None:
    queue.push("second", priority=1, delay=seconds(2))
    queue.push("first", priority=1, delay=seconds(1))
    clock.advance(minutes(1))
    assert [message.payload for message in queue.pop_many(2)] == ["first", "second"]


def test_what_is_not_due_is_not_handed_out_at_any_priority(queue: Queue, clock: MovableClock) -> None:
    queue.push_many([Draft(place, priority=-5, delay=hours(1)) for place in range(20)])
    queue.push("due", priority=5)
    assert [one.message.payload for one in queue.reserve_many(10)] == ["due"]
    clock.advance(hours(1))
    assert queue.reserve_many(10)[0].message.payload == 0


def test_a_batch_takes_from_several_priorities(queue: Queue) -> None:
    queue.push_many([Draft(place, priority=place % 3) for place in range(9)])
    taken = [one.message.payload for one in queue.reserve_many(5)]
    assert taken == [0, 3, 6, 1, 4]


def test_peek_shows_the_order_in_which_messages_are_handed_out(queue: Queue) -> None:
    queue.push_many([Draft("b", priority=1), Draft("later", priority=-1, delay=hours(1)), Draft("a")])
    assert [message.payload for message in queue.peek(5)] == ["a", "b"]


def test_a_new_priority_of_another_handle_is_seen_before_the_queue_is_called_empty(
    queue: Queue, open_database: Any
) -> None:
    assert queue.reserve() is None
    if queue.database.store.capabilities.processes:
        open_database().queue("mail").push("from elsewhere", priority=-9)
    else:
        queue.push("from elsewhere", priority=-9)
    reservation = queue.reserve()
    assert reservation is not None
    assert reservation.message.priority == -9


def test_the_next_due_time_is_that_of_any_priority(db: Database, queue: Queue) -> None:
    queue.push("later", delay=hours(1))
    queue.push("sooner", priority=9, delay=minutes(1))
    assert db.run(lambda: db.store.messages.next_due(["mail"], seconds(0))) == minutes(1)


def test_a_moved_message_keeps_its_priority_unless_told_otherwise(queue: Queue, other: Queue) -> None:
    queue.push_many([Draft("kept", priority=4), Draft("changed", priority=4)])
    kept, changed = queue.reserve_many(2)
    queue.settle([(kept, Move("billing")), (changed, Move("billing", priority=-1))])
    assert [(one.message.payload, one.message.priority) for one in other.reserve_many(2)] == [
        ("changed", -1),
        ("kept", 4),
    ]


def test_replacing_a_message_gives_it_the_new_priority(queue: Queue) -> None:
    queue.push("old", key="k", priority=3)
    queue.push("new", key="k", priority=-3, on_duplicate="replace")
    assert [message.priority for message in queue.find()] == [-3]
    reservation = queue.reserve()
    assert reservation is not None
    assert reservation.message.payload == "new"


@pytest.mark.parametrize("priority", [1 << 15, -(1 << 15) - 1, 1.0, "1", True, None])
def test_a_priority_out_of_bounds_is_refused_before_anything_changes(db: Database, queue: Queue, priority: Any) -> None:
    with pytest.raises(InvalidMessage, match="priority must be an integer from -32768 to 32767"):
        queue.push_many([Draft("good"), Draft("bad", priority=priority)])
    assert everything(db) == []
    assert payloads(queue) == []
