"""Without a clock given, the time is the database's own. Taken in by each SQL store."""

from datetime import UTC, datetime, timedelta

from duerow import fixed
from duerow.testing.clock import hours, seconds
from duerow.testing.conformance.fixtures import OpenDatabase
from duerow.testing.contents import stored

TOLERANCE = timedelta(minutes=5)
"""How far two clocks of one machine and a slow test may be apart."""


def test_moments_are_those_of_the_databases_clock_in_utc(open_database: OpenDatabase) -> None:
    queue = open_database(clock=None).queue("mail")
    pushed = queue.push("hello")
    delayed = queue.push("later", delay=hours(3))
    reservation = queue.reserve(lease=hours(1))
    assert reservation is not None
    message = stored(queue, pushed.id)
    now = datetime.now(UTC)
    assert abs(message.created_at - now) < TOLERANCE
    assert message.created_at.utcoffset() == timedelta(0)
    assert message.last_attempt_at is not None
    assert message.created_at <= message.last_attempt_at
    assert reservation.until == message.leased_until == message.last_attempt_at + hours(1)
    later = stored(queue, delayed.id)
    assert later.due_at == later.created_at + hours(3)


def test_messages_pushed_one_after_the_other_stand_in_that_order(open_database: OpenDatabase) -> None:
    queue = open_database(clock=None).queue("mail")
    for number in range(30):
        queue.push(number)
    assert [one.message.payload for one in queue.reserve_many(30)] == list(range(30))


def test_every_settlement_works_on_the_databases_clock(open_database: OpenDatabase) -> None:
    queue = open_database(clock=None).queue("mail", retry=fixed(hours(1)))
    for number in range(6):
        queue.push(number, delay=seconds(0))
    committed, failed, buried, released, moved, extended = queue.reserve_many(6)
    queue.commit(committed)
    queue.rollback(failed)
    queue.bury(buried, "no use")
    queue.release(released)
    queue.move(moved, "billing", delay=hours(2))
    assert queue.extend(extended, hours(5)).until - extended.until > hours(4)
    failed_message = stored(queue, failed.message.id)
    assert failed_message.due_at is not None
    assert failed_message.last_attempt_at is not None
    assert hours(1) <= failed_message.due_at - failed_message.last_attempt_at < hours(1) + TOLERANCE
    again = queue.reserve()
    assert again is not None
    assert (again.message.id, again.message.due_at) == (released.message.id, released.message.due_at)
    assert queue.reserve() is None


def test_schedules_go_by_the_databases_clock(open_database: OpenDatabase) -> None:
    db = open_database(clock=None)
    declared = db.schedule("hourly", every=hours(1), queue="mail")
    assert declared.next_at is not None
    assert abs(declared.next_at - hours(1) - datetime.now(UTC)) < TOLERANCE
    assert declared.next_at.utcoffset() == timedelta(0)
    done = db.maintain()
    assert done.pushed == 0
    assert done.next_in is not None
    assert hours(1) - TOLERANCE < done.next_in < hours(1)
    assert db.schedules() == [declared]
