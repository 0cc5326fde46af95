"""What the contract promises, on databases for which it was not written first."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.probes.conftest import OpenQueue
from tests.probes.contract import (
    Buried,
    Clock,
    Committed,
    DuplicateKey,
    Entry,
    Moved,
    NotSupported,
    Pushed,
    Queue,
    Refused,
    Released,
    RolledBack,
)

MINUTE = timedelta(minutes=1)


def order(payload: str = "1", key: str | None = None, **fields: object) -> Entry:
    return Entry("orders", payload, key, **fields)  # type: ignore[arg-type]


def test_a_batch_is_answered_in_the_order_given_and_its_ids_follow_that_order(queue: Queue) -> None:
    answers = queue.push(order(key="z"), order(), order(key="a"), order(key="z"), order(key="b"))
    assert [each.outcome for each in answers] == ["created", "created", "created", "ignored", "created"]
    assert answers[3].id == answers[0].id
    created = [each.id for each in answers if each.outcome == "created"]
    assert created == sorted(set(created))


def test_keys_are_compared_byte_for_byte(queue: Queue) -> None:
    keys = ["a", "A", "a ", "\u00e1", "a\u0301", "\U0001f600"]
    assert [each.outcome for each in queue.push(*(order(key=key) for key in keys))] == ["created"] * len(keys)
    assert {record.key for record in queue.find()} == set(keys)


def test_ignore_leaves_the_message_that_has_the_key(queue: Queue) -> None:
    [first] = queue.push(order("1", "k"))
    assert queue.push(order("2", "k")) == [Pushed(first.id, "ignored")]
    assert [record.payload for record in queue.find()] == ["1"]


def test_replace_makes_the_message_new_and_ends_a_lease_on_it(queue: Queue, other: Queue, clock: Clock) -> None:
    [first] = queue.push(order("1", "k"))
    [held] = other.reserve()
    due = clock.now() + MINUTE
    assert queue.push(order("2", "k", due=due), on_duplicate="replace") == [Pushed(first.id, "updated")]
    assert other.settle((held, Committed())) == [Refused(held.receipt, "lease lost")]
    [now] = queue.find()
    assert (now.payload, now.due_at, now.first_due_at, now.attempts, now.leased_by) == ("2", due, due, 0, None)


def test_replace_by_the_same_changes_nothing(queue: Queue) -> None:
    queue.push(order("1", "k"))
    before = queue.find()
    assert queue.push(order("1", "k"), on_duplicate="replace")[0].outcome == "ignored"
    assert queue.find() == before


def test_in_one_batch_the_last_replacement_wins(queue: Queue) -> None:
    answers = queue.push(order("1", "k"), order("2", "k"), order("3", "k"), on_duplicate="replace")
    assert [each.outcome for each in answers] == ["created", "updated", "updated"]
    assert [record.payload for record in queue.find()] == ["3"]


def test_earliest_only_brings_the_due_time_forward(queue: Queue, clock: Clock) -> None:
    first, sooner = clock.now() + 10 * MINUTE, clock.now() + 5 * MINUTE
    queue.push(order("1", "k", due=first))
    assert queue.push(order("2", "k", due=sooner), on_duplicate="earliest")[0].outcome == "updated"
    assert queue.push(order("3", "k", due=first), on_duplicate="earliest")[0].outcome == "ignored"
    [record] = queue.find()
    assert (record.payload, record.due_at, record.first_due_at) == ("1", sooner, first)


def test_earliest_leaves_a_leased_message_alone(queue: Queue, clock: Clock) -> None:
    queue.push(order("1", "k"))
    [held] = queue.reserve()
    sooner = clock.now() - MINUTE
    assert queue.push(order("2", "k", due=sooner), on_duplicate="earliest")[0].outcome == "ignored"
    assert queue.settle((held, Committed())) == []


def test_reject_writes_nothing_and_names_all_that_are_taken(queue: Queue) -> None:
    queue.push(order("1", "a"), order("2", "b"))
    before = queue.find()
    with pytest.raises(DuplicateKey) as refusal:
        queue.push(order("3", "new"), order("4", "b"), order("5"), order("6", "a"), on_duplicate="reject")
    assert set(refusal.value.keys) == {"a", "b"}
    assert queue.find() == before


def test_the_oldest_due_come_first_and_none_before_its_time(queue: Queue, clock: Clock) -> None:
    late, soon = clock.now() - MINUTE, clock.now() + MINUTE
    ids = [each.id for each in queue.push(order(), order(due=late), order(due=soon), order(due=late))]
    assert [record.id for record in queue.reserve(10)] == [ids[1], ids[3], ids[0]]
    clock.advance(MINUTE - timedelta(microseconds=1))
    assert queue.reserve(attempts=None, limit=1) == []
    clock.advance(timedelta(microseconds=1))
    assert ids[2] in [record.id for record in queue.reserve(10)]


@pytest.mark.parametrize("limit", [1, 5])
def test_a_reservation_says_its_place_in_line_and_the_row_its_lease(queue: Queue, clock: Clock, limit: int) -> None:
    queue.push(order())
    pushed_at = clock.now()
    clock.advance(MINUTE)
    [held] = queue.reserve(limit)
    until = clock.now() + MINUTE
    assert (held.due_at, held.leased_until, held.attempts, held.token) == (pushed_at, until, 1, 1)
    [kept] = queue.find()
    assert (kept.due_at, kept.leased_until, kept.leased_by) == (until, until, held.leased_by)


@pytest.mark.parametrize("limit", [1, 5])
def test_when_the_lease_ends_the_next_one_has_it_and_the_late_one_is_refused(
    queue: Queue, other: Queue, clock: Clock, limit: int
) -> None:
    queue.push(order())
    [late] = queue.reserve(limit)
    assert other.reserve(limit) == []
    clock.advance(MINUTE)
    [second] = other.reserve(limit)
    assert second.attempts == 2
    assert second.last_error == "lease of first/1 ended at 2024-02-29 12:01:00, attempt 1 of any"
    assert queue.settle((late, Committed())) == [Refused(late.receipt, "lease lost")]
    assert other.settle((second, Committed())) == []
    assert queue.find() == []


def test_late_but_not_taken_is_still_ours(queue: Queue, clock: Clock) -> None:
    queue.push(order())
    [held] = queue.reserve()
    clock.advance(60 * MINUTE)
    assert queue.settle((held, Committed())) == []


@pytest.mark.parametrize("limit", [1, 2])
def test_a_message_that_used_up_its_attempts_is_buried_and_does_not_count(
    queue: Queue, clock: Clock, limit: int
) -> None:
    queue.push(order("killer", "k"))
    queue.reserve(limit, attempts=1)
    clock.advance(MINUTE)
    queue.push(order("next"), order("last"))
    reserved = queue.reserve_and_bury(limit, MINUTE, attempts=1)
    assert [record.payload for record in reserved.records] == ["next", "last"][:limit]
    assert reserved.buried == 1
    [dead] = [record for record in queue.find() if record.payload == "killer"]
    assert (dead.status, dead.due_at, dead.leased_by, dead.attempts) == ("dead", None, None, 1)
    assert dead.last_error == "lease of first/1 ended at 2024-02-29 12:01:00, attempt 1 of 1"
    assert queue.push(order("again", "k"))[0].outcome == "created"


def test_turns_of_all_kinds_end_together_and_only_the_stale_are_refused(queue: Queue, clock: Clock) -> None:
    queue.push(*(order(str(number), f"k{number}") for number in range(7)))
    commit, retry, bury, release, move, *stale = queue.reserve(7)
    for each in stale:
        queue.settle((each, RolledBack(timedelta(0), "first")))
    assert release.due_at is not None
    refused = queue.settle(
        (stale[0], Committed()),
        (commit, Committed()),
        (retry, RolledBack(MINUTE, "no answer")),
        (stale[1], RolledBack(MINUTE, "late")),
        (bury, Buried("bad")),
        (release, Released(release.due_at)),
        (move, Moved("billing", '{"a": "€"}')),
    )
    assert {each.receipt for each in refused} == {each.receipt for each in stale}
    assert {each.why for each in refused} == {"lease lost"}
    now = {record.id: record for record in queue.find()}
    assert commit.id not in now
    assert (now[retry.id].status, now[retry.id].due_at) == ("error", clock.now() + MINUTE)
    assert (now[retry.id].last_error, now[retry.id].attempts) == ("no answer", 1)
    assert (now[bury.id].status, now[bury.id].due_at, now[bury.id].last_error) == ("dead", None, "bad")
    assert (now[release.id].due_at, now[release.id].attempts) == (release.due_at, 0)
    assert [now[each.id].last_error for each in stale] == ["first", "first"]
    [moved] = queue.find("billing")
    assert (moved.id, moved.key, moved.payload, moved.attempts) == (move.id, move.key, '{"a": "€"}', 0)
    assert {record.token for record in [*now.values(), moved]} == {2}


def test_a_move_whose_key_is_taken_keeps_its_lease_and_the_others_go(queue: Queue) -> None:
    queue.push(order("1", "k"), order("2", "free"), Entry("billing", "0", "k"))
    taken, free = queue.reserve(2)
    assert queue.settle((taken, Moved("billing")), (free, Moved("billing"))) == [
        Refused(taken.receipt, "duplicate key")
    ]
    assert {record.payload for record in queue.find("billing")} == {"0", "2"}
    assert queue.settle((taken, Committed())) == []


def test_a_move_that_ignores_a_taken_key_ends_as_done(queue: Queue) -> None:
    queue.push(order("1", "k"), Entry("billing", "0", "k"))
    [held] = queue.reserve()
    assert queue.settle((held, Moved("billing", on_duplicate="ignore"))) == []
    assert queue.find() == []
    assert [record.payload for record in queue.find("billing")] == ["0"]


def test_a_move_that_replaces_needs_a_transaction_over_both_messages(queue: Queue, kind: str) -> None:
    queue.push(order("1", "k"), Entry("billing", "0", "k"))
    [held] = queue.reserve()
    replacing = (held, Moved("billing", on_duplicate="replace"))
    if kind == "mariadb":
        assert queue.settle(replacing) == []
        assert queue.find() == []
        assert [record.payload for record in queue.find("billing")] == ["1"]
    else:
        with pytest.raises(NotSupported):
            queue.settle(replacing)
        assert queue.settle((held, Committed())) == []


def test_a_lease_can_be_extended_to_where_it_ends_already(queue: Queue) -> None:
    queue.push(order(), order())
    held, lost = queue.reserve(2)
    queue.settle((lost, RolledBack(MINUTE, "no")))
    assert queue.extend([held, lost], MINUTE) == {held.receipt: held.leased_until}


def test_an_extended_lease_ends_later(queue: Queue, other: Queue, clock: Clock) -> None:
    queue.push(order())
    [held] = queue.reserve()
    queue.extend([held], 5 * MINUTE)
    clock.advance(4 * MINUTE)
    assert other.reserve() == []
    assert queue.settle((held, Committed())) == []


@pytest.mark.parametrize("limit", [1, 3])
def test_popped_messages_are_gone(queue: Queue, clock: Clock, limit: int) -> None:
    late = clock.now() - MINUTE
    queue.push(order("1"), order("0", due=late), order("2"), order("later", due=clock.now() + MINUTE))
    popped = queue.pop(limit)
    assert [(record.payload, record.attempts) for record in popped] == [("0", 1), ("1", 1), ("2", 1)][:limit]
    rest = queue.pop(3 - limit + 1)
    assert len(rest) == 3 - limit
    assert [record.payload for record in queue.find()] == ["later"]


def test_a_consumer_may_be_called_anything(open_queue: OpenQueue) -> None:
    """Names and payloads are values, never parts of a statement or an expression."""
    odd = open_queue("$status' OR %(id)s \\ {}")
    odd.push(Entry("orders", '"$payload \' %s"', "$key '"))
    for limit in (1, 2):
        [held] = odd.reserve(limit)
        assert held.leased_by == f"$status' OR %(id)s \\ {{}}/{limit}"
        assert (held.payload, held.key) == ('"$payload \' %s"', "$key '")
        assert odd.settle((held, RolledBack(timedelta(0), "$error %s"))) == []
    assert odd.find()[0].last_error == "$error %s"
