"""Reads of a queue reserve nothing and change nothing."""

from __future__ import annotations

import pytest

from duerow import Database, Draft, Queue
from duerow.errors import InvalidMessage
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.contents import everything


def test_peek_shows_what_would_be_handed_out_in_that_order_and_takes_nothing(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    queue.push_many([Draft(place, delay=seconds(delay)) for place, delay in enumerate([3, 1, 2, 1])])
    queue.push("later", delay=hours(2))
    clock.advance(minutes(1))
    before = everything(db)
    assert [message.payload for message in queue.peek(10)] == [1, 3, 2, 0]
    assert [message.payload for message in queue.peek()] == [1]
    assert everything(db) == before
    assert [one.message.payload for one in queue.reserve_many(10)] == [1, 3, 2, 0]


def test_peek_shows_neither_leased_nor_dead_nor_delayed_messages(queue: Queue, clock: MovableClock) -> None:
    queue.push_many([Draft("leased"), Draft("dead"), Draft("due"), Draft("later", delay=hours(1))])
    _, dead = queue.reserve_many(2, lease=minutes(1))
    queue.bury(dead, "no use")
    assert [message.payload for message in queue.peek(10)] == ["due"]
    clock.advance(minutes(1))
    assert [message.payload for message in queue.peek(10)] == ["due", "leased"]


def test_contains_is_true_of_live_messages_alone(queue: Queue, other: Queue) -> None:
    queue.push_many([Draft(key, key=key) for key in ["done", "dead", "failed", "leased", "new"]])
    done, dead, failed, _ = queue.reserve_many(4)
    queue.commit(done)
    queue.bury(dead, "no use")
    queue.rollback(failed, delay=hours(1))
    assert [key for key in ["done", "dead", "failed", "leased", "new", "never"] if queue.contains(key)] == [
        "failed",
        "leased",
        "new",
    ]
    assert not other.contains("new")


def test_contains_asks_for_a_key(queue: Queue) -> None:
    with pytest.raises(InvalidMessage, match="a key must be text"):
        queue.contains(None)  # type: ignore[arg-type]


def test_a_message_is_found_by_its_id_in_its_own_queue(queue: Queue, other: Queue) -> None:
    pushed = queue.push("hello")
    found = queue.get(pushed.id)
    assert found is not None
    assert found.payload == "hello"
    assert other.get(pushed.id) is None
    assert queue.get(pushed.id + 1000) is None


def test_messages_are_found_in_the_order_of_their_ids_page_by_page(queue: Queue) -> None:
    ids = [one.id for one in queue.push_many([Draft(n, delay=hours(10 - n)) for n in range(10)])]
    pages, after = [], None
    while page := queue.find(limit=4, after=after):
        pages.append([message.id for message in page])
        after = page[-1].id
    assert pages == [ids[:4], ids[4:8], ids[8:]]


def test_messages_are_found_by_status_and_by_key(queue: Queue) -> None:
    queue.push_many([Draft(key, key=key) for key in "abcd"])
    failed, dead = queue.reserve_many(2)
    queue.rollback(failed, delay=hours(1))
    queue.bury(dead, "no use")
    assert [message.key for message in queue.find(status="error")] == ["a"]
    assert [message.key for message in queue.find(status="dead")] == ["b"]
    assert [message.key for message in queue.find(status="new")] == ["c", "d"]
    assert queue.find(status="done") == []
    assert [message.key for message in queue.find(key="b")] == ["b"]
    assert queue.find(key="b", status="new") == []


def test_messages_are_counted_in_all_and_by_status(queue: Queue, other: Queue) -> None:
    other.push("another's")
    queue.push_many([Draft(place) for place in range(6)])
    failed, dead, done, _ = queue.reserve_many(4)
    queue.rollback(failed, delay=hours(1))
    queue.bury(dead, "no use")
    queue.commit(done)
    assert queue.count() == 5
    assert queue.count(by="status") == {"new": 3, "error": 1, "done": 0, "dead": 1}
    assert [queue.count(status) for status in ("new", "error", "done", "dead")] == [3, 1, 0, 1]


def test_the_queues_of_a_database_are_those_that_have_messages(db: Database, queue: Queue, other: Queue) -> None:
    assert db.queues() == []
    queue.push("hello")
    other.push("hello")
    assert sorted(db.queues()) == ["billing", "mail"]
    other.pop()
    assert db.queues() == ["mail"]


def test_the_time_until_the_next_message_is_due_is_known(db: Database, queue: Queue, clock: MovableClock) -> None:
    def next_due() -> object:
        return db.run(lambda: db.store.messages.next_due(["mail"], seconds(0)))

    assert next_due() is None
    queue.push("later", delay=hours(1))
    assert next_due() == hours(1)
    queue.push("now")
    assert next_due() == seconds(0)
    queue.reserve(lease=minutes(5))
    assert next_due() == minutes(5)
    clock.advance(minutes(6))
    assert next_due() == minutes(-1)


def test_who_sleeps_and_relies_on_the_answer_learns_when_the_next_message_is_due(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    def next_due() -> object:
        return db.run(lambda: db.store.messages.next_due(["mail"], seconds(5), relied_on=True))

    assert next_due() is None
    queue.push("later", delay=hours(1))
    assert next_due() == hours(1)
    clock.advance(hours(2))
    assert next_due() == hours(-1)


def test_of_several_queues_that_are_not_paused_the_message_that_is_due_first_counts(
    db: Database, clock: MovableClock
) -> None:
    names = ["mail", "billing", "paused", "orders"]

    def next_due(relied_on: bool, kinds: dict[str, tuple[str, ...]] | None = None) -> object:
        return db.run(lambda: db.store.messages.next_due([*names, "mail"], seconds(5), kinds, relied_on=relied_on))

    for relied_on in (True, False):
        assert next_due(relied_on) is None
    db.queue("paused").push("held back")
    db.queue("paused").pause()
    db.queue("orders").push("in 9 hours", delay=hours(9), priority=7, group="a")
    db.queue("billing").push("in 5 hours", delay=hours(5), priority=-3)
    db.queue("mail").push("in 7 hours", delay=hours(7))
    for relied_on in (True, False):
        assert next_due(relied_on) == hours(5)
        assert next_due(relied_on, {"billing": ("another",)}) == hours(7)
        assert next_due(relied_on, {"billing": ("another",), "mail": ("one", "two", "three")}) == hours(9)
    clock.advance(hours(6))
    for relied_on in (True, False):
        assert next_due(relied_on) == hours(-1)


def test_the_time_until_the_next_message_is_known_though_the_clock_was_set_back(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    clock.advance(minutes(2))
    queue.push("taken at a time that comes again")
    queue.pop()
    clock.advance(minutes(-1))
    queue.push("left")
    clock.advance(minutes(-1))
    assert queue.pop() is None
    clock.advance(minutes(2))
    assert db.run(lambda: db.store.messages.next_due(["mail"], seconds(0))) == minutes(-1)


def test_however_many_are_asked_for_all_there_are_is_the_answer(queue: Queue) -> None:
    for many in (2**31, 2**63, 10**30):
        queue.push("hello", key="m-1")
        assert [len(queue.peek(many)), len(queue.find(limit=many)), len(queue.find(order="-id", limit=many))] == [1] * 3
        queue.release_many(queue.reserve_many(many))
        assert [message.payload for message in queue.pop_many(many)] == ["hello"]
