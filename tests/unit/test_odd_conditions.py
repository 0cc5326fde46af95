"""Whatever is given as a condition, a path, a value or a patch: an answer, or an error of duerow's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import duerow
from duerow.conditions.model import MOST_VALUES_IN_ALL, Compare, Every, In, IsNull, Like, Not, Some, some
from duerow.errors import DuerowError, InvalidCondition, InvalidMessage
from duerow.where import Condition, Field, as_condition, field, payload


class Unspeakable:
    """A value that cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


def ring() -> list[Any]:
    """A list that holds itself."""
    held: list[Any] = []
    held.append(held)
    return held


def deep(depth: int) -> Any:
    """Lists in lists."""
    value: Any = 1
    for _ in range(depth):
        value = {"a": [value]}
    return value


ODD: list[Any] = [
    *(None, True, 0, -1, 10**400, -(10**5000), 1.5, float("nan"), float("-inf"), 1j, b"x", bytearray(b"x")),
    *("", "\0", "\ud800", "x" * 20_000, [], {}, (), set(), object(), int, len, ...),
    *(Unspeakable(), ring(), deep(10_000), timedelta.max, datetime.max, datetime.min.replace(tzinfo=UTC)),
    datetime.max.replace(tzinfo=timezone(-timedelta(hours=12))),
]

odd = st.sampled_from(ODD) | st.integers() | st.floats() | st.text() | st.binary() | st.datetimes()
paths = st.sampled_from(
    [("payload", "x"), ("due_at",), ("id",), ("key",), ("headers", "a"), ("no such",), (), ("id", 0)]
)
path = paths | st.lists(odd, max_size=3).map(tuple) | odd
leaves: st.SearchStrategy[Any] = st.one_of(
    st.builds(Compare, path, st.sampled_from(["=", "<", ">=", "!=", None]), odd),
    st.builds(In, path, st.lists(odd, max_size=4).map(tuple) | odd),
    st.builds(Like, path, odd),
    st.builds(IsNull, path),
    odd,
)


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duerow.Queue]:
    """A queue with one message."""
    with duerow.connect(f"sqlite:///{tmp_path_factory.mktemp('odd')}/queues.db", migrate=True) as db:
        queue = db.queue("mail")
        queue.push({"x": 1}, key="m-1")
        yield queue


@given(leaves | leaves.map(Not) | st.builds(lambda one: Not(Not(one)), leaves))
def test_a_condition_put_together_by_hand_is_answered_or_refused(queue: duerow.Queue, condition: Any) -> None:
    with suppress(DuerowError):
        queue.find(condition)


@given(st.sampled_from([payload.x, field("due_at"), field("id"), field("key")]), odd)
def test_a_field_compares_with_anything_or_says_why_not(one: Field, value: Any) -> None:
    for compare in (
        *(one.__eq__, one.__ne__, one.__lt__, one.__le__, one.__gt__, one.__ge__),
        *(one.in_, one.not_in, one.like, one.not_like, one.__getitem__),
    ):
        with suppress(DuerowError):
            compare(value)


@given(odd)
def test_every_door_takes_what_it_can_or_says_why_not(queue: duerow.Queue, value: Any) -> None:
    for door in (
        *(field, as_condition, queue.find, queue.count, queue.get, queue.contains, queue.pop_many, queue.reserve_many),
        *(lambda x: queue.find(order=x), lambda x: queue.find(limit=x), lambda x: queue.find(status=x)),
        *(lambda x: queue.find(after=x), lambda x: queue.find(key=x), lambda x: queue.count(by=x)),
        *(lambda x: queue.edit(1, patch=x), lambda x: queue.edit(1, payload=x), lambda x: queue.edit(1, headers=x)),
        *(
            lambda x: queue.reschedule(1, due=x),
            lambda x: queue.reschedule(1, delay=x),
            lambda x: queue.remove(where=x),
        ),
        *(
            lambda x: queue.reprioritise(1, priority=x),
            lambda x: queue.requeue(x),
            lambda x: queue.edit(key=x, patch={}),
        ),
        *(lambda x: queue.push(x), lambda x: queue.push(1, key=x), lambda x: queue.push(1, due=x)),
        *(lambda x: queue.push(1, delay=x), lambda x: queue.push(1, headers=x), lambda x: queue.push(1, group=x)),
        *(lambda x: queue.push(1, priority=x), lambda x: queue.push(1, on_duplicate=x), lambda x: queue.push_many(x)),
        *(lambda x: queue.push_many([x]), lambda x: queue.history(where=x), lambda x: queue.history(id=x)),
    ):
        with suppress(DuerowError):
            door(value)


def test_values_of_a_condition_are_counted_in_all_and_bounded() -> None:
    many = [field(f"payload.n{number}").in_(range(1_000)) for number in range(33)]
    with pytest.raises(InvalidCondition, match="11,000 values in all; at most 10,000"):
        some(*many[:11])
    with pytest.raises(InvalidCondition, match="33,000 values in all"):
        some(*many)
    assert as_condition(some(*many[:10])).number == MOST_VALUES_IN_ALL


@pytest.mark.parametrize("size", [1, 300])
def test_negations_put_together_by_hand_are_read_or_refused(size: int) -> None:
    condition: Condition = IsNull(("key",))
    for _ in range(size):
        condition = Not(condition)
    if size == 1:
        assert str(as_condition(condition)) == "key is not null"
    else:
        with pytest.raises(InvalidCondition, match="nested"):
            as_condition(condition)


def test_a_group_of_what_is_no_condition_is_refused() -> None:
    for group in (Every, Some):
        with pytest.raises(InvalidCondition):
            group((5, 6))  # type: ignore[arg-type]


def test_a_patch_that_is_nested_too_deep_is_refused(queue: duerow.Queue) -> None:
    with pytest.raises(InvalidMessage, match="nested more than 64 deep"):
        queue.edit(1, patch=deep(10_000))
