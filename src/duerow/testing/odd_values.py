"""Odd values that duerow must refuse cleanly, and conditions made from them, for tests of bad input."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

from duerow.conditions.model import Compare, Every, In, IsNull, Like, Not, Some


class Unspeakable:
    """A value whose repr raises."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


def ring() -> list[Any]:
    """A list that contains itself."""
    held: list[Any] = []
    held.append(held)
    return held


def deep(depth: int) -> Any:
    """Deeply nested lists."""
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

groups = st.lists(leaves, max_size=3).map(tuple)
conditions: st.SearchStrategy[Callable[[], Any]] = st.one_of(
    leaves.map(lambda one: lambda: one),
    leaves.map(lambda one: lambda: Not(one)),
    leaves.map(lambda one: lambda: Not(Not(one))),
    groups.map(lambda parts: lambda: Every(parts)),
    groups.map(lambda parts: lambda: Some(parts)),
)
"""Functions that build a condition by hand; building it may already raise."""
