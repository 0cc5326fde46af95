"""The state keeps its two orders in step with its messages, also when changes are taken back."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from duerow.message import Status
from duerow.store import Record
from duerow.stores.memory.state import State

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def record(
    id_: int,
    key: str | None = None,
    due: int | None = 0,
    status: Status = "new",
    queue: str = "mail",
    group: str | None = None,
    priority: int = 0,
) -> Record:
    return Record(
        id=id_,
        queue=queue,
        payload="null",
        kind="json",
        key=key,
        headers=None,
        group=group,
        priority=priority,
        status=status,
        due_at=None if due is None else NOON + timedelta(seconds=due),
        first_due_at=NOON,
        attempts=0,
        token=0,
        leased_by=None,
        leased_until=None,
        created_at=NOON,
        last_attempt_at=None,
        last_error=None,
    )


# A key belongs to one id, and the dead have no due time, as the verbs see to it.
records = st.builds(
    lambda id_, keyed, due, status, *rest: record(
        id_, f"key {id_}" if keyed else None, None if status == "dead" else due, status, *rest
    ),
    st.integers(1, 8),
    st.booleans(),
    st.none() | st.integers(-3, 3),
    st.sampled_from(["new", "error", "dead"]),
    st.sampled_from(["mail", "billing"]),
    st.sampled_from([None, "g", "h"]),
    st.sampled_from([-1, 0, 1]),
)
changes = st.lists(records | st.integers(1, 8), max_size=30)


def make(state: State, change: Record | int) -> None:
    if isinstance(change, int):
        state.drop(change)
    else:
        state.put(change)


def seen(state: State) -> object:
    """All that can be asked of a state."""
    late = NOON + timedelta(seconds=3)
    return (
        copy.copy(state.records),
        {queue: list(state.due(queue, late)) for queue in ("mail", "billing")},
        {id_: state.has_turn(one) for id_, one in state.records.items() if one.status != "dead"},
        {queue: state.next_due(queue, None) for queue in ("mail", "billing")},
        {(queue, id_): state.holder(queue, f"key {id_}") for queue in ("mail", "billing") for id_ in range(9)},
    )


@given(before=changes, after=changes)
def test_undo_brings_back_exactly_what_was_there(before: list[Record | int], after: list[Record | int]) -> None:
    state = State()
    for change in before:
        make(state, change)
    mark, expected = state.mark(), seen(state)
    for change in after:
        make(state, change)
    state.undo(mark)
    assert seen(state) == expected


@given(made=changes)
def test_the_line_and_the_keys_are_those_that_a_look_at_every_message_finds(made: list[Record | int]) -> None:
    state = State()
    for change in made:
        make(state, change)
    for queue in ("mail", "billing"):
        in_queue = [one for one in state.records.values() if one.queue == queue]
        due = [(one.priority, one.due_at, one.id) for one in in_queue if one.due_at and one.due_at <= NOON]
        assert [(one.priority, one.due_at, one.id) for one in state.due(queue, NOON)] == sorted(due)
        held = {one.key: one for one in in_queue if one.key is not None and one.status != "dead"}
        assert {key: state.holder(queue, key) for key in held} == held


def test_an_id_is_not_given_again_after_its_message_was_taken_back() -> None:
    state = State()
    first = state.next_id()
    state.put(record(first))
    state.undo()
    assert state.next_id() > first


def test_only_queues_with_a_message_that_nobody_holds_and_that_has_a_due_time_are_told_of() -> None:
    state = State()
    state.put(record(1, queue="mail"))
    state.put(record(2, queue="billing", due=None))
    assert state.keep() == {"mail"}
    state.drop(1)
    assert state.keep() == set()
