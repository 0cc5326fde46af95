"""Which statements a claim uses, where they start, and when they look again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from duerow.clock import EPOCH, micros
from duerow.plan import BEGIN, Plan
from duerow.store import Reserved, Retention
from duerow.stores.sql import claim_floor, priorities
from duerow.stores.sql.claim_floor import BEHIND, LOOK_BELOW, LOOK_SHARE
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.plans.claim import MORE
from duerow.stores.sql.plans.kinds import padded, source_of
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


def look_below_slowly(store: SqlStore, monotonic: list[float], seconds: float) -> None:
    """Claim twice in such a way that looks below the floor take so many seconds, and no other claim takes any."""
    claim(store, 1, [], [row(1)])
    for _ in range(2):
        monotonic[0] += max(LOOK_AGAIN, LOOK_BELOW)
        plan = store.messages.reserve("mail", 1, MINUTE, 20, "me")
        next(plan)
        assert "floor" not in plan.send([]).values
        monotonic[0] += seconds
        with pytest.raises(StopIteration):
            plan.send([row(1)])


@pytest.mark.parametrize("exact", [True, False])
def test_in_groups_too_only_a_claim_that_must_be_exact_looks_below_after_slow_looks(
    exact: bool, store: SqlStore, monotonic: list[float]
) -> None:
    floors, line = store.context.floors, PriorityLine(0, True)
    key = (source_of("mail", ()), line)
    store.context.priorities.add("mail", [line])
    floors.claimed(key, floors.start(key), oldest=NOON, newest=NOON)
    for _ in range(2):
        floors.look_below(key)
        look = floors.start(key)
        monotonic[0] += 1
        floors.found_none(key, look)
    values, _ = claim(store, 1, exact=exact)
    picks = ["floor" in one for one in values if one.get("limit_in") == 1 + MORE]
    assert picks == ([True, False] if exact else [True])


@pytest.mark.parametrize("exact", [True, False])
def test_after_slow_looks_only_a_claim_that_must_be_exact_looks_below_its_floor(
    exact: bool, store: SqlStore, monotonic: list[float]
) -> None:
    look_below_slowly(store, monotonic, 1.0)
    values, reserved = claim(store, 1, [], [], [row(2)], exact=exact)
    assert looks(values) == (["look", "above 0", "0"] if exact else ["look", "above 0"])
    assert [one.id for one in reserved.records] == ([2] if exact else [])


def test_after_quick_looks_every_claim_looks_below_its_floor_before_the_queue_counts_as_empty(
    store: SqlStore, monotonic: list[float]
) -> None:
    look_below_slowly(store, monotonic, 0.0)
    for _ in range(2):
        assert looks(claim(store, 1, [], [], [], exact=False)[0]) == ["above 0", "look", "0"]


def test_once_looks_have_taken_no_more_than_their_share_every_claim_looks_again(
    store: SqlStore, monotonic: list[float]
) -> None:
    look_below_slowly(store, monotonic, 1.0)
    claim(store, 1, [], [], exact=False)
    monotonic[0] += 1 / LOOK_SHARE
    assert looks(claim(store, 1, [], [row(2)], exact=False)[0]) == ["look", "0"]


def test_a_consumer_whose_claim_left_out_a_look_is_told_to_ask_again_when_it_may_look(
    store: SqlStore, monotonic: list[float]
) -> None:
    def due_in(*answers: list[Any]) -> tuple[dict[str, Any], Any]:
        plan: Plan[Any] = store.messages.next_due(["mail"], timedelta(minutes=5))
        values, wait = carried_out(plan, *answers, [("mail", None, NOON)])
        return values[-1], wait

    look_below_slowly(store, monotonic, 1.0)
    claim(store, 1, [], [], exact=False)
    monotonic[0] += 8
    values, wait = due_in([], [])
    assert values["floor"] == NOON - BEHIND
    assert wait == timedelta(seconds=1 / LOOK_SHARE - 8)
    claim(store, 1, [], [], [])
    assert due_in([])[1] is None


def test_a_queue_that_is_found_resumed_is_read_before_it_counts_as_empty(
    store: SqlStore, monotonic: list[float]
) -> None:
    claim(store, 1, [], [row(1)])
    store.context.priorities.looked("mail", paused=True, begun=monotonic[0])
    values, reserved = claim(store, 1, [("mail", None, None, False)], [row(2)])
    assert looks(values) == ["look", "0"]
    assert [one.id for one in reserved.records] == [2]


def test_while_looks_are_slow_a_consumer_that_relies_on_the_answer_still_asks_for_all_rows(
    store: SqlStore, monotonic: list[float]
) -> None:
    def asked_from(relied_on: bool) -> Any:
        plan: Plan[Any] = store.messages.next_due(["mail"], timedelta(minutes=5), relied_on=relied_on)
        values, wait = carried_out(plan, [], [], [("mail", None, NOON)])
        assert wait is None
        return values[-1]["floor"]

    look_below_slowly(store, monotonic, 1.0)
    assert asked_from(relied_on=False) == NOON - BEHIND
    assert asked_from(relied_on=True) == store.context.dialect.write_moment(EPOCH)


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
    assert looks(claim(store, 1, [("mail", None, None, True)])[0]) == ["look"]


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


HEADS = 4
"""The step of a claim in groups that picks from the line with groups: after two looks, BEGIN and the other line."""


def blocked(id: int, held: datetime | None, was_lent: bool = False) -> tuple[Any, ...]:
    """Return the answer that a row has to wait for another one, which this claim could lock or not."""
    return (id, was_lent, None, 1, held)


def test_more_rows_of_groups_are_picked_because_some_may_have_to_wait(store: SqlStore) -> None:
    values, _ = claim(store, 2, IN_GROUPS)
    assert (values[HEADS - 1]["limit_in"], values[HEADS]["limit_in"]) == (2, 2 + MORE)


def test_a_claim_of_groups_starts_at_the_floor_too(store: SqlStore, monotonic: list[float]) -> None:
    picks = [[], [picked(2, NOON, "g"), picked(3, NOON + MINUTE, "h")], free(2, 3)]
    claim(store, 2, IN_GROUPS, [], [], *picks, [(*row(2), "g"), (*row(3), "h")])
    values, _ = claim(store, 1, [], [], [picked(4, NOON, "i")], free(4), [(*row(4), "i")])
    assert (values[1].get("floor"), values[2]["floor"]) == (None, NOON)


def test_a_row_is_judged_once_in_a_claim_however_often_it_is_seen(store: SqlStore) -> None:
    wait = picked(4, NOON, "x")  # for one that is being settled at this moment, so it stays where it is
    values, reserved = claim(
        store,
        1,
        *(IN_GROUPS, [], [], []),
        *([picked(2, NOON, "g"), wait], [blocked(2, NOON), blocked(4, None)], []),
        *([wait, picked(3, NOON, "h")], [blocked(3, NOON)], []),
        *([wait, picked(5, NOON, "i")], free(5), [(*row(5), "i")]),
    )
    assert [one.id for one in reserved.records] == [5]
    judged = [one["given_id"] for one in values if one.keys() == {"given_id", "now"}]
    assert judged == ["{2,4}", 3, 5]


def test_what_is_put_behind_keeps_its_number_of_attempts(store: SqlStore) -> None:
    values, _ = claim(store, 1, IN_GROUPS, [], [], [], [picked(2, NOON, "g")], [blocked(2, NOON)])
    assert (values[HEADS + 2]["given_id"], values[HEADS + 2]["attempts_in"]) == (2, 20)


def test_a_leased_message_that_is_put_behind_puts_the_next_of_its_group_in_line(store: SqlStore) -> None:
    values, _ = claim(store, 1, IN_GROUPS, [], [], [], [picked(2, NOON, "g")], [blocked(2, NOON, was_lent=True)])
    assert (values[HEADS + 3]["given_queue"], values[HEADS + 3]["given_group"]) == ("mail", "g")


def test_a_claim_of_groups_that_has_enough_picks_no_more(store: SqlStore) -> None:
    picks = [[picked(2, NOON, "g"), picked(3, NOON, "h")], [*free(2), blocked(3, NOON)], []]
    values, reserved = claim(store, 1, IN_GROUPS, [], [], [], *picks, [(*row(2), "g")])
    assert looks(values).count("0") == 2  # one for each line
    assert [one.id for one in reserved.records] == [2]


def test_a_row_whose_lease_ends_during_the_claim_is_not_taken_twice(store: SqlStore) -> None:
    store.context.refusals.add("mail", 7)
    again = [picked(1, NOON), picked(2)]
    values, reserved = claim(store, 2, [], [], [picked(1)], [], [row(1)], [], again, [], [row(2)])
    assert taken(values) == [1, 2]
    assert [one.id for one in reserved.records] == [1, 2]


def test_a_pick_is_the_statement_for_its_line_its_floor_and_its_kinds(store: SqlStore, monotonic: list[float]) -> None:
    def picks(*answers: list[Any], **more: Any) -> list[Any]:
        plan, left, steps = store.messages.reserve("mail", 1, MINUTE, 20, "me", **more), list(answers), list[Any]()
        with contextlib.suppress(StopIteration):
            step = next(plan)
            while True:
                steps.append(step)
                step = plan.send(left.pop(0) if left else [])
        return [step.statement for step in steps if step is not BEGIN and "limit_in" in step.values]

    pick = store.context.statements.reserve.pick
    first = picks(IN_GROUPS, [], [], [picked(1)], [], [row(1)])
    assert first[:2] == [pick(False, False, 0), pick(True, False, 0)]
    assert picks([], [picked(2)], [], [row(2)])[:2] == [pick(False, True, 0), pick(True, False, 0)]
    kinds = len(padded({"sms"}))
    assert picks([], [], [], kinds={"sms"})[:2] == [pick(False, False, kinds), pick(True, False, kinds)]


def dead(id: int, *group: str) -> tuple[Any, ...]:
    """Return what a claim of a message whose attempts are used up returns."""
    before, after = row(id)[:5], row(id)[6:]
    return (*before, "dead", *after, *group)


def told(values: list[dict[str, Any]]) -> list[tuple[Any, Any]]:
    """Return the queues and groups whose next messages the steps put in line."""
    return [
        (one["given_queue"], one["given_group"]) for one in values if "given_group" in one and "given_id" not in one
    ]


def test_the_next_message_of_a_group_is_put_in_line_if_a_claim_buries_one_but_not_if_it_leases_one(
    store: SqlStore,
) -> None:
    picks = [[], [picked(2, NOON, "g"), picked(3, NOON, "h")], free(2, 3)]
    values, reserved = claim(store, 2, IN_GROUPS, [], [], *picks, [dead(2, "g"), (*row(3), "h")])
    assert told(values) == [("mail", "g")]
    assert [one.id for one in reserved.records] == [3]
    assert [one.id for one in reserved.buried] == [2]


def test_every_message_that_a_claim_buries_is_reported(store: SqlStore) -> None:
    _, reserved = claim(store, 1, [], [dead(1)], [dead(2)], [row(3)])
    assert [one.id for one in reserved.buried] == [1, 2]
    assert [one.id for one in reserved.records] == [3]
