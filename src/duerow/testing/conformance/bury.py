"""A buried message is dead: it is kept, with the reason, for people to look at, and never handed out."""

from __future__ import annotations

from duerow import Draft, Failure, Queue
from duerow.testing.clock import MovableClock, hours
from duerow.testing.contents import lost, stored


def test_a_buried_message_is_kept_with_the_reason_and_not_handed_out(queue: Queue, clock: MovableClock) -> None:
    pushed = queue.push({"to": "me"}, key="m-1", headers={"a": 1})
    reservation = queue.reserve()
    assert reservation is not None
    queue.bury(reservation, "no such number")
    message = stored(queue, pushed.id)
    assert (message.status, message.due_at, message.attempts, message.token) == ("dead", None, 1, 2)
    assert (message.leased_by, message.leased_until) == (None, None)
    assert (message.payload, message.key, message.headers) == ({"to": "me"}, "m-1", {"a": 1})
    assert message.last_error is not None
    assert "no such number" in message.last_error.message
    clock.advance(hours(1000))
    assert queue.reserve() is None
    assert queue.pop() is None
    assert queue.peek() == []


def test_dead_messages_may_share_a_key(queue: Queue) -> None:
    for place in range(3):
        queue.push(place, key="m-1")
        reservation = queue.reserve()
        assert reservation is not None
        queue.bury(reservation, "no use")
    assert [message.key for message in queue.find(status="dead")] == ["m-1"] * 3
    assert not queue.contains("m-1")


def test_the_reason_may_be_a_text_an_exception_or_a_failure(queue: Queue) -> None:
    queue.push_many([Draft(place) for place in range(3)])
    by_text, by_exception, by_failure = queue.reserve_many(3)
    queue.bury(by_text, "no use")
    queue.bury(by_exception, ValueError("no number"))
    queue.bury(by_failure, Failure("Busy", "no line"))
    errors = [message.last_error for message in queue.find()]
    assert [error and error.message for error in errors] == ["no use", "ValueError: no number", "no line"]
    assert [error and error.type for error in errors] == ["Bury", "ValueError", "Busy"]


def test_many_are_buried_at_once_and_the_lost_ones_named(queue: Queue) -> None:
    queue.push_many([Draft(place) for place in range(3)])
    reservations = queue.reserve_many(3)
    queue.release(reservations[0])
    assert lost(queue.bury_many(reservations, "no use")) == {reservations[0].message.id}
    assert (queue.count("dead"), queue.count("new")) == (2, 1)
