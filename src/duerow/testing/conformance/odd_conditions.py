"""Any condition, path, value or patch leads to an answer or to one of duerow's errors."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duerow import Database, Queue
from duerow.errors import DuerowError
from duerow.testing.clock import hours
from duerow.testing.odd_values import conditions, odd
from duerow.where import Field, field, payload

ASKED: tuple[Callable[[Queue, Any], Any], ...] = (
    lambda queue, condition: queue.find(condition),
    lambda queue, condition: queue.count(condition),
    lambda queue, condition: queue.history(condition),
    lambda queue, condition: queue.edit(where=condition, headers={"seen": True}),
    lambda queue, condition: queue.reschedule(where=condition, delay=hours(1)),
)
"""What takes a condition."""

DOORS: tuple[Callable[[Queue, Any], Any], ...] = (
    lambda queue, value: queue.get(value),
    lambda queue, value: queue.contains(value),
    lambda queue, value: queue.find(key=value),
    lambda queue, value: queue.find(after=value),
    lambda queue, value: queue.find(order=value),
    lambda queue, value: queue.find(limit=value),
    lambda queue, value: queue.find(status=value),
    lambda queue, value: queue.count(by=value),
    lambda queue, value: queue.history(id=value),
    lambda queue, value: queue.why(value),
    lambda queue, value: queue.peek(value),
    lambda queue, value: queue.pop_many(value),
    lambda queue, value: queue.reserve_many(value),
    lambda queue, value: queue.edit(key="m-1", patch=value),
    lambda queue, value: queue.edit(key="m-1", payload=value),
    lambda queue, value: queue.edit(key="m-1", headers=value),
    lambda queue, value: queue.edit(key=value, patch={}),
    lambda queue, value: queue.reschedule(key="m-1", due=value),
    lambda queue, value: queue.reschedule(key="m-1", delay=value),
    lambda queue, value: queue.reprioritise(key="m-1", priority=value),
    lambda queue, value: queue.requeue(value),
    lambda queue, value: queue.push(value),
    lambda queue, value: queue.push(1, key=value),
    lambda queue, value: queue.push(1, due=value),
    lambda queue, value: queue.push(1, delay=value),
    lambda queue, value: queue.push(1, headers=value),
    lambda queue, value: queue.push(1, group=value),
    lambda queue, value: queue.push(1, priority=value),
    lambda queue, value: queue.push(1, on_duplicate=value),
    lambda queue, value: queue.push_many(value),
    lambda queue, value: queue.push_many([value]),
)
"""What takes other values."""

COMPARED: tuple[Callable[[Field, Any], Any], ...] = (
    lambda one, value: one == value,
    lambda one, value: one != value,
    lambda one, value: one < value,
    lambda one, value: one >= value,
    lambda one, value: one.in_(value),
    lambda one, value: one.not_in([value]),
    lambda one, value: one.like(value),
    lambda one, value: one[value] == 1,
)
"""How a field is compared."""

FIELDS = [payload.x, payload.deep.er, field("headers.a"), field("due_at"), field("id"), field("key"), field("status")]


def fuzz(queue: Queue, examples: int) -> None:
    """Try random conditions, comparisons and calls, `examples` of each; raise any error that is not duerow's own."""
    queue.push({"x": 1}, key="m-1")
    terms = settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))

    @terms
    @given(st.sampled_from(ASKED), conditions)
    def ask(asked: Callable[[Queue, Any], Any], condition: Callable[[], Any]) -> None:
        with suppress(DuerowError):
            asked(queue, condition())

    @terms
    @given(st.sampled_from(ASKED), st.sampled_from(FIELDS), st.sampled_from(COMPARED), odd)
    def compare(asked: Callable[[Queue, Any], Any], one: Field, how: Callable[[Field, Any], Any], value: Any) -> None:
        with suppress(DuerowError):
            asked(queue, how(one, value))

    @terms
    @given(st.sampled_from(DOORS), odd)
    def knock(door: Callable[[Queue, Any], Any], value: Any) -> None:
        with suppress(DuerowError):
            door(queue, value)

    ask()
    compare()
    knock()


def test_whatever_is_given_is_answered_or_refused_by_an_error_of_duerows_own(db: Database, queue: Queue) -> None:
    fuzz(queue, 20)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_whatever_is_given_is_answered_or_refused_for_a_long_time(db: Database, queue: Queue) -> None:
    """Examples of each kind by DUEROW_SOAK_EXAMPLES."""
    fuzz(queue, int(os.environ.get("DUEROW_SOAK_EXAMPLES", "3000")))
