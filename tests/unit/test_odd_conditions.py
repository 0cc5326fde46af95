"""Whatever is given as a condition, a path, a value or a patch: an answer, or an error of duerow's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

import duerow
from duerow.conditions.model import MOST_VALUES_IN_ALL, Every, IsNull, Not, Some, some
from duerow.errors import DuerowError, InvalidCondition, InvalidMessage
from duerow.testing.odd_values import ODD, deep
from duerow.where import Condition, as_condition, field, payload


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duerow.Queue]:
    """A queue with one message."""
    with duerow.connect(f"sqlite:///{tmp_path_factory.mktemp('odd')}/queues.db", migrate=True) as db:
        queue = db.queue("mail")
        queue.push({"x": 1}, key="m-1")
        yield queue


def test_a_field_says_what_it_is_not_compared_with() -> None:
    for one in (payload.x, field("due_at"), field("id"), field("key")):
        for value in ODD:
            for compare in (
                *(one.__eq__, one.__ne__, one.__lt__, one.__le__, one.__gt__, one.__ge__),
                *(one.in_, one.not_in, one.like, one.not_like, one.__getitem__),
            ):
                with suppress(DuerowError):
                    compare(value)


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
