"""A key is unique among a queue's live messages; `on_duplicate` decides what a push does if it is taken."""

from __future__ import annotations

from typing import Any

import pytest

from duerow import Database, Pushed, Queue, fixed
from duerow.errors import DuplicateKey, InvalidMessage, LeaseLost
from duerow.message import OnDuplicate
from duerow.testing.clock import START, MovableClock, hours, minutes, seconds
from duerow.testing.contents import everything, stored

MODES: list[OnDuplicate] = ["ignore", "replace", "earliest", "reject"]

# Any mode, when no live message has the key.


def test_a_push_without_a_key_never_meets_a_duplicate(queue: Queue) -> None:
    for mode in MODES:
        assert queue.push("same", on_duplicate=mode).outcome == "created"
    assert queue.count() == 4


@pytest.mark.parametrize("mode", MODES)
def test_the_key_of_a_message_that_lives_no_more_is_free(queue: Queue, mode: OnDuplicate) -> None:
    for ending in ("commit", "bury", "pop", "remove", "move", "rekey"):
        first = queue.push("first", key=ending, due=START)
        end(queue, first.id, ending)
        second = queue.push("second", key=ending, on_duplicate=mode, delay=hours(1))
        assert second.outcome == "created", ending
        assert second.id > first.id
        assert stored(queue, second.id).payload == "second"


def end(queue: Queue, id: int, ending: str) -> None:
    if ending == "pop":
        queue.pop()
    elif ending == "remove":
        queue.remove(id)
    else:
        reservation = queue.reserve()
        assert reservation is not None
        endings: dict[str, Any] = {
            "commit": lambda: queue.commit(reservation),
            "bury": lambda: queue.bury(reservation, "no use"),
            "move": lambda: queue.move(reservation, "billing"),
            "rekey": lambda: queue.move(reservation, "mail", key="another", delay=hours(1)),
        }
        endings[ending]()


def test_the_same_key_in_another_queue_is_another_message(queue: Queue, other: Queue) -> None:
    first = queue.push("mail", key="m-1")
    assert other.push("billing", key="m-1", on_duplicate="reject").outcome == "created"
    for mode in ("ignore", "replace", "earliest"):
        assert other.push("billing", key="m-1", on_duplicate=mode).id != first.id
    assert stored(queue, first.id).payload == "mail"


def test_a_mode_that_does_not_exist_is_refused_and_nothing_is_pushed(db: Database, queue: Queue) -> None:
    with pytest.raises(InvalidMessage, match="'ignore', 'replace', 'earliest', 'reject'"):
        queue.push("hello", key="m-1", on_duplicate="overwrite")  # type: ignore[arg-type]
    assert everything(db) == []


# ignore


def test_ignore_is_the_default_and_leaves_the_message_as_it_is(db: Database, queue: Queue) -> None:
    first = queue.push("first", key="m-1", delay=hours(1), headers={"a": 1})
    before = everything(db)
    second = queue.push("second", key="m-1", headers={"a": 2})
    assert (second.id, second.outcome) == (first.id, "ignored")
    assert everything(db) == before


def test_ignore_leaves_a_leased_message_and_its_lease(db: Database, queue: Queue) -> None:
    first = queue.push("first", key="m-1")
    reservation = queue.reserve()
    assert reservation is not None
    before = everything(db)
    assert queue.push("second", key="m-1") == Pushed(first.id, "ignored")
    assert everything(db) == before
    queue.commit(reservation)


def test_ignore_leaves_a_failed_message_that_waits(db: Database, queue: Queue) -> None:
    first = queue.push("first", key="m-1")
    reservation = queue.reserve()
    assert reservation is not None
    queue.rollback(reservation, delay=hours(1))
    before = everything(db)
    second = queue.push("second", key="m-1")
    assert (second.id, second.outcome) == (first.id, "ignored")
    assert everything(db) == before


# replace


def test_replace_gives_the_message_the_content_and_time_of_the_new_push(queue: Queue, clock: MovableClock) -> None:
    first = queue.push("first", key="m-1", headers={"a": 1, "b": 2}, delay=hours(5))
    created_at = clock.now()
    clock.advance(minutes(1))
    second = queue.push(b"second", key="m-1", headers={"a": 3}, delay=hours(1), on_duplicate="replace")
    assert (second.id, second.outcome) == (first.id, "updated")
    message = stored(queue, first.id)
    assert (message.payload, message.kind, message.headers) == (b"second", "bytes", {"a": 3})
    assert message.due_at == message.first_due_at == clock.now() + hours(1)
    assert (message.created_at, message.key, message.token) == (created_at, "m-1", 1)


def test_replace_without_a_time_makes_the_message_due_now(queue: Queue, clock: MovableClock) -> None:
    first = queue.push("first", key="m-1", delay=hours(5))
    clock.advance(minutes(1))
    queue.push("second", key="m-1", on_duplicate="replace")
    message = stored(queue, first.id)
    assert message.due_at == message.first_due_at == clock.now()


def test_replace_revives_a_failed_message_from_its_first_attempt(queue: Queue) -> None:
    first = queue.push("first", key="m-1")
    reservation = queue.reserve()
    assert reservation is not None
    queue.rollback(reservation, delay=hours(1), error="no line")
    assert queue.push("second", key="m-1", on_duplicate="replace").outcome == "updated"
    message = stored(queue, first.id)
    assert (message.status, message.attempts, message.last_error) == ("new", 0, None)
    assert message.token == reservation.message.token + 2
    assert queue.pop() is not None


def test_replace_with_equal_content_revives_a_failed_message_too(queue: Queue) -> None:
    queue.push("same", key="m-1")
    reservation = queue.reserve()
    assert reservation is not None
    queue.rollback(reservation, delay=hours(1))
    assert queue.push("same", key="m-1", on_duplicate="replace").outcome == "updated"
    assert queue.pop() is not None


def test_replace_ends_a_lease_and_refuses_the_old_holder(queue: Queue, clock: MovableClock) -> None:
    first = queue.push("first", key="m-1")
    reservation = queue.reserve()
    assert reservation is not None
    queue.push("second", key="m-1", on_duplicate="replace")
    message = stored(queue, first.id)
    assert (message.leased_by, message.leased_until, message.attempts) == (None, None, 0)
    assert (message.due_at, message.token) == (clock.now(), reservation.message.token + 1)
    with pytest.raises(LeaseLost):
        queue.commit(reservation)
    again = queue.reserve()
    assert again is not None
    assert (again.message.payload, again.attempt) == ("second", 1)


@pytest.mark.parametrize("time", [{}, {"delay": hours(1)}], ids=["no time", "its first due time"])
def test_replace_by_the_same_changes_nothing(db: Database, queue: Queue, time: dict[str, Any]) -> None:
    queue.push({"a": 1, "b": 2}, key="m-1", delay=hours(1))
    before = everything(db)
    assert queue.push({"b": 2, "a": 1}, key="m-1", on_duplicate="replace", **time).outcome == "ignored"
    assert everything(db) == before


def test_replace_by_the_same_leaves_a_lease_on_it(db: Database, queue: Queue) -> None:
    queue.push("same", key="m-1")
    reservation = queue.reserve()
    assert reservation is not None
    before = everything(db)
    assert queue.push("same", key="m-1", on_duplicate="replace").outcome == "ignored"
    assert everything(db) == before
    queue.commit(reservation)


def test_replace_by_the_same_at_another_time_is_an_update(queue: Queue, clock: MovableClock) -> None:
    first = queue.push("same", key="m-1", delay=hours(1))
    assert queue.push("same", key="m-1", delay=hours(2), on_duplicate="replace").outcome == "updated"
    assert stored(queue, first.id).due_at == clock.now() + hours(2)


def test_replace_tells_equal_looking_payloads_of_different_types_apart(queue: Queue) -> None:
    pairs: list[tuple[Any, Any]] = [(1, 1.0), (0.0, -0.0), (1, True), ("1", b"1"), (None, "null")]
    for number, (was, becomes) in enumerate(pairs):
        first = queue.push(was, key=str(number))
        assert queue.push(becomes, key=str(number), on_duplicate="replace").outcome == "updated"
        assert repr(stored(queue, first.id).payload) == repr(becomes)


# earliest


def test_earliest_keeps_the_message_and_takes_the_earlier_due_time(queue: Queue, clock: MovableClock) -> None:
    first = queue.push("first", key="m-1", delay=hours(5))
    first_due_at = clock.now() + hours(5)
    second = queue.push("second", key="m-1", delay=hours(1), on_duplicate="earliest")
    assert (second.id, second.outcome) == (first.id, "updated")
    message = stored(queue, first.id)
    assert (message.payload, message.due_at) == ("first", clock.now() + hours(1))
    assert message.first_due_at == first_due_at


def test_earliest_without_a_time_makes_a_delayed_message_due_now(queue: Queue, clock: MovableClock) -> None:
    first = queue.push("first", key="m-1", delay=hours(5))
    assert queue.push("second", key="m-1", on_duplicate="earliest").outcome == "updated"
    assert stored(queue, first.id).due_at == clock.now()


@pytest.mark.parametrize("delay", [hours(1), hours(2)], ids=["the same time", "a later time"])
def test_earliest_with_no_earlier_time_changes_nothing(db: Database, queue: Queue, delay: Any) -> None:
    queue.push("first", key="m-1", delay=hours(1))
    before = everything(db)
    assert queue.push("second", key="m-1", delay=delay, on_duplicate="earliest").outcome == "ignored"
    assert everything(db) == before


def test_earliest_leaves_a_leased_message_and_its_lease(db: Database, queue: Queue, clock: MovableClock) -> None:
    queue.push("first", key="m-1")
    reservation = queue.reserve()
    assert reservation is not None
    before = everything(db)
    clock.advance(seconds(1))
    assert queue.push("second", key="m-1", on_duplicate="earliest").outcome == "ignored"
    assert everything(db) == before
    queue.commit(reservation)


def test_earliest_brings_a_failed_message_forward_and_keeps_its_attempts(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", retry=fixed(hours(1)))
    first = queue.push("first", key="m-1")
    reservation = queue.reserve()
    assert reservation is not None
    queue.rollback(reservation, error="no line")
    assert queue.push("second", key="m-1", delay=minutes(1), on_duplicate="earliest").outcome == "updated"
    message = stored(queue, first.id)
    assert (message.status, message.attempts, message.due_at) == ("error", 1, clock.now() + minutes(1))
    assert message.last_error is not None


# reject


def test_reject_raises_and_names_the_queue_and_the_key(db: Database, queue: Queue) -> None:
    queue.push("first", key="m-1")
    before = everything(db)
    with pytest.raises(DuplicateKey, match="queue 'mail' has a live message with key 'm-1'") as refused:
        queue.push("second", key="m-1", on_duplicate="reject")
    assert (refused.value.queue, refused.value.keys) == ("mail", ("m-1",))
    assert everything(db) == before


def test_reject_pushes_when_the_key_is_free(queue: Queue) -> None:
    assert queue.push("first", key="m-1", on_duplicate="reject").outcome == "created"
