"""`reserving()` reserves a message within a block, and settles it according to how the block ends."""

from __future__ import annotations

import pytest

from duerow import Bury, Database, Queue, Retry, fixed, limited
from duerow.errors import LeaseLost
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.contents import stored


def test_a_message_is_committed_at_the_end_of_its_block(queue: Queue) -> None:
    queue.push("hello")
    with queue.reserving() as message:
        assert message is not None
        assert message.payload == "hello"
        assert queue.reserve() is None
    assert queue.count() == 0


def test_a_block_has_no_message_when_nothing_is_due(queue: Queue) -> None:
    queue.push("later", delay=hours(1))
    with queue.reserving() as message:
        assert message is None
    assert queue.count() == 1


def test_an_exception_rolls_back_by_the_queues_policy_and_goes_on(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", retry=limited(2, fixed(minutes(5))))
    pushed = queue.push("hello")
    with pytest.raises(ValueError, match="no line"), queue.reserving():
        raise ValueError("no line")
    message = stored(queue, pushed.id)
    assert (message.status, message.due_at) == ("error", clock.now() + minutes(5))
    assert message.last_error is not None
    assert message.last_error.type == "ValueError"
    clock.advance(minutes(5))
    with pytest.raises(ValueError, match="no line"), queue.reserving():
        raise ValueError("no line")
    assert stored(queue, pushed.id).status == "dead"


def test_retry_and_bury_end_the_turn_as_they_say_and_go_no_further(queue: Queue, clock: MovableClock) -> None:
    pushed = queue.push("hello")
    with queue.reserving():
        fail(Retry(after=minutes(7)))
    assert stored(queue, pushed.id).due_at == clock.now() + minutes(7)
    clock.advance(minutes(7))
    with queue.reserving():
        fail(Bury("no such number"))
    assert stored(queue, pushed.id).status == "dead"


def test_a_block_has_the_lease_that_it_asks_for(queue: Queue, clock: MovableClock) -> None:
    queue.push("hello")
    with queue.reserving(lease=seconds(5)) as message:
        assert message is not None
        assert message.leased_until == clock.now() + seconds(5)


def test_a_block_that_lost_its_message_says_so(queue: Queue, clock: MovableClock) -> None:
    queue.push("hello")
    taken = []

    def lose_it() -> None:
        with queue.reserving(lease=minutes(1)):
            clock.advance(minutes(1))
            taken.extend(queue.reserve_many(1))

    with pytest.raises(LeaseLost):
        lose_it()
    assert queue.commit_many(taken) == []


def fail(error: Exception) -> None:
    """Raise an error as a handler would."""
    raise error
