"""Headers are named scalars that travel with the message."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duerow import Database, Queue
from duerow.errors import CodecError
from duerow.testing.conformance.payloads import TEXT, shape
from duerow.testing.contents import everything, stored

HEADERS = st.dictionaries(
    TEXT,
    st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    max_size=5,
)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(headers=HEADERS)
def test_headers_come_back_equal_and_of_the_same_types(queue: Queue, headers: dict[str, Any]) -> None:
    queue.push("hello", headers=headers)
    message = queue.pop()
    assert message is not None
    assert shape(dict(message.headers)) == shape(headers)


def test_a_reserved_message_carries_its_headers(queue: Queue) -> None:
    queue.push("hello", headers={"trace": "00-ab", "n": 1, "x": 1.0, "yes": True})
    reservation = queue.reserve()
    assert reservation is not None
    assert shape(dict(reservation.message.headers)) == shape({"trace": "00-ab", "n": 1, "x": 1.0, "yes": True})


def test_a_message_keeps_its_headers_when_it_fails(queue: Queue) -> None:
    pushed = queue.push("hello", headers={"trace": "00-ab"})
    reservation = queue.reserve()
    assert reservation is not None
    queue.rollback(reservation)
    assert stored(queue, pushed.id).headers == {"trace": "00-ab"}


UNFIT: list[tuple[Any, str]] = [
    ({"a": None}, "'a'"),
    ({"a": [1]}, "'a'"),
    ({"a": {}}, "'a'"),
    ({"a": b"1"}, "'a'"),
    ({1: "a"}, "name of a header must be text, not int"),
    ({"a": float("nan")}, "nan"),
    ({"a": 1 << 64}, "64 bits"),
    ({"a": "\0"}, r"U\+0000"),
    ({"a": "\ud800"}, "surrogate"),
    ({"a": "x" * (1 << 17)}, "bytes"),
    ("text", "headers must be a mapping"),
    (7, "headers must be a mapping"),
    (["a"], "headers must be a mapping"),
]


def test_what_cannot_be_a_header_is_refused_and_nothing_is_pushed(db: Database, queue: Queue) -> None:
    for headers, says in UNFIT:
        with pytest.raises(CodecError, match=says):
            queue.push("hello", headers=headers)
    assert everything(db) == []
