"""Many messages are pushed all or none, each with a result, in the order given."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import pytest

from duerow import Database, Draft, Pushed, Queue
from duerow.errors import CodecError, DuplicateKey, InvalidMessage
from duerow.testing.clock import MovableClock, hours, minutes
from duerow.testing.contents import everything, payloads, stored

VERY_LARGE: Final = 5_100
"""So many messages with keys are encoded while the database inserts the first of them."""


def drafts(*keys: str | None) -> list[Draft]:
    """Return a draft for each key; its payload is its place."""
    return [Draft(place, key=key) for place, key in enumerate(keys)]


def test_many_messages_are_answered_in_the_order_given_with_growing_ids(queue: Queue) -> None:
    answers = queue.push_many(drafts("c", None, "a", None, "b"))
    assert [answer.outcome for answer in answers] == ["created"] * 5
    assert all(earlier.id < later.id for earlier, later in pairwise(answers))
    assert [stored(queue, answer.id).payload for answer in answers] == [0, 1, 2, 3, 4]
    assert [stored(queue, answer.id).key for answer in answers] == ["c", None, "a", None, "b"]


def test_each_of_many_has_its_own_time_and_headers(queue: Queue, clock: MovableClock) -> None:
    at = clock.now() + hours(1)
    answers = queue.push_many([Draft(1, due=at), Draft(2, delay=minutes(2), headers={"a": 1}), Draft(3)])
    found = [stored(queue, answer.id) for answer in answers]
    assert [message.due_at for message in found] == [at, clock.now() + minutes(2), clock.now()]
    assert [message.headers for message in found] == [{}, {"a": 1}, {}]


def test_pushing_no_message_is_no_error(db: Database, queue: Queue) -> None:
    assert queue.push_many([]) == []
    assert everything(db) == []


def test_drafts_may_come_from_any_iterable(queue: Queue) -> None:
    queue.push_many(Draft(number) for number in range(3))
    assert payloads(queue) == [0, 1, 2]


def test_of_two_with_one_key_the_second_meets_the_first(queue: Queue) -> None:
    first, second, third = queue.push_many(drafts("m-1", "m-2", "m-1"))
    assert (first.outcome, second.outcome) == ("created", "created")
    assert third == Pushed(first.id, "ignored")
    assert payloads(queue) == [0, 1]


def test_of_two_with_one_key_the_second_replaces_the_first(queue: Queue) -> None:
    first, second, third = queue.push_many(drafts("m-1", "m-2", "m-1"), on_duplicate="replace")
    assert (first.outcome, second.outcome) == ("created", "created")
    assert third == Pushed(first.id, "updated")
    assert (stored(queue, first.id).payload, stored(queue, first.id).token) == (2, 1)
    assert queue.count() == 2


def test_of_two_with_one_key_the_earliest_time_counts(queue: Queue, clock: MovableClock) -> None:
    times = [3, 1, 2]
    answers = queue.push_many([Draft(n, key="m-1", delay=hours(n)) for n in times], on_duplicate="earliest")
    assert [answer.outcome for answer in answers] == ["created", "updated", "ignored"]
    assert {answer.id for answer in answers} == {answers[0].id}
    message = stored(queue, answers[0].id)
    assert (message.payload, message.due_at) == (3, clock.now() + hours(1))


def test_rejecting_two_with_one_key_writes_nothing_and_names_it(db: Database, queue: Queue) -> None:
    with pytest.raises(DuplicateKey) as refused:
        queue.push_many(drafts("m-1", "m-2", "m-1"), on_duplicate="reject")
    assert refused.value.keys == ("m-1",)
    assert everything(db) == []


def test_rejecting_writes_nothing_and_names_all_taken_keys_in_order(db: Database, queue: Queue) -> None:
    queue.push_many(drafts("a", "b", "c"))
    before = everything(db)
    with pytest.raises(DuplicateKey) as refused:
        queue.push_many(drafts("x", "c", None, "a", "y"), on_duplicate="reject")
    assert (refused.value.queue, refused.value.keys) == ("mail", ("c", "a"))
    assert everything(db) == before


def test_rejecting_pushes_all_when_every_key_is_free(queue: Queue) -> None:
    answers = queue.push_many(drafts("a", "b", None), on_duplicate="reject")
    assert [answer.outcome for answer in answers] == ["created"] * 3


def test_new_and_taken_keys_are_answered_each_for_itself(queue: Queue) -> None:
    taken = queue.push("taken", key="b")
    a, b, none, c = queue.push_many(drafts("a", "b", None, "c"))
    assert b == Pushed(taken.id, "ignored")
    assert [a.outcome, none.outcome, c.outcome] == ["created"] * 3
    assert taken.id < a.id < none.id < c.id
    assert payloads(queue) == ["taken", 0, 2, 3]


def test_replacing_many_touches_only_those_whose_key_is_taken(queue: Queue) -> None:
    queue.push_many(drafts("a", "b", "c"))
    answers = queue.push_many([Draft("B", key="b"), Draft(2, key="c"), Draft("D", key="d")], on_duplicate="replace")
    assert [answer.outcome for answer in answers] == ["updated", "ignored", "created"]
    assert payloads(queue) == [0, "B", 2, "D"]


def test_a_large_batch_is_answered_in_order_whatever_the_databases_limits(queue: Queue, crowd: int) -> None:
    answers = queue.push_many(Draft(place, key=f"k-{place * 7919 % crowd}") for place in range(crowd))
    assert len(answers) == crowd
    assert all(answer.outcome == "created" for answer in answers)
    assert all(earlier.id < later.id for earlier, later in pairwise(answers))
    last = stored(queue, answers[-1].id)
    assert (last.payload, last.key) == (crowd - 1, f"k-{(crowd - 1) * 7919 % crowd}")
    assert queue.count() == crowd


def test_a_large_batch_without_keys_is_answered_in_order(queue: Queue) -> None:
    given = [Draft({"n": n, "of": [n / 2]}, headers={"n": n} if n % 2 else None, priority=n // 600) for n in range(700)]
    answers = queue.push_many(given)
    assert [answer.outcome for answer in answers] == ["created"] * 700
    assert all(earlier.id < later.id for earlier, later in pairwise(answers))
    found = {message.id: message for message in queue.peek(700)}
    assert [found[answer.id].payload for answer in answers] == [draft.payload for draft in given]
    assert [found[answer.id].headers for answer in answers] == [draft.headers or {} for draft in given]
    assert [found[answer.id].priority for answer in answers] == [draft.priority for draft in given]


def test_a_large_batch_keeps_each_group_in_order(queue: Queue) -> None:
    queue.push_many(Draft(place, group="g" if place in (3, 650) else None) for place in range(700))
    handed_out = queue.reserve_many(700)
    assert [one.message.payload for one in handed_out if one.message.group == "g"] == [3]
    assert len(handed_out) == 699


BAD: dict[str, Draft] = {
    r"payload\['at'\] is of type builtins.tuple": Draft({"at": (1, 2)}),
    "an integer beyond 64 bits": Draft([1 << 63]),
    r"contains U\+0000": Draft("a\0b"),
    "contains a lone surrogate": Draft(["\ud800"]),
    "header 'a' must be text, a number or a boolean": Draft(1, headers={"a": None}),  # type: ignore[dict-item]
    "a priority must be an integer": Draft(1, priority=1 << 20),
    "pushed to queue 'mail'": Draft(1, queue="other"),
}
"""Messages that are refused, by what the error says."""


def test_the_first_bad_message_of_a_large_batch_is_named_and_nothing_is_pushed(db: Database, queue: Queue) -> None:
    for says, bad in BAD.items():
        with pytest.raises(InvalidMessage, match=says):
            queue.push_many([*map(Draft, range(600)), bad, Draft(1, group="")])
    assert everything(db) == []
    assert queue.push_many([Draft("next"), Draft("and next")])[0].outcome == "created"


def test_a_large_batch_of_taken_keys_is_answered_in_order(queue: Queue, crowd: int) -> None:
    few = crowd // 4
    first = queue.push_many(Draft(place, key=f"k-{place}") for place in range(few))
    again = queue.push_many(Draft(None, key=f"k-{place}") for place in reversed(range(few + 1)))
    assert again[0].outcome == "created"
    assert again[1:] == [Pushed(answer.id, "ignored") for answer in reversed(first)]


def test_a_very_large_batch_with_keys_leaves_and_answers_what_small_ones_do(db: Database) -> None:
    keys = [None if place % 50 == 7 else f"k-{place % 5_050}" for place in range(VERY_LARGE)]  # the last repeat others
    given = [Draft(place, key=key, delay=hours(1 + place % 3)) for place, key in enumerate(keys)]
    seen = []
    for name, size in (("large", VERY_LARGE), ("small", 500)):
        queue = db.queue(name)
        first = queue.push_many(drafts("k-3", "k-4", "k-5049"))
        pushed = [one for start in range(0, VERY_LARGE, size) for one in queue.push_many(given[start : start + size])]
        found = sorted(queue.find(limit=2 * VERY_LARGE), key=lambda message: message.id)
        places = {message.id: place for place, message in enumerate(found)}
        answers = [(places[one.id], one.outcome) for one in (*first, *pushed)]
        seen.append(([(one.key, one.payload, one.due_at) for one in found], answers))
    large, small = seen
    assert large == small
    assert {outcome for _, outcome in large[1]} == {"created", "ignored"}


def test_a_very_large_batch_with_keys_is_handed_out_in_the_order_given(queue: Queue) -> None:
    queue.push_many(drafts(*(f"k-{(place * 7919) % 10_007}" for place in range(VERY_LARGE))))
    assert [one.payload for one in queue.peek(VERY_LARGE)] == list(range(VERY_LARGE))


def test_a_bad_message_with_a_repeated_key_in_a_very_large_batch_is_named(db: Database, queue: Queue) -> None:
    given = [*drafts(*(f"k-{place}" for place in range(VERY_LARGE))), Draft({1}, key="k-0"), Draft(1, key="")]
    with pytest.raises(CodecError, match="set"):
        queue.push_many(given)
    assert everything(db) == []


def test_a_large_batch_with_a_repeated_key_is_rejected(db: Database, queue: Queue) -> None:
    keys = [f"k-{place % 640}" for place in range(650)]
    with pytest.raises(DuplicateKey) as refused:
        queue.push_many(drafts(*keys), on_duplicate="reject")
    assert refused.value.keys == tuple(f"k-{place}" for place in range(10))
    assert everything(db) == []
    answers = queue.push_many(drafts(*keys[:640]), on_duplicate="reject")
    assert [(one.outcome, stored(queue, one.id).payload) for one in answers[::100]] == [
        ("created", place) for place in range(0, 640, 100)
    ]


def test_a_large_batch_that_is_rejected_writes_nothing(db: Database, queue: Queue, crowd: int) -> None:
    queue.push("taken", key=f"k-{crowd - 2}")
    before = everything(db)
    with pytest.raises(DuplicateKey) as refused:
        queue.push_many((Draft(place, key=f"k-{place}") for place in range(crowd)), on_duplicate="reject")
    assert refused.value.keys == (f"k-{crowd - 2}",)
    assert everything(db) == before


def test_one_bad_message_among_many_is_refused_with_all_of_them(db: Database, queue: Queue) -> None:
    with pytest.raises(CodecError, match="tuple"):
        queue.push_many([Draft("good"), Draft(("no", "list")), Draft("good")])
    with pytest.raises(InvalidMessage, match="a key must be text"):
        queue.push_many([Draft("good"), Draft("bad", key=7)])  # type: ignore[arg-type]
    assert everything(db) == []


def test_what_is_no_draft_is_refused_and_told_how_to_write_it(db: Database, queue: Queue) -> None:
    with pytest.raises(InvalidMessage, match=r"not str: write Draft\(payload\)"):
        queue.push_many([Draft("good"), "hello"])  # type: ignore[list-item]
    assert everything(db) == []


def test_a_draft_for_another_queue_is_refused(db: Database, queue: Queue) -> None:
    with pytest.raises(InvalidMessage, match="'billing'"):
        queue.push_many([Draft("hello", queue="billing")])
    assert everything(db) == []
