"""An operator moves messages to another queue, but leased messages only if asked to."""

from __future__ import annotations

import pytest

from duerow import Draft, Queue
from duerow.errors import ConfigurationError, DuplicateKey, LeaseLost, MessageLeased, NotSupported
from duerow.testing.clock import MovableClock, hours, minutes
from duerow.testing.contents import stored


def test_a_transferred_message_is_new_in_the_other_queue_at_its_due_time(
    queue: Queue, other: Queue, clock: MovableClock
) -> None:
    due = clock.now() + hours(2)
    id = queue.push({"n": 1}, key="k", due=due, headers={"a": 1}, priority=3).id
    failed = queue.push("failing").id
    reservation = queue.reserve()
    assert reservation is not None
    queue.rollback(reservation, delay=minutes(5), error="no line")
    assert queue.transfer(key="k", to="billing").count == 1
    assert queue.transfer(failed, to="billing").count == 1
    moved, retried = stored(other, id), stored(other, failed)
    assert (moved.payload, moved.key, moved.priority, moved.due_at) == ({"n": 1}, "k", 3, due)
    assert moved.headers == {"a": 1, "hops": 1}
    assert (retried.status, retried.attempts, retried.last_error) == ("new", 0, None)
    assert retried.due_at == clock.now() + minutes(5)
    assert queue.count() == 0


def test_all_messages_that_meet_a_condition_are_transferred_and_counted_first(queue: Queue, other: Queue) -> None:
    queue.push_many([Draft({"n": number}) for number in range(450)])
    assert queue.transfer(where="payload.n >= 20", to="billing", dry_run=True).count == 430
    assert (queue.count(), other.count()) == (450, 0)
    assert queue.transfer(where="payload.n >= 20", to="billing").count == 430
    assert (queue.count(), other.count("payload.n >= 20")) == (20, 430)


def test_a_message_in_work_is_transferred_only_when_that_is_said(queue: Queue, other: Queue) -> None:
    leased = queue.push("leased").id
    free = queue.push("free").id
    reservation = queue.reserve()
    assert reservation is not None
    with pytest.raises(MessageLeased):
        queue.transfer(leased, to="billing")
    done = queue.transfer(where="id > 0", to="billing")
    assert (done.count, done.skipped, [one.id for one in other.find()]) == (1, 1, [free])
    assert queue.transfer(leased, to="billing", even_if_leased=True)
    with pytest.raises(LeaseLost):
        queue.commit(reservation)
    assert sorted(one.id for one in other.peek(5)) == sorted([free, leased])


def test_a_message_stays_if_a_live_one_of_the_target_has_its_key(queue: Queue, other: Queue) -> None:
    other.push("there", key="k")
    id = queue.push("here", key="k").id
    queue.push("free", key="f")
    with pytest.raises(DuplicateKey):
        queue.transfer(id, to="billing")
    for dry_run in (True, False):
        done = queue.transfer(where="id > 0", to="billing", dry_run=dry_run)
        assert (done.count, done.skipped) == (1, 1)
    assert stored(queue, id).payload == "here"
    assert queue.transfer(id, to="billing", on_duplicate="ignore")
    assert (queue.count(), [one.payload for one in other.find(key="k")]) == (0, ["there"])


def test_a_dead_message_is_due_at_once_after_a_transfer(queue: Queue, other: Queue) -> None:
    id = queue.push("no use").id
    reservation = queue.reserve()
    assert reservation is not None
    queue.bury(reservation, "no use")
    assert queue.transfer(where="status = 'dead'", to="billing").count == 1
    again = other.reserve()
    assert again is not None
    assert (again.message.id, again.attempt) == (id, 1)


def test_a_stopped_message_stays_stopped_or_where_it_is(queue: Queue, other: Queue) -> None:
    id = queue.push("wait").id
    queue.reschedule(id, due=None)
    try:
        assert queue.transfer(id, to="billing")
    except NotSupported:
        done = queue.transfer(where="id > 0", to="billing")
        assert (done.count, done.skipped, queue.count()) == (0, 1, 1)
        return
    assert stored(other, id).due_at is None
    assert other.reserve() is None


def test_a_group_goes_on_after_a_transfer_of_its_first_message(queue: Queue, other: Queue, clock: MovableClock) -> None:
    try:
        first, second = (
            queue.push(name, group="g", delay=delay).id for name, delay in (("a", hours(1)), ("b", minutes(0)))
        )
    except NotSupported:  # some stores have no groups without transactions
        assert not queue.database.store.capabilities.transactions
        return
    assert queue.reserve() is None
    assert queue.transfer(first, to="billing")
    following = queue.reserve()
    assert following is not None
    assert following.message.id == second
    clock.advance(hours(1))
    there = other.reserve()
    assert there is not None
    assert (there.message.id, there.message.group) == (first, "g")


def test_messages_are_not_transferred_to_the_queue_that_they_are_in(queue: Queue) -> None:
    queue.push("hello")
    with pytest.raises(ConfigurationError, match="in queue 'mail' already"):
        queue.transfer(where="id > 0", to="mail")
    assert queue.count() == 1
