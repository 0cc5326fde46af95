"""The messages of a group are handed out one at a time, in the order of their pushes; other messages do not wait."""

from __future__ import annotations

from typing import Any

import pytest

from duerow import Bury, Commit, Database, Draft, Move, Queue, Rollback, fixed, limited
from duerow.errors import InvalidMessage
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.contents import everything


def lent(queue: Queue, n: int = 10) -> list[Any]:
    """Reserve up to n messages and return their payloads."""
    return [one.message.payload for one in queue.reserve_many(n)]


def test_of_a_group_only_the_first_pushed_is_handed_out(queue: Queue) -> None:
    queue.push_many([Draft(f"{group}{place}", group=group) for place in (1, 2) for group in "ab"])
    queue.push("in no group")
    assert lent(queue) == ["a1", "b1", "in no group"]
    assert lent(queue) == []


def test_the_next_has_its_turn_when_the_first_is_done(queue: Queue) -> None:
    queue.push_many([Draft(place, group="g") for place in range(4)])
    order = []
    while reservation := queue.reserve():
        order.append(reservation.message.payload)
        assert queue.reserve() is None
        queue.commit(reservation)
    assert order == [0, 1, 2, 3]


@pytest.mark.parametrize("together", [True, False])
def test_the_order_is_that_of_pushing_not_of_due_time_or_priority(queue: Queue, together: bool) -> None:
    drafts = [Draft("first", group="g", delay=hours(1)), Draft("second", group="g", priority=-9)]
    for part in [drafts] if together else [[draft] for draft in drafts]:
        queue.push_many(part)
    assert lent(queue) == []


def test_a_first_message_that_is_not_due_holds_its_group_back(queue: Queue, clock: MovableClock) -> None:
    queue.push("first", group="g", delay=hours(1))
    queue.push("second", group="g")
    queue.push("another's", group="h")
    assert lent(queue) == ["another's"]
    clock.advance(hours(1))
    assert lent(queue) == ["another's", "first"]  # whose lease of a minute has ended


def test_a_failed_message_keeps_its_place_before_the_others(queue: Queue, clock: MovableClock) -> None:
    queue.push_many([Draft("first", group="g"), Draft("second", group="g")])
    first = queue.reserve()
    assert first is not None
    queue.rollback(first, delay=minutes(5))
    assert lent(queue) == []
    clock.advance(minutes(5))
    assert lent(queue) == ["first"]


@pytest.mark.parametrize("end", [Commit(), Bury("no use"), Move("billing")], ids=["commit", "bury", "move"])
def test_whatever_leaves_the_group_gives_the_next_its_turn(queue: Queue, end: Any) -> None:
    queue.push_many([Draft("first", group="g"), Draft("second", group="g")])
    first = queue.reserve()
    assert first is not None
    assert lent(queue) == []
    assert queue.settle([(first, end)]) == []
    assert lent(queue) == ["second"]


def test_a_removed_message_gives_the_next_its_turn(queue: Queue) -> None:
    first, _ = queue.push_many([Draft("first", group="g", delay=hours(1)), Draft("second", group="g")])
    assert lent(queue) == []
    assert queue.remove(first.id)
    assert lent(queue) == ["second"]


def test_a_replaced_message_that_changes_group_gives_the_next_its_turn(queue: Queue) -> None:
    queue.push("first", key="k", group="g", delay=hours(1))
    queue.push("second", group="g")
    assert lent(queue) == []
    queue.push("first", key="k", group="h", delay=hours(2), on_duplicate="replace")
    assert lent(queue) == ["second"]


def test_a_lease_that_ends_keeps_the_place_of_its_message(queue: Queue, clock: MovableClock) -> None:
    queue.push_many([Draft("first", group="g"), Draft("second", group="g")])
    assert lent(queue) == ["first"]
    clock.advance(minutes(1))
    assert lent(queue) == ["first"]


@pytest.mark.parametrize("dead_letter", [None, "letters"])
def test_one_that_is_buried_for_its_attempts_gives_the_next_its_turn_at_once(
    db: Database, clock: MovableClock, dead_letter: str | None
) -> None:
    queue = db.queue("mail", retry=limited(2, fixed(seconds(1))), dead_letter=dead_letter)
    queue.push_many([Draft("first", group="g"), Draft("second", group="g"), Draft("third", group="g")])
    for _ in range(2):
        assert lent(queue) == ["first"]
        clock.advance(minutes(1))
    assert lent(queue) == ["second"]
    assert [one.payload for one in db.queue("letters").find()] == ([] if dead_letter is None else ["first"])


def test_pop_takes_one_of_each_group(queue: Queue) -> None:
    queue.push_many([Draft(f"{group}{place}", group=group) for place in (1, 2) for group in "ab"])
    assert [message.payload for message in queue.pop_many(10)] == ["a1", "b1"]
    assert [message.payload for message in queue.pop_many(10)] == ["a2", "b2"]


def test_a_moved_message_keeps_its_group_and_waits_for_its_turn_there(queue: Queue, other: Queue) -> None:
    other.push("there already", group="g", delay=hours(1))
    queue.push("moved", group="g")
    reservation = queue.reserve()
    assert reservation is not None
    reservation.move("billing")
    assert [message.group for message in other.find()] == ["g", "g"]
    # Its id is not the lowest there.
    assert lent(other) == []


def test_a_message_that_comes_in_before_a_lent_one_waits_until_that_is_settled(queue: Queue, other: Queue) -> None:
    queue.push("older", group="g")
    older = queue.reserve()
    assert older is not None
    other.push("lent", group="g")
    newer = other.reserve()
    assert newer is not None
    older.move("billing")
    assert lent(other) == []
    newer.commit()
    assert lent(other) == ["older"]


def test_a_lent_message_that_fails_lets_one_that_came_in_before_it_go_first(
    queue: Queue, other: Queue, clock: MovableClock
) -> None:
    queue.push("older", group="g")
    older = queue.reserve()
    other.push("lent", group="g")
    newer = other.reserve()
    assert older is not None
    assert newer is not None
    older.move("billing")
    assert lent(other) == []
    other.settle([(newer, Rollback(seconds(0)))])
    assert lent(other) == ["older"]


def test_a_dead_message_that_is_brought_back_goes_before_those_that_wait_and_after_those_handed_out_meanwhile(
    queue: Queue,
) -> None:
    queue.push_many([Draft(name, group="g") for name in ("dead", "lent", "waits")])
    first = queue.reserve()
    assert first is not None
    first.bury("no use")
    lent_meanwhile = queue.reserve()
    assert lent_meanwhile is not None
    assert queue.requeue(first.message.id)
    assert lent(queue) == []
    lent_meanwhile.commit()
    assert [message.payload for message in (queue.pop(), queue.pop()) if message is not None] == ["dead", "waits"]


def test_a_group_belongs_to_its_queue(queue: Queue, other: Queue) -> None:
    queue.push("here", group="g")
    other.push("there", group="g")
    assert (lent(queue), lent(other)) == (["here"], ["there"])


def test_groups_are_told_apart_byte_by_byte(queue: Queue) -> None:
    names = ["a", "A", "a ", "á"]
    queue.push_many([Draft(name, group=name) for name in names])
    assert sorted(lent(queue)) == sorted(names)


def test_those_who_wait_for_others_can_be_seen_and_counted(queue: Queue) -> None:
    queue.push_many([Draft(place, group="g", delay=seconds(place)) for place in range(3)])
    queue.push("of another group", group="h")
    lent(queue)
    lent(queue)
    waiting = queue.find()
    assert [message.payload for message in waiting] == [0, 1, 2, "of another group"]
    assert waiting[1].due_at == waiting[1].first_due_at
    assert queue.count(by="status")["new"] == 4
    assert queue.database.queues() == ["mail"]
    assert queue.peek(5) == []


def test_waiting_behind_others_survives_a_change_of_the_due_time(queue: Queue) -> None:
    queue.push("first", group="g")
    queue.push("second", group="g", key="k", delay=hours(1))
    first = queue.reserve()
    assert first is not None
    assert queue.push("second", group="g", key="k", on_duplicate="earliest").outcome == "updated"
    assert lent(queue) == []
    first.commit()
    assert lent(queue) == ["second"]


def test_the_order_of_a_long_group_holds_with_several_consumers(queue: Queue) -> None:
    for place in range(30):
        queue.push(place, group=f"g{place % 3}")
    seen: dict[str, list[int]] = {}
    while batch := queue.reserve_many(2):
        for one in batch:
            seen.setdefault(str(one.message.group), []).append(one.message.payload)
        assert len({one.message.group for one in batch}) == len(batch)
        assert queue.commit_many(batch) == []
    assert seen == {f"g{group}": list(range(group, 30, 3)) for group in range(3)}


@pytest.mark.parametrize("group", ["", "x" * 256, "a\0b", 7, "\ud800"])
def test_what_is_no_group_is_refused_before_anything_changes(db: Database, queue: Queue, group: Any) -> None:
    with pytest.raises(InvalidMessage, match="group"):
        queue.push("bad", group=group)
    assert everything(db) == []
