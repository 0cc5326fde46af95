"""An operator sees the statistics of a queue and why a message is not running, and can pause and purge the queue."""

from __future__ import annotations

from typing import Any

import pytest

from duerow import Database, Draft, Queue, fixed, limited
from duerow.errors import ConfigurationError, InvalidMessage
from duerow.plan import BEGIN, Plan
from duerow.store import Entry
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.contents import payloads


def codes(queue: Queue, id: int) -> list[str]:
    """Return the codes of all reasons why a message is not running."""
    return [reason.code for reason in queue.why(id)]


def seen(db: Database, *queues: str, kinds: tuple[str, ...] = ("json", "bytes"), name: str = "here:1:w") -> None:
    """Have a consumer of these queues report that it is active."""
    db.run(lambda: db.store.metadata.note_consumer(name, queues, kinds, "1.0"))


# Stats.


def test_stats_count_messages_by_what_they_wait_for(queue: Queue, other: Queue, clock: MovableClock) -> None:
    other.push("another's")
    queue.push_many([Draft(place, priority=place % 2) for place in range(6)])
    queue.push_many([Draft(place, delay=hours(place)) for place in (1, 2, 3)])
    queue.reserve()
    dead = queue.reserve()
    assert dead is not None
    queue.bury(dead, "no use")
    stats = queue.stats()
    assert (stats.ready, stats.delayed, stats.leased, stats.dead, stats.stopped, stats.waiting) == (4, 3, 1, 1, 0, 0)
    assert stats.oldest_due_at == clock.now()
    assert stats.next_due_at == clock.now() + minutes(1)
    assert (stats.queue, stats.paused, stats.capped) == ("mail", False, frozenset())


def test_stats_of_an_empty_queue_are_all_zero(queue: Queue) -> None:
    stats = queue.stats()
    assert (stats.ready, stats.delayed, stats.leased, stats.dead) == (0, 0, 0, 0)
    assert (stats.oldest_due_at, stats.next_due_at) == (None, None)


def test_a_message_whose_lease_ended_is_ready_again(queue: Queue, clock: MovableClock) -> None:
    queue.push("hello")
    queue.reserve()
    clock.advance(minutes(1))
    assert (queue.stats().ready, queue.stats().leased) == (1, 0)


def test_those_behind_others_of_their_group_are_waiting(queue: Queue) -> None:
    queue.push_many([Draft(place, group="g") for place in range(5)])
    queue.reserve_many(5)
    stats = queue.stats()
    assert (stats.leased, stats.waiting, stats.ready) == (1, 4, 0)


def test_stats_count_no_further_than_ten_thousand_unless_asked_to(queue: Queue) -> None:
    queue.push_many([Draft(place) for place in range(10_003)])
    stats = queue.stats()
    assert (stats.ready, stats.capped, stats.shown("ready")) == (10_000, frozenset({"ready"}), "10000+")
    exact = queue.stats(exact=True)
    assert (exact.ready, exact.capped, exact.shown("ready")) == (10_003, frozenset(), "10003")


# Why.


def test_a_message_that_is_due_says_that_it_is_ready_when_a_consumer_is_there(db: Database, queue: Queue) -> None:
    pushed = queue.push("hello", key="k")
    seen(db, "mail")
    assert codes(queue, pushed.id) == ["ready"]
    assert [reason.code for reason in queue.why(key="k")] == ["ready"]


def test_a_delayed_message_says_until_when(db: Database, queue: Queue, clock: MovableClock) -> None:
    seen(db, "mail")
    pushed = queue.push("hello", delay=hours(1))
    [reason] = queue.why(pushed.id)
    assert (reason.code, reason.until) == ("not-due", clock.now() + hours(1))


def test_a_leased_message_says_by_whom_and_until_when(db: Database, queue: Queue, clock: MovableClock) -> None:
    seen(db, "mail")
    pushed = queue.push("hello")
    reservation = queue.reserve_many(1, consumer="there:2:b/2")[0]
    [reason] = queue.why(pushed.id)
    assert (reason.code, reason.by, reason.until) == ("leased", "there:2:b/2", reservation.until)


def test_a_message_of_a_paused_queue_says_so(db: Database, queue: Queue) -> None:
    seen(db, "mail")
    pushed = queue.push("hello")
    queue.pause()
    assert codes(queue, pushed.id) == ["paused"]


def test_a_message_behind_another_of_its_group_names_it_and_what_that_waits_for(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    seen(db, "mail")
    first, second, third = queue.push_many([Draft(place, group="g") for place in range(3)])
    [reason] = queue.why(second.id)
    assert (reason.code, reason.by) == ("group-blocked", first.id)
    assert reason.text.endswith(" goes first and is due")
    queue.reserve_many(1, consumer="there:2:b/2")
    assert [(one.code, one.by) for one in queue.why(third.id)] == [("group-blocked", first.id)]
    assert " goes first and is held by there:2:b/2 until " in queue.why(third.id)[0].text
    assert codes(queue, first.id) == ["leased"]
    clock.advance(minutes(2))
    assert queue.why(third.id)[0].text.endswith(" goes first and is due")
    queue.reschedule(first.id, due=None)
    assert queue.why(third.id)[0].text.endswith(" goes first and was stopped")
    queue.reschedule(first.id, delay=hours(1))
    assert " goes first and is due at " in queue.why(third.id)[0].text


def test_a_message_whose_attempts_are_used_up_says_so(db: Database, clock: MovableClock) -> None:
    queue = db.queue("mail", retry=limited(1, fixed(seconds(0))))
    pushed = queue.push("kills")
    queue.reserve()
    clock.advance(minutes(1))
    seen(db, "mail")
    [reason] = queue.why(pushed.id)
    assert reason.code == "limit"
    assert "1 of 1" in reason.text


def test_a_message_without_a_consumer_says_so(db: Database, queue: Queue, clock: MovableClock) -> None:
    pushed = queue.push("hello")
    assert codes(queue, pushed.id) == ["no-consumer"]
    seen(db, "billing")
    assert codes(queue, pushed.id) == ["no-consumer"]
    seen(db, "mail")
    assert codes(queue, pushed.id) == ["ready"]
    clock.advance(minutes(1))
    assert codes(queue, pushed.id) == ["no-consumer"]


def test_a_message_of_a_kind_that_no_consumer_knows_says_so(db: Database, queue: Queue) -> None:
    pushed = queue.push(b"bytes")
    seen(db, "mail", kinds=("json",))
    assert codes(queue, pushed.id) == ["unknown-kind"]
    seen(db, "mail", name="there:2:w")
    assert codes(queue, pushed.id) == ["ready"]


def test_a_dead_message_says_what_it_died_of(queue: Queue) -> None:
    pushed = queue.push("hello")
    reservation = queue.reserve()
    assert reservation is not None
    queue.bury(reservation, "no such address")
    [reason] = queue.why(pushed.id)
    assert reason.code == "dead"
    assert "no such address" in reason.text


def test_all_reasons_that_hold_are_told(queue: Queue) -> None:
    queue.push("first", group="g", delay=hours(2))
    second = queue.push("second", group="g", delay=hours(1))
    queue.pause()
    assert codes(queue, second.id) == ["not-due", "group-blocked", "paused", "no-consumer"]


def test_a_message_that_is_not_there_is_told_so(queue: Queue, other: Queue) -> None:
    elsewhere = other.push("hello", key="k")
    for asked in ({"id": elsewhere.id}, {"id": elsewhere.id + 1000}, {"key": "k"}):
        with pytest.raises(InvalidMessage, match=r"has no (live )?message"):
            queue.why(**asked)
    for wrong in ({}, {"id": 1, "key": "k"}):
        with pytest.raises(ConfigurationError, match="id or a key"):
            queue.why(**wrong)  # type: ignore[arg-type]


# Pause and resume.


def test_a_paused_queue_hands_nothing_out_until_it_is_resumed(queue: Queue, other: Queue) -> None:
    queue.push_many([Draft("one"), Draft("two", group="g")])
    other.push("another's")
    queue.pause()
    assert (queue.reserve(), queue.pop(), queue.stats().paused, queue.stats().ready) == (None, None, True, 2)
    assert other.pop() is not None
    queue.push("meanwhile")
    assert queue.reserve_many(5) == []
    queue.resume()
    assert queue.stats().paused is False
    assert [one.message.payload for one in queue.reserve_many(5)] == ["one", "two", "meanwhile"]


def test_what_is_leased_can_be_settled_though_the_queue_is_paused(queue: Queue) -> None:
    queue.push("hello")
    reservation = queue.reserve()
    assert reservation is not None
    queue.pause()
    reservation.commit()
    assert queue.count() == 0


def test_a_paused_queue_has_nothing_to_wait_for(db: Database, queue: Queue) -> None:
    queue.push("hello")
    queue.pause()
    assert db.run(lambda: db.store.messages.next_due(["mail"], seconds(0))) is None


def test_a_pause_is_seen_by_others(queue: Queue, open_database: Any) -> None:
    queue.push("hello")
    queue.pause()
    shared = queue.database.store.capabilities.processes
    another = open_database() if shared else queue.database  # an in-memory database has no other handle
    assert another.queue("mail").reserve() is None


# Purge.


def test_purge_takes_everything_out_of_this_queue_alone(queue: Queue, other: Queue) -> None:
    other.push("another's")
    queue.push_many([Draft(place, group="g" if place % 2 else None, delay=hours(place % 3)) for place in range(30)])
    dead = queue.reserve()
    assert dead is not None
    queue.bury(dead, "no use")
    queue.reserve()
    assert queue.purge("mail") == 30
    assert (queue.count(), other.count()) == (0, 1)


def test_a_purge_leaves_what_was_pushed_since_it_began(db: Database, queue: Queue, monkeypatch: Any) -> None:
    monkeypatch.setattr("duerow.aio.operations.PURGE_BATCH", 2)
    monkeypatch.setattr("duerow.sync.operations.PURGE_BATCH", 2)
    queue.push_many([Draft("old", group="g" if place % 2 else None) for place in range(5)])
    purge, entry = db.store.operations.purge, Entry("mail", None, "json", '"new"', None, None, None)

    def push_and_purge(*which: Any) -> Plan[int]:
        if db.store.capabilities.together:
            yield BEGIN
        yield from db.store.messages.push([entry], "ignore")
        return (yield from purge(*which))

    monkeypatch.setattr(db.store.operations, "purge", push_and_purge)
    assert queue.purge("mail") == 5
    assert payloads(queue) == ["new"] * 4


@pytest.mark.parametrize("confirm", ["", "Mail", "billing"])
def test_purge_wants_the_name_of_the_queue_again(queue: Queue, confirm: str) -> None:
    queue.push("hello")
    with pytest.raises(ConfigurationError, match="to confirm, give its name"):
        queue.purge(confirm)
    assert queue.count() == 1
