"""Random payloads and conditions on them, for tests that compare stores."""

from __future__ import annotations

from datetime import UTC
from typing import Final

from hypothesis import strategies as st

from duerow.conditions.model import every, negation, some
from duerow.testing.clock import START
from duerow.where import Condition, Field, field, payload

NAMES: Final = ["a", "b", "odd key", 'quo"ted', "back\\slash", "", "é", "0", "a.b", "in", "\t", "-1", "a "]
"""Names of members, most of which need quotes."""

NUMBERS: Final[list[int | float]] = [
    *(0, 1, -1, 2, 0.5, 1.0, -0.0, 0.1, 2.5, 1e16, 1e22, 1e23, 5e-324, 1.7976931348623157e308, -1.7976931348623157e308),
    *(
        (1 << 53) - 1,
        1 << 53,
        (1 << 53) + 1,
        float(1 << 53),
        (1 << 63) - 1,
        -(1 << 63),
        float(1 << 63),
        -float(1 << 63),
    ),
]
"""Numbers on which stores might disagree."""

WORDS: Final = [
    *("", "a", "A", "b", "ab", "aab", "1", "true", "null", "%", "_", "\\", "*", "?", "[a]", "'", '"', "a%b", "a\nb"),
    *("é", "e\u0301", "ž", "\uffff", "\U0001f600", " a", "a "),
]
"""Texts with every character that has a special meaning in SQL, JSON or patterns."""

_SCALARS: Final = st.none() | st.booleans() | st.sampled_from(NUMBERS) | st.sampled_from(WORDS)
_names = st.sampled_from(NAMES)

payloads: Final = st.recursive(
    _SCALARS | st.integers(-3, 3) | st.floats(-3, 3),
    lambda inner: st.dictionaries(_names, inner, max_size=4) | st.lists(inner, max_size=2),
    max_leaves=8,
)
"""Payloads with the names and values that the conditions use."""

_values = st.booleans() | st.sampled_from(NUMBERS) | st.sampled_from(WORDS) | st.integers(-3, 3)
_patterns = st.lists(
    st.sampled_from(["%", "_", "\\%", "\\_", "\\\\", "a", "b", "A", "é", "*", "[", "]", "?"]), max_size=5
)
_operators = st.sampled_from(["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"])
_columns = st.sampled_from(["id", "attempts", "priority", "key", "kind", "group", "leased_by"])
_moments = st.sampled_from(["due_at", "first_due_at", "created_at", "last_attempt_at", "leased_until"])
_BEGAN = START.replace(tzinfo=None)
_times = st.datetimes(_BEGAN, _BEGAN.replace(year=START.year + 2), timezones=st.just(UTC))


def _inside(names: list[str]) -> Field:
    found = payload
    for name in names:
        found = found[name]
    return found


_paths = st.lists(_names, max_size=2).map(_inside) | _columns.map(field)

_leaves: st.SearchStrategy[Condition] = st.one_of(
    st.builds(lambda path, operator, value: getattr(path, operator)(value), _paths, _operators, _values),
    st.builds(lambda path, operator, value: getattr(field(path), operator)(value), _moments, _operators, _times),
    st.builds(lambda path, values: path.in_(values), _paths, st.lists(_values, max_size=4)),
    st.builds(lambda path, parts: path.like("".join(parts)), _paths, _patterns),
    st.builds(lambda path: path.is_null(), _paths | _moments.map(field)),
)

conditions: Final[st.SearchStrategy[Condition]] = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda terms: every(*terms)),
        st.lists(inner, min_size=2, max_size=3).map(lambda terms: some(*terms)),
        inner.map(negation),
    ),
    max_leaves=6,
)
"""Conditions on those payloads and on message fields."""
