"""A push adds one message with a due time, and returns its id."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from duerow import Database, Queue
from duerow.errors import InvalidMessage
from duerow.testing.clock import MovableClock, hours, microseconds, minutes, seconds
from duerow.testing.conformance.fixtures import OpenDatabase
from duerow.testing.contents import everything, stored


def test_a_push_answers_with_the_id_of_the_message_it_created(queue: Queue) -> None:
    pushed = queue.push("hello")
    assert pushed.outcome == "created"
    assert stored(queue, pushed.id).payload == "hello"


def test_a_pushed_message_is_new_and_due_at_once(queue: Queue, clock: MovableClock) -> None:
    message = stored(queue, queue.push({"to": "me"}).id)
    assert (message.queue, message.kind, message.key, message.headers) == ("mail", "json", None, {})
    assert (message.status, message.attempts, message.token) == ("new", 0, 0)
    assert message.due_at == message.first_due_at == message.created_at == clock.now()
    assert (message.leased_by, message.leased_until) == (None, None)
    assert (message.last_attempt_at, message.last_error) == (None, None)


def test_a_message_pushed_with_a_due_time_is_due_then_to_the_microsecond(queue: Queue, clock: MovableClock) -> None:
    at = clock.now() + hours(3) + microseconds(1)
    message = stored(queue, queue.push("later", due=at).id)
    assert message.due_at == message.first_due_at == at
    assert message.created_at == clock.now()


def test_a_message_pushed_with_a_delay_is_due_so_long_from_now(queue: Queue, clock: MovableClock) -> None:
    message = stored(queue, queue.push("later", delay=seconds(1.5)).id)
    assert message.due_at == message.first_due_at == clock.now() + seconds(1.5)


def test_a_due_time_of_any_zone_is_the_same_moment_in_utc(queue: Queue, clock: MovableClock) -> None:
    at = (clock.now() + hours(1)).astimezone(timezone(timedelta(hours=-9, minutes=-30)))
    due_at = stored(queue, queue.push("later", due=at).id).due_at
    assert due_at is not None
    assert (due_at, due_at.utcoffset()) == (at, timedelta(0))


def test_a_due_time_in_the_past_stands_before_those_of_today(queue: Queue, clock: MovableClock) -> None:
    queue.push("today")
    queue.push("overdue", due=clock.now() - hours(24))
    assert [message.payload for message in queue.peek(2)] == ["overdue", "today"]


def test_far_due_times_are_kept_exactly(queue: Queue, clock: MovableClock) -> None:
    end_of_year = clock.now().replace(month=12, day=31, hour=23, minute=59, second=59, microsecond=999_999)
    for year in (1970, 1999, 2038, 2262, 9998):
        at = end_of_year.replace(year=year)
        assert stored(queue, queue.push("far", due=at).id).due_at == at


def test_a_message_is_in_the_queue_that_it_was_pushed_to_and_in_no_other(queue: Queue, other: Queue) -> None:
    pushed = queue.push("hello")
    assert other.get(pushed.id) is None
    assert other.pop() is None
    assert other.count() == 0


def test_queue_names_are_told_apart_byte_by_byte(db: Database) -> None:
    names = ["mail", "Mail", "MAIL", "mail.1", "mail_1", "mail-1", "mail:1", "mail/1", "m" * 100]
    for name in names:
        db.queue(name).push(name)
    assert [db.queue(name).find()[0].payload for name in names] == names
    assert sorted(db.queues()) == sorted(names)


def test_another_handle_sees_what_was_pushed(queue: Queue, open_database: OpenDatabase) -> None:
    pushed = queue.push("hello")
    assert stored(open_database().queue("mail"), pushed.id).payload == "hello"


def test_due_and_delay_together_are_refused_and_nothing_is_pushed(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    with pytest.raises(InvalidMessage, match="due or delay, not both"):
        queue.push("hello", due=clock.now(), delay=minutes(1))
    assert everything(db) == []


NO_MOMENTS: list[tuple[Any, str]] = [
    (datetime(2026, 1, 1), "has no time zone"),
    ("tomorrow", "must be an aware datetime, not str"),
    (datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))), "out of range"),
    (datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), "out of range"),
    (datetime(1969, 12, 31, tzinfo=timezone.utc), "out of range"),  # noqa: UP017 - beside the other zones
]
NO_DELAYS: list[tuple[Any, str]] = [
    (seconds(-1), "negative"),
    (timedelta.max, "days"),
    (60, "must be a timedelta, not int"),
]


def test_a_due_time_or_a_delay_that_is_none_is_refused_and_nothing_is_pushed(db: Database, queue: Queue) -> None:
    for due, says in NO_MOMENTS:
        with pytest.raises(InvalidMessage, match=says):
            queue.push("hello", due=due)
    for delay, says in NO_DELAYS:
        with pytest.raises(InvalidMessage, match=says):
            queue.push("hello", delay=delay)
    assert everything(db) == []


def test_a_queue_cannot_have_such_a_name(db: Database) -> None:
    names: list[Any] = ["", "m" * 101, "two words", "čevapi", "mail\n", "a\0b", None, 7]
    for name in names:
        with pytest.raises(InvalidMessage, match="a queue cannot be called"):
            db.queue(name)
