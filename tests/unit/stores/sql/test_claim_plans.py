"""Which statements a claim uses, where they start, and when they look again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from duerow.clock import micros
from duerow.plan import BEGIN, Plan
from duerow.store import Reserved, Retention
from duerow.stores.sql import claim_floor, priorities
from duerow.stores.sql.claim_floor import BEHIND, LOOK_BELOW
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.plans.store import SqlStore
from duerow.stores.sql.priorities import LOOK_AGAIN, MOST, PriorityLine
from duerow.testing.clock import MovableClock, hours

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

Answer = Callable[[dict[str, Any]], list[Any]]


@pytest.fixture
def store() -> SqlStore:
    """A store for a database whose claims have floors."""
    return SqlStore(PostgreSQL(), "duerow_", None, MovableClock())


@pytest.fixture
def monotonic(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of the process, to be moved."""
    seconds = [1000.0]
    for module in (claim_floor, priorities):  # not in `time` itself, which other threads use, too
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: seconds[0]))
    return seconds


def row(id: int, due: datetime = NOON) -> tuple[Any, ...]:
    """Return what a claim of a message that is due at noon returns."""
    return (id, "1", "json", None, None, "new", NOON, due, None, 1, 1, micros(NOON + MINUTE), None, micros(NOON))


def carried_out(plan: Plan[Reserved], *answers: list[Any]) -> tuple[list[dict[str, Any]], Reserved]:
    """Return the values of a claim's steps, and its result; after these answers the database returns nothing."""
    values: list[dict[str, Any]] = []
    left = list(answers)
    step = next(plan)
    try:
        while True:
            values.append({} if step is BEGIN else dict(step.values))
            step = plan.send([] if not left else left.pop(0))
    except StopIteration as stop:
        return values, stop.value


def claim(store: SqlStore, limit: int, *answers: list[Any], **more: Any) -> tuple[list[dict[str, Any]], Reserved]:
    """Claim messages of the queue "mail"."""
    return carried_out(store.messages.reserve("mail", limit, MINUTE, 20, "me", **more), *answers)


def looks(values: list[dict[str, Any]]) -> list[str]:
    """Say what each step does: look for priorities, or claim from a priority, perhaps above a floor."""
    return [
        ("above " if "floor" in one else "") + str(one["priority_in"]) if "priority_in" in one else "look"
        for one in values
    ]


def test_the_first_claim_looks_for_priorities_and_starts_at_the_head(store: SqlStore) -> None:
    values, reserved = claim(store, 1, [], [row(1)])
    assert looks(values) == ["look", "0"]
    assert [one.id for one in reserved.records] == [1]


def test_the_next_claim_starts_at_the_floor_and_looks_for_nothing(store: SqlStore, monotonic: list[float]) -> None:
    claim(store, 1, [], [row(1)])
    values, _ = claim(store, 1, [row(2)])
    assert looks(values) == ["above 0"]
    assert values[0]["floor"] == NOON - BEHIND


def test_the_floor_follows_the_newest_message_but_stays_below_the_oldest_that_is_due(
    store: SqlStore, monotonic: list[float]
) -> None:
    claim(store, 2, [], [row(1), row(2, NOON + MINUTE)])
    assert claim(store, 1, [row(3)])[0][0]["floor"] == NOON


def test_a_claim_that_finds_too_little_above_its_floor_looks_below_before_the_queue_counts_as_empty(
    store: SqlStore, monotonic: list[float]
) -> None:
    claim(store, 1, [], [row(1)])
    values, reserved = claim(store, 1, [], [], [row(2)])
    assert looks(values) == ["above 0", "look", "0"]
    assert [one.id for one in reserved.records] == [2]


def test_a_claim_that_found_some_above_its_floor_returns_them(store: SqlStore, monotonic: list[float]) -> None:
    claim(store, 1, [], [row(1)])
    values, reserved = claim(store, 2, [row(2)])
    assert looks(values) == ["above 0"]
    assert [one.id for one in reserved.records] == [2]


def test_after_a_while_a_claim_looks_for_priorities_again_and_starts_at_the_head(
    store: SqlStore, monotonic: list[float]
) -> None:
    claim(store, 1, [], [row(1)])
    monotonic[0] += max(LOOK_AGAIN, LOOK_BELOW)
    assert looks(claim(store, 1, [], [row(2)])[0]) == ["look", "0"]


def test_a_claim_takes_from_a_priority_that_another_process_uses(store: SqlStore) -> None:
    values, reserved = claim(store, 2, [("mail", False, 3, False)], [], [row(1)], [row(2)])
    assert looks(values) == ["look", "look", "0", "3"]
    assert [(one.id, one.priority) for one in reserved.records] == [(1, 0), (2, 3)]


def test_a_claim_that_is_full_leaves_later_priorities_alone(store: SqlStore) -> None:
    values, _ = claim(store, 1, [("mail", False, 3, False)], [], [row(1)])
    assert looks(values) == ["look", "look", "0"]


def test_nothing_is_taken_from_a_queue_that_is_found_paused(store: SqlStore) -> None:
    values, reserved = claim(store, 1, [("mail", None, None, True)])
    assert looks(values) == ["look"]
    assert reserved == Reserved([], [])
    assert looks(claim(store, 1)[0]) == ["look"]


def test_a_claim_that_finds_nothing_below_its_floor_says_so_to_looks_at_idle_queues(
    store: SqlStore, monotonic: list[float]
) -> None:
    claim(store, 1, [], [row(1)])
    store.context.clock.advance(hours(24 * 365 * 10))  # type: ignore[union-attr]
    claim(store, 1, [], [], [])
    assert store.context.floors.nothing_before("mail")[0] == NOON - BEHIND


@pytest.mark.parametrize("more", [{"dead_letter": "dead"}, {"keep": Retention(keys=hours(1))}], ids=str)
def test_a_claim_that_may_write_more_than_one_statement_is_one_transaction(
    store: SqlStore, more: dict[str, Any]
) -> None:
    assert next(store.messages.reserve("mail", 1, MINUTE, 20, "me", **more)) is BEGIN
    assert next(store.messages.reserve("mail", 1, MINUTE, 20, "me")) is not BEGIN


def test_groups_are_claimed_in_one_transaction(store: SqlStore) -> None:
    values, _ = claim(store, 1, [("mail", True, 0, False)])
    assert values[2] == {}


IN_GROUPS = [("mail", True, 0, False)]
"""What a look finds of a queue that has messages in groups."""


def picked(id: int, due: datetime = NOON, *group: str) -> tuple[Any, ...]:
    """Return what the pick of a row returns that is taken later."""
    return (id, due, *group, micros(NOON))


def free(*ids: int) -> list[Any]:
    """Return the answer that it is the turn of each of these rows in its group."""
    return [(id, False, None, None) for id in ids]


def taken(values: list[dict[str, Any]]) -> list[Any]:
    """Return the ids that the last steps take."""
    return [one["given_id"] for one in values if "given_id" in one and "consumer" in one]


def test_messages_of_one_priority_are_taken_in_the_order_of_their_due_times_in_groups_or_not(store: SqlStore) -> None:
    picks = [[picked(1, NOON + MINUTE)], [picked(2, NOON, "g")], free(2)]
    values, reserved = claim(store, 1, IN_GROUPS, [], [], *picks, [(*row(2), "g")])
    assert taken(values) == [2]
    assert [(one.id, one.group) for one in reserved.records] == [(2, "g")]


def test_a_claim_of_groups_that_finds_nothing_more_ends(store: SqlStore) -> None:
    picks = [[], [picked(2, NOON, "g")], free(2)]
    values, reserved = claim(store, 3, IN_GROUPS, [], [], *picks, [(*row(2), "g")])
    assert [one.id for one in reserved.records] == [2]
    assert looks(values[3:5]) == ["0", "0"]


def test_a_message_whose_predecessor_is_waiting_is_put_behind_and_the_next_look_passes_over_it(
    store: SqlStore,
) -> None:
    behind = [(2, False, None, 1, NOON)]
    picks = [[], [picked(2, NOON, "g")], behind, [], [picked(3, NOON, "h")], free(3)]
    values, reserved = claim(store, 1, IN_GROUPS, [], [], *picks, [(*row(3), "h")])
    assert [one.id for one in reserved.records] == [3]
    assert taken(values) == [3]


def test_a_claim_of_a_queue_with_refused_rows_picks_more_and_takes_the_others(store: SqlStore) -> None:
    store.context.refusals.add("mail", 7)
    values, reserved = claim(store, 1, [], [], [picked(7), picked(8)], [], [row(8)])
    assert values[2]["limit_in"] == 2
    assert taken(values) == [8]
    assert [one.id for one in reserved.records] == [8]


def test_nothing_is_remembered_of_an_empty_queue_if_the_clock_is_behind_its_floor(
    store: SqlStore, monotonic: list[float]
) -> None:
    claim(store, 1, [], [row(1)])
    claim(store, 1, [], [], [])
    assert store.context.floors.nothing_before("mail")[0] is None


def test_a_claim_that_takes_row_by_row_starts_at_the_floor_too(store: SqlStore, monotonic: list[float]) -> None:
    store.context.refusals.add("mail", 7)
    claim(store, 2, [], [], [picked(1), picked(2, NOON + MINUTE)], [], [row(1), row(2)])
    values, _ = claim(store, 1, [], [picked(3)], [], [row(3)])
    assert values[1]["floor"] == NOON


def test_a_row_that_another_consumer_takes_between_the_pick_and_the_write_is_left_out(store: SqlStore) -> None:
    picks = [[], [picked(2, NOON, "g")], free(2)]
    values, reserved = claim(store, 1, IN_GROUPS, [], [], *picks, [])
    assert taken(values) == [2]
    assert reserved.records == []


def test_of_many_priorities_those_are_forgotten_that_have_no_messages(store: SqlStore) -> None:
    lines = [PriorityLine(priority, False) for priority in range(1, MOST + 2)]
    store.context.priorities.add("mail", lines)
    claim(store, 3, [], [row(1)], [], [row(2)])
    assert store.context.priorities.of("mail")[:2] == [PriorityLine(0, False), lines[1]]
